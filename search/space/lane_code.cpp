#include "search/space/lane_code.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace wavetune::search {
namespace {

using Word = std::int64_t;

double real(Word word) { return std::bit_cast<double>(word); }
Word word(double value) { return std::bit_cast<Word>(value); }
const Word real_fault = word(std::numeric_limits<double>::quiet_NaN());

// Lanes that do not count may hold anything, so that these wrap instead of overflowing.
Word wrapped_sum(Word a, Word b) {
  return static_cast<Word>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
Word wrapped_product(Word a, Word b) {
  return static_cast<Word>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

Word floor_divided(Word a, Word b) {
  if (b == 0) return faulted;
  if (b == -1) return wrapped_sum(~a, 1);
  if (((a | b) >> 32) == 0) return static_cast<Word>(static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b));
  const Word quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

Word remainder(Word a, Word b) {
  if (b == 0) return faulted;
  if (b == -1) return 0;
  if (((a | b) >> 32) == 0) return static_cast<Word>(static_cast<std::uint32_t>(a) % static_cast<std::uint32_t>(b));
  const Word rest = a % b;
  return rest + (rest != 0 && (a < 0) != (b < 0) ? b : 0);
}

Word power(Word base, Word exponent) {
  std::uint64_t result = 1;
  auto square = static_cast<std::uint64_t>(base);
  for (Word rest = exponent; rest > 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<Word>(result);
}

Word to_integer(double value) {
  return std::abs(value) < 0x1p60 ? static_cast<Word>(value) : faulted;  // false for a NaN, too
}

Word bound(bool surely, bool never) { return surely ? decided_true : never ? decided_false : undecided; }

class Lanes {
 public:
  Lanes(const LaneInstruction& instruction, Word* registers, std::size_t stride, std::size_t lanes)
      : instruction_(instruction), registers_(registers), stride_(stride), lanes_(lanes) {}

  const Word* from(std::size_t i) const { return registers_ + instruction_.from[i] * stride_; }
  Word* to() const { return registers_ + instruction_.to * stride_; }

  template <class F>
  void one(F f) const {
    const Word* a = from(0);
    Word* result = to();
    for (std::size_t i = 0; i < lanes_; ++i) result[i] = f(a[i]);
  }
  template <class F>
  void two(F f) const {
    const Word* a = from(0);
    const Word* b = from(1);
    Word* result = to();
    for (std::size_t i = 0; i < lanes_; ++i) result[i] = f(a[i], b[i]);
  }
  template <class F>
  void four(F f) const {
    const Word* a = from(0);
    const Word* b = from(1);
    const Word* c = from(2);
    const Word* d = from(3);
    Word* result = to();
    for (std::size_t i = 0; i < lanes_; ++i) result[i] = f(a[i], b[i], c[i], d[i]);
  }
  /// Integers, of which one may have faulted.
  template <class F>
  void one_checked(F f) const {
    if (!instruction_.checked) return one(f);
    one([f](Word a) { return a == faulted ? faulted : f(a); });
  }
  template <class F>
  void two_checked(F f) const {
    if (!instruction_.checked) return two(f);
    two([f](Word a, Word b) { return a == faulted || b == faulted ? faulted : f(a, b); });
  }
  template <class F>
  void reals(F f) const {
    two([f](Word a, Word b) { return word(f(real(a), real(b))); });
  }
  template <class F>
  void compare_reals(F f) const {
    two([f](Word a, Word b) {
      return std::isnan(real(a)) || std::isnan(real(b)) ? faulted : Word{f(real(a), real(b))};
    });
  }

 private:
  const LaneInstruction& instruction_;
  Word* registers_;
  std::size_t stride_;
  std::size_t lanes_;
};

void run_predicate(const LaneInstruction& instruction, Word* registers, std::size_t stride, std::size_t lanes,
                   const LanePredicate& predicate, const std::vector<char>& wanted) {
  std::vector<Word> words(instruction.operands.size());
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    Word& result = registers[instruction.to * stride + lane];
    result = 0;
    if (wanted[lane] == 0) continue;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = registers[instruction.operands[i] * stride + lane];
    result = predicate(words.data()) ? 1 : 0;
  }
}

}  // namespace

void run_lanes(const LaneInstruction& instruction, std::int64_t* registers, std::size_t stride, std::size_t lanes,
               const LaneContext& context, const std::vector<char>& wanted) {
  const Lanes on(instruction, registers, stride, lanes);
  switch (instruction.op) {
    case LaneOp::sum:
      return on.two_checked(wrapped_sum);
    case LaneOp::product:
      return on.two_checked(wrapped_product);
    case LaneOp::minimum:
      return on.two_checked([](Word a, Word b) { return std::min(a, b); });
    case LaneOp::maximum:
      return on.two_checked([](Word a, Word b) { return std::max(a, b); });
    case LaneOp::negate:
      return on.one_checked([](Word a) { return wrapped_sum(~a, 1); });
    case LaneOp::absolute:
      return on.one_checked([](Word a) { return a < 0 ? wrapped_sum(~a, 1) : a; });
    case LaneOp::floor_divide:
      return on.two_checked(floor_divided);
    case LaneOp::remainder:
      return on.two_checked(remainder);
    case LaneOp::power:
      return on.two_checked(power);
    case LaneOp::to_real:
      if (!instruction.checked) return on.one([](Word a) { return word(static_cast<double>(a)); });
      return on.one([](Word a) { return a == faulted ? real_fault : word(static_cast<double>(a)); });
    case LaneOp::floor:
      return on.one([](Word a) { return to_integer(std::floor(real(a))); });
    case LaneOp::ceil:
      return on.one([](Word a) { return to_integer(std::ceil(real(a))); });
    case LaneOp::lookup: {
      const std::vector<Word>& table = (*context.tables)[instruction.index];
      return on.one([&table](Word a) {
        return a >= 0 && a < static_cast<Word>(table.size()) ? table[static_cast<std::size_t>(a)] : 0;
      });
    }
    case LaneOp::real_sum:
      return on.reals([](double a, double b) { return a + b; });
    case LaneOp::real_product:
      return on.reals([](double a, double b) { return a * b; });
    case LaneOp::real_negate:
      return on.one([](Word a) { return word(-real(a)); });
    case LaneOp::divide:
      return on.two([](Word a, Word b) { return real(b) == 0 ? real_fault : word(real(a) / real(b)); });
    case LaneOp::equal:
      return on.two_checked([](Word a, Word b) { return Word{a == b}; });
    case LaneOp::less:
      return on.two_checked([](Word a, Word b) { return Word{a < b}; });
    case LaneOp::less_equal:
      return on.two_checked([](Word a, Word b) { return Word{a <= b}; });
    case LaneOp::real_equal:
      return on.compare_reals([](double a, double b) { return a == b; });
    case LaneOp::real_less:
      return on.compare_reals([](double a, double b) { return a < b; });
    case LaneOp::real_less_equal:
      return on.compare_reals([](double a, double b) { return a <= b; });
    case LaneOp::logical_not:
      return on.one([](Word a) { return a == faulted ? faulted : Word{a == 0}; });
    case LaneOp::both:
      return on.two([](Word a, Word b) { return a == 1 ? b : a; });
    case LaneOp::either:
      return on.two([](Word a, Word b) { return a == 0 ? b : a; });
    case LaneOp::opaque:
      return run_predicate(instruction, registers, stride, lanes, (*context.predicates)[instruction.index], wanted);
    case LaneOp::decide:
      return on.one([](Word a) { return a == faulted ? decided_fault : a != 0 ? decided_true : decided_false; });
    case LaneOp::settle:
      return on.two([](Word a, Word b) {
        return a == undecided ? b : a == decided_fault ? faulted : Word{a == decided_true};
      });
    case LaneOp::earlier:
      return on.two([](Word a, Word b) { return a != undecided ? a : b; });
    case LaneOp::flip:
      return on.one([](Word a) { return a == decided_true ? decided_false : a == decided_false ? decided_true : a; });
    case LaneOp::all_in_order:
      return on.two([](Word a, Word b) { return a == decided_true ? b : a; });
    case LaneOp::any_in_order:
      return on.two([](Word a, Word b) { return a == decided_false ? b : a; });
    case LaneOp::all_of:
      return on.two([](Word a, Word b) {
        return a == decided_false || b == decided_false ? decided_false
               : a == decided_true && b == decided_true ? decided_true
                                                        : undecided;
      });
    case LaneOp::any_of:
      return on.two([](Word a, Word b) {
        return a == decided_true || b == decided_true     ? decided_true
               : a == decided_false && b == decided_false ? decided_false
                                                          : undecided;
      });
    case LaneOp::bound_equal:
      return on.four([](Word low, Word high, Word other_low, Word other_high) {
        return bound(low == high && other_low == other_high && low == other_low, high < other_low || low > other_high);
      });
    case LaneOp::bound_less:
      return on.four([](Word low, Word high, Word other_low, Word other_high) {
        return bound(high < other_low, low >= other_high);
      });
    case LaneOp::bound_less_equal:
      return on.four([](Word low, Word high, Word other_low, Word other_high) {
        return bound(high <= other_low, low > other_high);
      });
    case LaneOp::open:
      return on.one([](Word a) { return a == undecided ? Word{-1} : Word{0}; });
    case LaneOp::mask:
      return on.two([](Word a, Word b) { return a & b; });
    case LaneOp::join:
      return on.two([](Word a, Word b) { return a | b; });
  }
}

}  // namespace wavetune::search
