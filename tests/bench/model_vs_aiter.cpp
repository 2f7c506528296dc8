// The analytic model against the times that ROCm/aiter publishes for gfx950: per table the rank correlation over
// shapes, the geometric mean of predicted / published and its geometric standard deviation; beside it the same of a
// roofline with 3 us, and of AMD's Origami where it is known. Run by hand: build/release/tests/model_vs_aiter FOLDER
//
// FOLDER holds the CSV files of aiter/configs, gfx950 rows. One half of the rows was used to fit the model's constants;
// "held out" is the other one (the model's form was chosen looking at both).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "db/base/error.h"
#include "search/predict/published.h"

namespace {

using namespace wavetune;
using namespace wavetune::predict;

struct Columns {
  std::vector<double> ours, roofline, published;
  void add(double mine, double plain, double us) {
    ours.push_back(mine);
    roofline.push_back(plain);
    published.push_back(us);
  }
};

// Origami 0.0.3 asked for its best tile on the same rows.
const std::map<std::string, std::string> origami = {{"glm5_bf16_tuned_gemm", "0.55      x2.4"},
                                                    {"bf16_tuned_gemm", "0.80      x2.2"},
                                                    {"a4w4_blockscale_tuned_gemm", "0.89      x2.0"}};

std::string text(const Agreement& a) {
  return fmt::format("{:7.5f} {:5.3f} x{:5.3f}", a.rank_correlation, a.mean_ratio, a.spread);
}

bool better(const Agreement& a, const Agreement& b) {
  return a.rank_correlation > b.rank_correlation && a.spread < b.spread &&
         std::abs(std::log(a.mean_ratio)) < std::abs(std::log(b.mean_ratio));
}

int run(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) fail(ErrorKind::not_found, "{}: holds no CSV file", folder.string());
  const Machine machine = *machine_for("gfx950");
  fmt::print("rank correlation, geometric mean and geometric standard deviation of predicted / published\n\n");
  fmt::print("{:<50} {:>5}  {:<21}  {:<21}  {:<21}  {:<21}  {}\n", "table", "rows", "model", "roofline + 3 us",
             "model, held out", "roofline, held out", "Origami (rank, spread)");
  bool all = true;
  for (const std::filesystem::path& file : files) {
    Columns whole, held;
    for (const PublishedTime& row : read_published(file)) {
      const double mine = predicted_us(machine, row), plain = roofline_plus_3us(row);
      whole.add(mine, plain, row.us);
      if (held_out(row)) held.add(mine, plain, row.us);
    }
    const Agreement ours = agreement(whole.ours, whole.published), plain = agreement(whole.roofline, whole.published);
    const auto known = origami.find(file.stem().string());
    fmt::print("{:<50} {:>5}  {}  {}  {}  {}  {:<16} {}\n", file.stem().string(), ours.rows, text(ours), text(plain),
               text(agreement(held.ours, held.published)), text(agreement(held.roofline, held.published)),
               known == origami.end() ? "-" : known->second, better(ours, plain) ? "" : "not better");
    all = all && better(ours, plain);
  }
  fmt::print("\n{}\n", all ? "better than the roofline on every table in all three" : "not better on every table");
  return all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: model_vs_aiter FOLDER\n");
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "model_vs_aiter: {}\n", error.what());
    return 1;
  }
}
