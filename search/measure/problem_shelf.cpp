#include "search/measure/problem_shelf.h"

#include <algorithm>
#include <utility>

#include "db/base/error.h"
#include "search/measure/prepared_problems.h"

namespace wavetune::measure {
namespace {

/// Problems of experts that are tuned side by side have tens of gigabytes, of which a step of one token reads little:
/// what makes room for another one is filled anew, at the next turn of the first. The CPU shares its memory with
/// inputs.
std::size_t usual_bytes(const hip::Provider& provider) {
  if (provider.kind() == hip::ProviderKind::cpu) return usual_problem_bytes();
  std::size_t free_bytes = 0, total_bytes = 0;
  hip::check(provider.api(), provider.api().hipMemGetInfo(&free_bytes, &total_bytes), "hipMemGetInfo");
  return total_bytes / 4 * 3;
}

}  // namespace

ProblemShelf::ProblemShelf(const hip::Provider& provider, const PoolOptions& options)
    : provider_(provider), options_(options), most_bytes_(usual_bytes(provider)) {}

void ProblemShelf::select(std::shared_ptr<const PreparedProblem> prepared) {
  begin();
  const auto found = std::ranges::find(problems_, prepared, &Entry::prepared);
  if (found != problems_.end()) {
    problems_.splice(problems_.begin(), problems_, found);
    return;
  }
  problems_.push_front({std::move(prepared), nullptr, {}});
  make_room(most_bytes_);
  if (options_.checks == nullptr) return;
  try {
    put_answer();
  } catch (...) {
    problems_.pop_front();
    throw;
  }
}

void ProblemShelf::put_answer() {
  Entry& entry = problems_.front();
  const auto answer = [&] { return Expectation::of(provider_.api(), *options_.checks, entry.prepared); };
  try {
    entry.expectation = answer();
  } catch (const Error&) {
    // Memory, most likely: with all of it.
    if (!make_room(0)) throw;
    entry.expectation = answer();
  }
  if (entry.prepared->sample && !entry.expectation)
    fail(ErrorKind::internal, "outputs of {} cannot be compared on the device", entry.prepared->problem.key());
}

bool ProblemShelf::arranged_alike(const db::Config& a, const db::Config& b) const {
  const PreparedProblem& prepared = *problem();
  for (std::size_t i = 0; i < prepared.specs.size(); ++i) {
    if (prepared.op->arrangement(prepared.problem, a, i) != prepared.op->arrangement(prepared.problem, b, i))
      return false;
  }
  return true;
}

OperandPool& ProblemShelf::pool_for(std::span<const db::Config> configs) {
  for (Shelved& shelved : problems_.front().pools) {
    if (!arranged_alike(shelved.config, configs.front())) continue;
    shelved.request = request_;
    shelved.pool->lay_out(configs);
    return *shelved.pool;
  }
  make_room(most_bytes_);
  try {
    return lay_out(configs);
  } catch (const Error&) {
    if (!make_room(0)) throw;
    return lay_out(configs);
  }
}

OperandPool& ProblemShelf::lay_out(std::span<const db::Config> configs) {
  Entry& entry = problems_.front();
  auto pool = std::make_unique<OperandPool>(provider_, *entry.prepared, options_);
  pool->lay_out(configs);
  entry.pools.push_front({configs.front(), std::move(pool), request_});
  return *entry.pools.front().pool;
}

/// Gives up what was used longest ago until the rest takes so much at most. False when there was nothing to give up.
bool ProblemShelf::make_room(std::size_t most_bytes) {
  bool any = false;
  while (problems_.size() > 1 && (problems_.size() > most_problems_at_hand || bytes() > most_bytes)) {
    problems_.pop_back();
    any = true;
  }
  std::list<Shelved>& pools = problems_.front().pools;
  while (bytes() > most_bytes) {
    const auto oldest = std::ranges::min_element(pools, {}, &Shelved::request);
    if (oldest == pools.end() || oldest->request == request_) break;
    pools.erase(oldest);
    any = true;
  }
  return any;
}

std::size_t ProblemShelf::bytes() const {
  std::size_t bytes = 0;
  for (const Entry& entry : problems_) {
    if (entry.expectation) bytes += entry.expectation->bytes();
    for (const Shelved& shelved : entry.pools) bytes += shelved.pool->bytes();
  }
  return bytes;
}

}  // namespace wavetune::measure
