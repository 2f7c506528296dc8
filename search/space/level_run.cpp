#include "search/space/level_run.h"

#include <algorithm>

namespace wavetune::search {
namespace {

// Lanes of a block: as many as the cache holds registers for.
constexpr std::size_t block_lanes = 512;

}  // namespace

LevelRun::LevelRun(const templates::Space& space, const Roots& roots, std::size_t level)
    : roots_(roots),
      program_(compile_level(roots.terms, roots.roots, static_cast<std::int32_t>(level),
                             level + 1 == space.parameters().size())),
      values_(space.parameters()[level].values.size()),
      nodes_a_block_(std::max<std::size_t>(1, block_lanes / values_)),
      stride_(nodes_a_block_ * values_),
      registers_(program_.registers * stride_),
      valid_(stride_, 1) {
  for (std::size_t lane = 0; lane < stride_; ++lane) {
    registers_[lane] = space.parameters()[level].values[lane % values_];
  }
  for (const auto& each : program_.constants) std::fill_n(&registers_[each.to * stride_], stride_, each.value);
  run_all(program_.once, stride_);
}

void LevelRun::run_all(const std::vector<LaneInstruction>& code, std::size_t lanes) {
  const LaneContext context{&roots_.terms.tables(), &roots_.predicates};
  for (const LaneInstruction& instruction : code) {
    run_lanes(instruction, registers_.data(), stride_, lanes, context, valid_);
  }
}

std::size_t LevelRun::evaluate(const WordTable& states, std::size_t first_node) {
  const std::size_t nodes = std::min(nodes_a_block_, states.size() - first_node);
  const std::size_t lanes = nodes * values_;
  for (const auto& input : program_.inputs) {
    std::int64_t* to = &registers_[input.to * stride_];
    for (std::size_t i = 0; i < nodes; ++i) {
      to = std::fill_n(to, values_, static_cast<std::int64_t>(states.row(first_node + i)[input.slot]));
    }
  }
  std::fill_n(valid_.begin(), lanes, 1);
  const auto keep = [&](std::size_t lane, bool good) {
    valid_[lane] = static_cast<char>(valid_[lane] & static_cast<char>(good));
  };
  for (const LevelProgram::Due& due : program_.due) {
    run_all(due.code, lanes);
    const std::int64_t* truth = &registers_[due.truth * stride_];
    bool faults = false;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      faults |= truth[lane] == faulted && valid_[lane] != 0;
      keep(lane, truth[lane] != 0);
    }
    if (!faults) continue;
    const auto lane = static_cast<std::size_t>(
        std::find_if(valid_.begin(), valid_.end(),
                     [&](const char& valid) { return valid != 0 && truth[&valid - valid_.data()] == faulted; }) -
        valid_.begin());
    fault_ = Fault{first_node + lane / values_, lane, due.constraint};
    return nodes;
  }
  run_all(program_.rest, lanes);
  for (const std::uint32_t decision : program_.decisions) {
    const std::int64_t* known = &registers_[decision * stride_];
    for (std::size_t lane = 0; lane < lanes; ++lane) keep(lane, known[lane] != decided_false);
  }
  return nodes;
}

}  // namespace wavetune::search
