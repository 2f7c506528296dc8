// The problems that a measuring process has at hand: those used last, and those that are being prepared while it
// measures another one.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <string>

#include "search/measure/prepared_problem.h"

namespace wavetune::measure {

class PreparedProblems {
 public:
  using Make = std::function<PreparedProblem()>;

  /// Those used longest ago are forgotten when all together hold more bytes, unless somebody still uses them: that
  /// would free nothing.
  explicit PreparedProblems(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  /// The problem of that name, made now unless it is there; waits for one that is being made. Throws what `make` threw.
  std::shared_ptr<const PreparedProblem> get(const std::string& name, const Make& make);
  /// Begins to make it in another thread, unless it is there; it will take about `bytes`. A failure shows when it is
  /// asked for.
  void prepare_ahead(const std::string& name, Make make, std::size_t bytes = 0);
  /// So many bytes more are within the limit, those that are being made counted.
  bool has_room_for(std::size_t bytes) const;
  /// It is there, or could not be made: get() does not wait.
  bool ready(const std::string& name);

 private:
  using Made = std::shared_future<std::shared_ptr<const PreparedProblem>>;
  struct Entry {
    std::string name;
    Made made;
    std::size_t expected_bytes = 0;
    std::size_t bytes() const;
  };
  std::list<Entry>::iterator find(const std::string& name);
  void forget_oldest();

  std::size_t most_bytes_;
  std::list<Entry> entries_;  ///< the one used last first
};

/// A quarter of the machine's memory.
std::size_t usual_problem_bytes();

}  // namespace wavetune::measure
