// Ends generated text at the first stop string, while it streams.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wavetune::server {

/// Text that may be the beginning of a stop string is held back until that is clear. What comes out does not depend on
/// how the text was cut into pieces: of several matches the one that ends first counts, and of those the longest.
class StopStrings {
 public:
  /// Empty strings are not allowed.
  explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// The text that is certain to come before any stop string. Whole characters in, whole characters out (given that the
  /// stop strings are UTF-8).
  std::string push(std::string_view text);
  /// The end of the text: what was held back.
  std::string finish();

  /// A stop string was found: everything after it is ignored.
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace wavetune::server
