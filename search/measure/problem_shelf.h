// What lies in a device's memory of the problems that were measured lately: a pool for each order in which their
// configurations read operands, and their right answers. Going from one problem to another and back, as with several
// shapes tuned side by side, costs nothing then, nor does a configuration that wants its weights shuffled after one
// that does not.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <vector>

#include "search/measure/expectation.h"
#include "search/measure/operand_pool.h"

namespace wavetune::measure {

class ProblemShelf {
 public:
  /// `provider` and options.checks must outlive it.
  ProblemShelf(const hip::Provider& provider, const PoolOptions& options);

  /// The problem of what follows. Puts the right answer in place where there are checks; a disagreement between device
  /// and host is left to the caller (Expectation::disagreement).
  void select(std::shared_ptr<const PreparedProblem> prepared);
  const PreparedProblem* problem() const { return problems_.empty() ? nullptr : problems_.front().prepared.get(); }
  /// Null: outputs are compared on the host.
  Expectation* expectation() const { return problems_.empty() ? nullptr : problems_.front().expectation.get(); }

  /// Pools handed out before may go from now on.
  void begin() { ++request_; }
  /// Of the selected problem, laid out for these configurations, which read operands in the same order; call its
  /// arrange_for() then. Stays until begin().
  OperandPool& pool_for(std::span<const db::Config> configs);
  bool arranged_alike(const db::Config& a, const db::Config& b) const;

 private:
  struct Shelved {
    db::Config config;  ///< one of those that it is laid out for
    std::unique_ptr<OperandPool> pool;
    int request = 0;  ///< that used it last
  };
  struct Entry {
    std::shared_ptr<const PreparedProblem> prepared;
    std::unique_ptr<Expectation> expectation;
    std::list<Shelved> pools;
  };

  void put_answer();
  OperandPool& lay_out(std::span<const db::Config> configs);
  bool make_room(std::size_t most_bytes);
  std::size_t bytes() const;

  const hip::Provider& provider_;
  PoolOptions options_;
  std::size_t most_bytes_;
  std::list<Entry> problems_;  ///< the one used last first
  int request_ = 0;
};

}  // namespace wavetune::measure
