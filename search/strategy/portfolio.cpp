// The default strategy. A few well spread configurations; then a Gaussian process over log times, whose likeness of
// configurations is learnt from what was measured (model/), proposes the candidate with the largest expected
// improvement. Small spaces are candidates as a whole; in large ones a portfolio of moves around the best (moves.h)
// makes them. An analytic model's predictions, when there are any, enter as a slope that the measurements may turn to
// nothing.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "search/strategy/first_design.h"
#include "search/strategy/model/acquisition.h"
#include "search/strategy/model/fit_kernel.h"
#include "search/strategy/model/kernel.h"
#include "search/strategy/model/posterior.h"
#include "search/strategy/moves.h"
#include "search/strategy/random_numbers.h"
#include "search/strategy/seeded_strategy.h"
#include "search/strategy/strategies.h"

namespace wavetune::search {
namespace {

// Candidates at first: the whole space when it is not larger. Later ones are fewer, chosen by what was learnt.
constexpr std::size_t first_pool = 12'000;
constexpr std::size_t first_pool_with_predictions = 3'000;
constexpr std::size_t later_pool = 1'200;
// The model is made anew when the number of observations has grown by so much, from the best and from some others.
constexpr double growth = 1.3;
constexpr std::size_t most_growth = 100;
constexpr std::size_t most_observations = 150;
constexpr double best_share = 0.6;
// The kernel's settings are chosen by so many of them.
constexpr std::size_t most_for_fit = 80;
constexpr std::size_t fewest_for_fit = 4;
constexpr std::size_t elites_kept = 12;
// What the analytic model says cannot run counts as a second.
constexpr double unusable_us = 1e6;

class Portfolio : public SeededStrategy {
 public:
  Portfolio(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options)
      : SeededStrategy(std::move(space), options),
        kernel_(this->space().parameters()),
        expected_trials_(options.expected_trials),
        budget_s_(options.budget_s) {
    if (options.predicted_us) {
      log_predicted_ = [this, predicted = options.predicted_us](PointId id) {
        const double us = predicted(this->space().config(id));
        return std::log(us > 0 && us < unusable_us ? us : unusable_us);
      };
    }
  }

  std::string_view name() const override { return default_strategy; }

 private:
  struct Seen {
    PointId id = 0;
    Point point;
    std::optional<double> log_time;  ///< nothing: failed
    double log_predicted = 0;
  };

  struct Pending {
    PointId id = 0;
    std::optional<std::size_t> index;  ///< in the posterior; nothing: proposed before there was one
    Move move = Move::random;
  };

  std::optional<PointId> propose() override {
    const auto designed = static_cast<int>(seen_.size() + pending_.size());
    const bool designing = designed < design_size(trials_allowed());
    if (designing || !best()) return design();
    if (!posterior_ || seen_.size() >= next_fit_ || open_left_ == 0) learn_anew();
    while (open_left_ > 0) {
      const std::size_t pick = *most_promising(view(), scaled(*best()));
      open_[pick] = 0;
      --open_left_;
      const MovedPoint chosen = pool_[pick];
      if (!untried().take(chosen.id)) continue;  // told of, never asked for
      pending_.push_back({chosen.id, posterior_->expect(space().at(chosen.id)), chosen.move});
      return chosen.id;
    }
    return untried().draw();
  }

  /// By what trials have cost so far, when there is a budget of time: slow kernels leave room for fewer.
  int trials_allowed() const {
    if (!(budget_s_ > 0 && spent_s_ > 0)) return expected_trials_;
    const double by_time = budget_s_ / spent_s_ * static_cast<double>(seen_.size());
    return std::min(expected_trials_, static_cast<int>(std::min(by_time, 1e6)));
  }

  std::optional<PointId> design() {
    std::vector<Point> known = seen_points();
    for (const Pending& pending : pending_) known.push_back(space().at(pending.id));
    const std::optional<PointId> id = spread_out(untried(), kernel_, known, log_predicted_);
    if (id) pending_.push_back({*id, std::nullopt, Move::random});
    return id;
  }

