#include <fmt/format.h>

#include "db/base/error.h"
#include "search/offline/offline_tuner.h"

namespace wavetune::search {

measure::DevicePeak data_sheet_peak(std::string_view arch) {
  // The makers' data sheets, dense, operations and bytes a microsecond.
  if (arch == "gfx950") {
    return {8.0e6, {{"f32", 157.3e6}, {"bf16", 2.5e9}, {"fp8", 5.0e9}, {"mxfp4", 10.0e9}}};
  }
  if (arch == "gfx942") return {5.3e6, {{"f32", 163.4e6}, {"bf16", 1.307e9}, {"fp8", 2.615e9}, {"mxfp4", 1.307e9}}};
  // H200: products with FP4 weights run at the rate of what these are widened to.
  if (arch == "sm_90a") return {4.8e6, {{"f32", 67e6}, {"bf16", 989e6}, {"fp8", 1.979e9}, {"mxfp4", 989e6}}};
  fail(ErrorKind::usage, "there is no data sheet here for the architecture '{}'", arch);
}

std::string offline_text(const std::vector<OfflineRow>& rows, std::size_t most) {
  std::string text = fmt::format("{:<20} {:<48} {:>8} {:>5} {:>12} {:>11}  {}\n", "operator", "shape", "compiled",
                                 "kept", "predicted us", "roofline us", "best predicted");
  for (std::size_t i = 0; i < rows.size() && i < most; ++i) {
    const OfflineRow& row = rows[i];
    text +=
        fmt::format("{:<20} {:<48} {:>8} {:>5} {:>12} {:>11.3g}  {}\n", row.problem.op + "/" + row.problem.dtype,
                    db::to_text(row.problem.dims), row.tried, row.kept,
                    row.kept > 0 ? fmt::format("{:.4g}", row.best_us) : "-", row.roofline_us, db::to_text(row.best));
  }
  if (rows.size() > most) text += fmt::format("... and {} more shapes\n", rows.size() - most);
  return text;
}

}  // namespace wavetune::search
