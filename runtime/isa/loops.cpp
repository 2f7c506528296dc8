#include "runtime/isa/loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "runtime/isa/matrix_instruction.h"

namespace wavetune::isa {
namespace {

struct Block {
  std::size_t begin = 0;  ///< instructions [begin, end)
  std::size_t end = 0;
  std::vector<std::size_t> next;      ///< block numbers
  std::vector<std::size_t> previous;  ///< the same edges, backwards
};

std::vector<Block> blocks_of(std::span<const Instruction> kernel) {
  std::map<std::uint64_t, std::size_t> index;  // address -> instruction
  for (std::size_t i = 0; i < kernel.size(); ++i) index.emplace(kernel[i].address, i);
  std::set<std::size_t> begins = {0};
  const auto target = [&](const Instruction& instruction) {
    const auto found = instruction.target ? index.find(*instruction.target) : index.end();
    return found == index.end() ? kernel.size() : found->second;
  };
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    if (kernel[i].kind != Kind::branch) continue;
    begins.insert(i + 1);
    begins.insert(target(kernel[i]));
  }
  begins.erase(kernel.size());
  std::vector<Block> blocks;
  std::map<std::size_t, std::size_t> number;  // first instruction -> block
  for (auto at = begins.begin(); at != begins.end(); ++at) {
    const auto after = std::next(at);
    number.emplace(*at, blocks.size());
    blocks.push_back({*at, after == begins.end() ? kernel.size() : *after, {}, {}});
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Instruction& last = kernel[blocks[b].end - 1];
    if (falls_through(last) && b + 1 < blocks.size()) blocks[b].next.push_back(b + 1);
    if (const auto found = number.find(target(last)); last.kind == Kind::branch && found != number.end())
      blocks[b].next.push_back(found->second);
    for (const std::size_t to : blocks[b].next) blocks[to].previous.push_back(b);
  }
  return blocks;
}

/// Blocks that no way from the entry leads to (padding, code after a tail call) lose their edges: they make no loops
/// and dominate nothing.
void cut_off_unreachable(std::vector<Block>& blocks) {
  std::vector<bool> reached(blocks.size(), false);
  std::vector<std::size_t> open = {0};
  while (!open.empty()) {
    const std::size_t b = open.back();
    open.pop_back();
    if (reached[b]) continue;
    reached[b] = true;
    open.insert(open.end(), blocks[b].next.begin(), blocks[b].next.end());
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (!reached[b]) blocks[b].next.clear();
    std::erase_if(blocks[b].previous, [&](std::size_t from) { return !reached[from]; });
  }
}

/// dominators[b][d]: every way from the entry to b passes d.
std::vector<std::vector<bool>> dominators_of(const std::vector<Block>& blocks) {
  const std::size_t count = blocks.size();
  std::vector<std::vector<bool>> dominators(count, std::vector<bool>(count, true));
  dominators[0].assign(count, false);
  dominators[0][0] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t b = 1; b < count; ++b) {
      std::vector<bool> common(count, true);
      for (const std::size_t from : blocks[b].previous) {
        for (std::size_t d = 0; d < count; ++d) common[d] = common[d] && dominators[from][d];
      }
      common[b] = true;
      if (common == dominators[b]) continue;
      dominators[b] = std::move(common);
      changed = true;
    }
  }
  return dominators;
}

double mfma_flops(std::span<const Instruction> kernel, const std::vector<std::size_t>& body) {
  double flops = 0;
  for (const std::size_t i : body) {
    if (const auto shape = matrix_shape(kernel[i])) flops += shape->flops();
  }
  return flops;
}

}  // namespace

std::vector<Loop> find_loops(std::span<const Instruction> kernel) {
  if (kernel.empty()) return {};
  std::vector<Block> blocks = blocks_of(kernel);
  cut_off_unreachable(blocks);
  const auto dominators = dominators_of(blocks);
  std::map<std::size_t, std::set<std::size_t>> members;  // header -> blocks
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const std::size_t header : blocks[b].next) {
      if (!dominators[b][header]) continue;
      std::set<std::size_t>& loop = members[header];
      loop.insert(header);
      std::vector<std::size_t> open = {b};
      while (!open.empty()) {
        const std::size_t block = open.back();
        open.pop_back();
        if (!loop.insert(block).second) continue;
        open.insert(open.end(), blocks[block].previous.begin(), blocks[block].previous.end());
      }
    }
  }
  std::vector<Loop> loops;
  for (const auto& [header, inside] : members) {
    Loop loop;
    std::set<std::size_t> nested;
    for (const auto& [other, other_inside] : members) {
      if (other == header) continue;
      if (inside.contains(other)) nested.insert(other_inside.begin(), other_inside.end());
      if (other_inside.contains(header)) ++loop.depth;
    }
    for (const std::size_t b : inside) {
      for (std::size_t i = blocks[b].begin; i < blocks[b].end; ++i) {
        loop.body.push_back(i);
        if (!nested.contains(b)) loop.own.push_back(i);
      }
    }
    loops.push_back(std::move(loop));
  }
  return loops;
}

const Loop* hottest_loop(std::span<const Instruction> kernel, std::span<const Loop> loops) {
  const auto rank = [&](const Loop& loop) {
    return std::tuple(mfma_flops(kernel, loop.own), loop.depth, loop.body.size());
  };
  const auto best =
      std::max_element(loops.begin(), loops.end(), [&](const Loop& a, const Loop& b) { return rank(a) < rank(b); });
  return best == loops.end() ? nullptr : &*best;
}

}  // namespace wavetune::isa
