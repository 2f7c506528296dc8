#include "search/measure/prepared_problems.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace wavetune::measure {
namespace {

std::size_t bytes_of(const PreparedProblem& problem) {
  std::size_t bytes = 0;
  for (const auto* tensors : {&problem.inputs, &problem.expected}) {
    for (const templates::HostTensor& tensor : *tensors) bytes += tensor.bytes().size();
  }
  for (const ArrangedInput& input : problem.arranged) bytes += input.tensor.bytes().size();
  return bytes;
}

}  // namespace

std::list<PreparedProblems::Entry>::iterator PreparedProblems::find(const std::string& name) {
  return std::ranges::find(entries_, name, &Entry::name);
}

std::shared_ptr<const PreparedProblem> PreparedProblems::get(const std::string& name, const Make& make) {
  if (const auto at = find(name); at != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, at);
  } else {
    std::promise<std::shared_ptr<const PreparedProblem>> promise;
    promise.set_value(std::make_shared<const PreparedProblem>(make()));
    entries_.push_front({name, promise.get_future().share(), 0});
  }
  const Made made = entries_.front().made;
  try {
    std::shared_ptr<const PreparedProblem> problem = made.get();
    forget_oldest();
    return problem;
  } catch (...) {
    entries_.pop_front();
    throw;
  }
}

void PreparedProblems::prepare_ahead(const std::string& name, Make make, std::size_t bytes) {
  if (find(name) != entries_.end()) return;
  entries_.push_back({name,
                      std::async(std::launch::async,
                                 [make = std::move(make)] { return std::make_shared<const PreparedProblem>(make()); })
                          .share(),
                      bytes});
  // Behind the one in use, but before all others.
  if (entries_.size() > 2) entries_.splice(std::next(entries_.begin()), entries_, std::prev(entries_.end()));
}

bool PreparedProblems::ready(const std::string& name) {
  const auto at = find(name);
  return at != entries_.end() && at->made.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::size_t PreparedProblems::Entry::bytes() const {
  if (made.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return expected_bytes;
  try {
    return bytes_of(*made.get());
  } catch (...) {
    return 0;  // its failure is for the one who asks for it
  }
}

bool PreparedProblems::has_room_for(std::size_t bytes) const {
  for (const Entry& entry : entries_) bytes += entry.bytes();
  return bytes <= most_bytes_;
}

void PreparedProblems::forget_oldest() {
  std::size_t bytes = 0;
  for (auto at = entries_.begin(); at != entries_.end();) {
    // What is being made is not held up; it counts when it is there.
    if (at->made.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      ++at;
      continue;
    }
    bool in_use = true;
    try {
      bytes += at->bytes();
      in_use = at->made.get().use_count() > 1;
    } catch (...) {
    }
    at = at != entries_.begin() && bytes > most_bytes_ && !in_use ? entries_.erase(at) : std::next(at);
  }
}

std::size_t usual_problem_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) / 4
                               : std::size_t{4} << 30;
}

}  // namespace wavetune::measure
