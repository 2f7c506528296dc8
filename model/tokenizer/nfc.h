// Unicode normalisation form C.
#pragma once

#include <string>
#include <string_view>

namespace wavetune::model {

/// Canonical decomposition, canonical ordering, canonical composition (Unicode Standard Annex 15). `text` is valid
/// UTF-8.
std::string to_nfc(std::string_view text);

}  // namespace wavetune::model
