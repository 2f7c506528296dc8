// Which tensor- and data-parallel degrees to serve with.
#pragma once

#include <optional>

#include "db/layout.h"
#include "runtime/engine/engine_factory.h"

namespace wavetune::engine {

/// Options overrule the stored layout, which overrules tp 1 with one replica a device. Throws Error usage when tp x dp
/// needs more devices than there are. Whether tp divides the model is build_program's to say.
LayoutInfo choose_layout(const EngineOptions& options, const std::optional<db::Layout>& stored, int devices);

}  // namespace wavetune::engine