  void learn(PointId id, const Observation& observation) override {
    Seen seen{id, space().at(id), std::nullopt, log_predicted_ ? log_predicted_(id) : 0};
    if (observation.time_us && *observation.time_us > 0) seen.log_time = std::log(*observation.time_us);
    const bool success = seen.log_time && keep_elite(id, *seen.log_time);
    std::optional<std::size_t> index;
    const auto pending =
        std::find_if(pending_.begin(), pending_.end(), [id](const Pending& item) { return item.id == id; });
    if (pending != pending_.end()) {
      index = pending->index;
      moves_.credit(pending->move, success);
      pending_.erase(pending);
    }
    spent_s_ += observation.cost_s;
    if (!seen.log_time) ++failed_;
    if (posterior_) set(index ? *index : posterior_->expect(seen.point), seen);
    seen_.push_back(std::move(seen));
  }

  /// A failure says nothing of times, but much of where others will fail.
  void set(std::size_t index, const Seen& seen) {
    if (seen.log_time) posterior_->set(index, Output::time, value_of(seen));
    posterior_->set(index, Output::failure, (seen.log_time ? 0.0 : 1.0) - failure_rate_);
  }

  CandidateView view() const {
    CandidateView view{
        offset_, posterior_->mean(Output::time), posterior_->variance(), posterior_->scale(), {}, failure_rate_, open_};
    if (failed_ > 0) view.failure = posterior_->mean(Output::failure);
    return view;
  }

  std::optional<double> best() const {
    if (elites_.empty()) return std::nullopt;
    return elites_.front().first;
  }

  /// True when it is among the best so far.
  bool keep_elite(PointId id, double log_time) {
    const std::pair<double, PointId> entry{log_time, id};
    const auto place = std::lower_bound(elites_.begin(), elites_.end(), entry);
    const bool among = place - elites_.begin() < static_cast<std::ptrdiff_t>(elites_kept);
    elites_.insert(place, entry);
    if (elites_.size() > elites_kept) elites_.pop_back();
    return among;
  }

  std::vector<Point> seen_points() const {
    std::vector<Point> points;
    for (const Seen& seen : seen_) points.push_back(seen.point);
    return points;
  }

  /// Log times above the best are compressed: how bad the bad ones are must not shape the model where it matters.
  double scaled(double log_time) const {
    const double above = log_time - reference_;
    return above > 0 ? std::log1p(above) : above;
  }

  /// Infinite when it failed.
  double raw_value(const Seen& seen) const { return scaled(seen.log_time.value_or(INFINITY)); }

  /// What the model predicts of a configuration before it is measured.
  double trend(double log_predicted) const { return mean_ + slope_ * (log_predicted - mean_predicted_); }

  double value_of(const Seen& seen) const { return raw_value(seen) - trend(seen.log_predicted); }

  void learn_anew() {
    reference_ = *best();
    failure_rate_ = static_cast<double>(failed_) / static_cast<double>(seen_.size());
    const std::vector<std::size_t> chosen = choose_observations();
    std::vector<std::size_t> worked;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(worked),
                 [this](std::size_t i) { return seen_[i].log_time.has_value(); });
    fit_trend(worked);
    fit(worked);
    renew_pool();
    for (const std::size_t i : chosen) set(posterior_->expect(seen_[i].point), seen_[i]);
    for (Pending& pending : pending_) pending.index = posterior_->expect(space().at(pending.id));
    const auto grown = static_cast<std::size_t>(static_cast<double>(seen_.size()) * growth);
    next_fit_ = std::clamp(grown, seen_.size() + 2, seen_.size() + most_growth);
  }

  /// All when they are few; else the best and a random part of the others.
  std::vector<std::size_t> choose_observations() {
    std::vector<std::size_t> chosen(seen_.size());
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    if (chosen.size() <= most_observations) return chosen;
    std::stable_sort(chosen.begin(), chosen.end(),
                     [this](std::size_t a, std::size_t b) { return raw_value(seen_[a]) < raw_value(seen_[b]); });
    const auto of_best = static_cast<std::size_t>(best_share * static_cast<double>(most_observations));
    std::vector<std::size_t> others(chosen.begin() + static_cast<std::ptrdiff_t>(of_best), chosen.end());
    shuffle(others, untried().random());
    chosen.resize(of_best);
    chosen.insert(chosen.end(), others.begin(),
                  others.begin() + static_cast<std::ptrdiff_t>(most_observations - of_best));
    return chosen;
  }

