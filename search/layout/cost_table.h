// What a problem costs: measured where there is a winner, published where another stack's table has it, estimated
// elsewhere.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"
#include "search/layout/known_times.h"
#include "search/measure/peak_run.h"
#include "search/predict/machine.h"

namespace wavetune::search {

/// Best first.
enum class CostSource {
  measured,   ///< a winner of ours, at this m or between two
  published,  ///< another implementation's time, at this m or between two
  estimated,  ///< derived, extrapolated, or from a model
};
std::string_view to_string(CostSource source);

struct ProblemCost {
  double us = 0;
  CostSource source = CostSource::estimated;
  bool measured() const { return source == CostSource::measured; }
};

/// A time that no trial of the database stands for: another implementation's, one derived from such times, or one of
/// ours that was taken outside tuning.
struct ReferenceTime {
  db::Problem problem;
  double us = 0;
  CostSource source = CostSource::published;  ///< estimated: derived
};

/// A snapshot of what is known for one kind of device. Capacities (slots, sequences, pages) do not change what there is
/// to do, so a winner at other capacities counts as measured.
class CostTable {
 public:
  /// Winners of other template sources than this executable's are left out.
  CostTable(const db::Database& database, const db::Environment& environment, measure::DevicePeak peak);
  /// From given lists; `arch` chooses the analytic model that estimates products (none for an unknown one).
  CostTable(const std::vector<db::Winner>& winners, measure::DevicePeak peak,
            std::span<const ReferenceTime> references = {}, std::string_view arch = {});

  /// Looked up in our winners, then in the references; inside the range of m that one of them knows, before beyond it.
  /// Beyond: scaled by the analytic model where it knows the operator, else continued at the last two shapes' slope,
  /// else by the roofline. What nobody measured: the analytic model's time for products; for all others the roofline
  /// divided by the share of it that our measured shapes of the same operator reach (their median; that of all
  /// operators when there are none), since a bare roofline would always make the shape that nobody measured look best;
  /// and never less than the shortest reference time, since that is what a launch takes. An operator unknown to this
  /// build is costed as moving its dims' product once, in float32.
  ProblemCost cost(const db::Problem& problem) const;
  /// Whether anything but an estimate is known of the problem's family.
  bool has_winners_of(const db::Problem& problem) const { return measured_.knows_family(problem); }
  bool has_references_of(const db::Problem& problem) const { return published_.knows_family(problem); }

  std::size_t winners() const { return winners_; }
  std::size_t references() const { return references_; }
  /// The shortest published time of a kernel; 0 without any.
  double shortest_launch_us() const { return shortest_us_; }

 private:
  void learn(const std::vector<db::Winner>& winners);
  void learn(std::span<const ReferenceTime> references);
  std::optional<ProblemCost> look_up(const KnownTimes& times, CostSource source, const db::Problem& problem,
                                     bool extrapolate) const;
  /// By the analytic model; nothing for what it does not know.
  std::optional<double> modelled(const db::Problem& problem) const;
  double estimate(const db::Problem& problem) const;
  double roofline_of(const db::Problem& problem) const;

  measure::DevicePeak peak_;
  std::optional<predict::Machine> machine_;
  KnownTimes measured_, published_, derived_;
  std::size_t winners_ = 0, references_ = 0;
  double shortest_us_ = 0;
  std::map<std::string, double, std::less<>> slowdown_;  ///< by operator: measured / roofline
  double overall_slowdown_ = 1;
};

}  // namespace wavetune::search
