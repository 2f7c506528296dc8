// What makes a trial of a configuration, in two steps: one that may run ahead and in parallel, and one that needs the
// device. A live tune compiles and measures; a test or a recording answers from what it knows.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "db/trial.h"

namespace wavetune::search {

class TrialMaker {
 public:
  /// What the first step made; only the maker looks into it.
  class Prepared {
   public:
    virtual ~Prepared() = default;
  };
  /// Called once, by any thread, also before prepare() returns: either the result or why there is none.
  using Done = std::function<void(std::shared_ptr<Prepared>, std::exception_ptr)>;

  virtual ~TrialMaker() = default;
  /// Begins the first step. Any thread; several at a time.
  virtual void prepare(const db::Config& config, Done done) = 0;
  /// What can be said of it without the device. Any thread; several at a time.
  virtual void check(const db::Config& config, Prepared& prepared) = 0;
  /// The second step, on the device's thread. `incumbent_us` is the best time so far, 0 for none. `give_up` is asked
  /// while it goes on; nothing when it said yes and no trial could be made any more.
  virtual std::optional<db::Trial> measure(const db::Config& config, Prepared& prepared, double incumbent_us,
                                           const std::function<bool()>& give_up) = 0;
  /// The run is over: nobody waits for first steps in flight any longer.
  virtual void give_up_all() = 0;
};

}  // namespace wavetune::search
