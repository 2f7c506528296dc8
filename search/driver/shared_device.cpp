#include "search/driver/shared_device.h"

#include <chrono>
#include <future>
#include <thread>

namespace wavetune::search {
namespace {

// How often it is asked whether a problem's data is there.
constexpr std::chrono::milliseconds ask_again{5};

}  // namespace

bool SharedDevice::ready(const db::Problem& problem, bool if_room) {
  std::promise<bool> answer;
  thread_.post([&] {
    try {
      answer.set_value(client_.prepare_ahead(problem, if_room));
    } catch (...) {
      answer.set_value(true);
    }
  });
  return answer.get_future().get();
}

void SharedDevice::prepare(const db::Problem& problem, std::span<const db::Problem> next,
                           const std::function<bool()>& enough) {
  bool there = ready(problem, false);
  for (const db::Problem& other : next) (void)ready(other, true);
  while (!there && !enough()) {
    std::this_thread::sleep_for(ask_again);
    there = ready(problem, false);
  }
}

}  // namespace wavetune::search