  /// Mean, and the slope on the predictions by least squares with a unit prior, kept between distrust and trust.
  void fit_trend(const std::vector<std::size_t>& worked) {
    const auto count = static_cast<double>(worked.size());
    mean_ = 0;
    mean_predicted_ = 0;
    for (const std::size_t i : worked) {
      mean_ += raw_value(seen_[i]) / count;
      mean_predicted_ += seen_[i].log_predicted / count;
    }
    slope_ = 0;
    if (!log_predicted_) return;
    double together = 0.5;
    double square = 1;
    for (const std::size_t i : worked) {
      const double predicted = seen_[i].log_predicted - mean_predicted_;
      together += predicted * (raw_value(seen_[i]) - mean_);
      square += predicted * predicted;
    }
    slope_ = std::clamp(together / square, 0.0, 1.0);
  }

  void fit(const std::vector<std::size_t>& worked) {
    if (worked.size() < fewest_for_fit) return;
    std::vector<Point> points;
    std::vector<double> values;
    const std::size_t count = std::min(most_for_fit, worked.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Seen& seen = seen_[worked[i * worked.size() / count]];
      points.push_back(seen.point);
      values.push_back(value_of(seen));
    }
    fit_kernel(kernel_, points, values);
  }

  void renew_pool() {
    const bool first = !posterior_;
    const std::size_t most = log_predicted_ ? first_pool_with_predictions : first_pool;
    if (first && space().size() <= most) {
      pool_.clear();
      for (PointId id = 0; id < space().size(); ++id) {
        if (untried().contains(id)) pool_.push_back({id, Move::random});
      }
    } else {
      const std::vector<PointId> kept = first ? std::vector<PointId>{} : liked();
      std::vector<PointId> elites;
      for (const auto& [log_time, id] : elites_) elites.push_back(id);
      pool_ = moves_.candidates(untried(), elites, kept, first ? most : later_pool);
    }
    if (pool_.empty()) {
      // All that was drawn is known: what is left is little, and is found by going through it.
      for (PointId id = 0; id < space().size() && pool_.size() < later_pool; ++id) {
        if (untried().contains(id)) pool_.push_back({id, Move::random});
      }
    }
    std::vector<std::uint16_t> flat;
    flat.reserve(pool_.size() * space().parameters().size());
    offset_.clear();
    for (const MovedPoint& candidate : pool_) {
      const Point point = space().at(candidate.id);
      flat.insert(flat.end(), point.begin(), point.end());
      offset_.push_back(static_cast<float>(trend(log_predicted_ ? log_predicted_(candidate.id) : 0)));
    }
    open_.assign(pool_.size(), 1);
    open_left_ = pool_.size();
    posterior_.emplace(kernel_, std::move(flat), pool_.size());
  }

  /// The pool's untried candidates, most promising first.
  std::vector<PointId> liked() const {
    std::vector<std::pair<double, PointId>> by_promise;
    const double goal = scaled(*best());
    const CandidateView candidates = view();
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (untried().contains(pool_[i].id)) by_promise.emplace_back(-candidates.promise(i, goal), pool_[i].id);
    }
    std::sort(by_promise.begin(), by_promise.end());
    std::vector<PointId> ids;
    for (const auto& [promise, id] : by_promise) ids.push_back(id);
    return ids;
  }

  Kernel kernel_;
  int expected_trials_;
  double budget_s_;
  double spent_s_ = 0;
  std::function<double(PointId)> log_predicted_;
  Moves moves_;
  std::vector<Seen> seen_;
  std::vector<Pending> pending_;
  std::vector<std::pair<double, PointId>> elites_;  ///< by log time, best first

  std::vector<MovedPoint> pool_;
  std::vector<float> offset_;        ///< of the pool: the trend
  std::vector<unsigned char> open_;  ///< of the pool: not proposed yet
  std::size_t open_left_ = 0;
  std::optional<Posterior> posterior_;
  std::size_t next_fit_ = 0;
  int failed_ = 0;
  double failure_rate_ = 0;  ///< when the model was made
  double reference_ = 0;     ///< log time that scaled() starts from
  double mean_ = 0, mean_predicted_ = 0, slope_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_portfolio(std::shared_ptr<const SearchSpace> space, const StrategyOptions& options) {
  return std::make_unique<Portfolio>(std::move(space), options);
}

}  // namespace wavetune::search
