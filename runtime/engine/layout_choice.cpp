#include "runtime/engine/layout_choice.h"

#include "db/base/error.h"

namespace wavetune::engine {
namespace {

std::string origin(LayoutSource source, const std::optional<db::Layout>& stored) {
  switch (source) {
    case LayoutSource::stored:
      return fmt::format("stored {}, objective {}", stored->created_at, db::to_string(stored->objective));
    case LayoutSource::command_line:
      return "from the command line";
    case LayoutSource::fallback:
      return "no stored layout; `wavetune tune` or `wavetune layout` chooses one";
  }
  return {};
}

}  // namespace

LayoutInfo choose_layout(const EngineOptions& options, const std::optional<db::Layout>& stored, int devices) {
  if (options.tp < 0 || options.dp < 0) {
    fail(ErrorKind::usage, "--tp {} --dp {}: degrees start at 1", options.tp, options.dp);
  }
  LayoutInfo layout;
  layout.devices = devices;
  if (options.tp > 0 || options.dp > 0) {
    layout.source = LayoutSource::command_line;
    const int stored_tp = stored ? stored->tp : 1;
    layout.tp = options.tp > 0 ? options.tp : (stored_tp * options.dp <= devices ? stored_tp : 1);
    layout.dp = options.dp > 0 ? options.dp : std::max(1, devices / layout.tp);
  } else if (stored) {
    layout.source = LayoutSource::stored;
    layout.tp = stored->tp;
    layout.dp = stored->dp;
  } else {
    layout.dp = devices;
  }
  if (layout.tp * layout.dp > devices) {
    fail(ErrorKind::usage,
         "--tp {} x --dp {} needs {} devices, but {} {} shown (--device {}); --device cpu:{} shows more", layout.tp,
         layout.dp, layout.tp * layout.dp, devices, devices == 1 ? "is" : "are", options.device, layout.tp * layout.dp);
  }
  layout.description = fmt::format("tp {} x dp {} on {} device{} ({})", layout.tp, layout.dp, devices,
                                   devices == 1 ? "" : "s", origin(layout.source, stored));
  return layout;
}

}  // namespace wavetune::engine
