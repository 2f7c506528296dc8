#include "search/space/level_program.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "search/space/level_terms.h"

namespace wavetune::search {
namespace {

using templates::Term;
using templates::TermOp;
using templates::Terms;
using Register = std::uint32_t;

LaneOp lane_op(const Term& term, bool of_reals) {
  switch (term.op) {
    case TermOp::sum:
      return term.real ? LaneOp::real_sum : LaneOp::sum;
    case TermOp::product:
      return term.real ? LaneOp::real_product : LaneOp::product;
    case TermOp::minimum:
      return LaneOp::minimum;
    case TermOp::maximum:
      return LaneOp::maximum;
    case TermOp::negate:
      return term.real ? LaneOp::real_negate : LaneOp::negate;
    case TermOp::absolute:
      return LaneOp::absolute;
    case TermOp::floor_divide:
      return LaneOp::floor_divide;
    case TermOp::remainder:
      return LaneOp::remainder;
    case TermOp::divide:
      return LaneOp::divide;
    case TermOp::power:
      return LaneOp::power;
    case TermOp::to_real:
      return LaneOp::to_real;
    case TermOp::floor:
      return LaneOp::floor;
    case TermOp::ceil:
      return LaneOp::ceil;
    case TermOp::lookup:
      return LaneOp::lookup;
    case TermOp::equal:
      return of_reals ? LaneOp::real_equal : LaneOp::equal;
    case TermOp::less:
      return of_reals ? LaneOp::real_less : LaneOp::less;
    case TermOp::less_equal:
      return of_reals ? LaneOp::real_less_equal : LaneOp::less_equal;
    case TermOp::logical_not:
      return LaneOp::logical_not;
    case TermOp::all:
      return LaneOp::both;
    case TermOp::any:
      return LaneOp::either;
    default:
      return LaneOp::opaque;
  }
}

class LevelCompiler {
 public:
  LevelCompiler(const Terms& terms, const std::vector<Root>& roots, std::int32_t level, bool is_first)
      : terms_(terms), roots_(roots), level_(level), is_first_(is_first) {
    const std::vector<Slot> before = slots_at(terms, roots, level + 1);
    for (std::size_t i = 0; i < before.size(); ++i) before_.emplace(before[i], i);
    is_static_.push_back(true);
  }

  LevelProgram run() {
    for (const Root& root : roots_) {
      const Term& term = terms_[root.term];
      if (!is_known(term, level_) || (was_known(term) && !(is_first_ && is_constant(term)))) continue;
      const Register truth = value(root.term);
      program_.due.push_back({std::move(code_), truth, root.constraint});
      code_.clear();
    }
    const std::vector<Slot> after = slots_at(terms_, roots_, level_);
    find_relevance();
    for (const Root& root : roots_) {
      if (is_known(terms_[root.term], level_)) continue;
      if (const auto known = decision(root.term)) program_.decisions.push_back(*known);
    }
    for (const Slot& slot : after) {
      const Register whole = slot.kind == Slot::Kind::value  ? value(slot.term)
                             : slot.kind == Slot::Kind::part ? *part(slot.term)
                                                             : decision(slot.term).value_or(constant(undecided));
      const auto relevant = relevance_.find(slot.term);
      const bool always = relevant == relevance_.end() || !relevant->second;
      program_.outputs.push_back(always ? whole : emit(LaneOp::mask, {whole, *relevant->second}));
    }
    program_.rest = std::move(code_);
    return std::move(program_);
  }

 private:
  static bool is_constant(const Term& term) { return term.lowest == Term::none; }
  bool was_known(const Term& term) const { return is_known(term, level_ + 1); }

  Register new_register(bool is_static) {
    is_static_.push_back(is_static);
    return program_.registers++;
  }

  Register emit(LaneInstruction instruction, const std::vector<Register>& from) {
    bool is_static = instruction.op != LaneOp::opaque;
    for (const Register each : from) is_static = is_static && is_static_[each];
    instruction.to = new_register(is_static);
    (is_static ? program_.once : code_).push_back(instruction);
    return instruction.to;
  }
  Register emit(LaneOp op, std::initializer_list<Register> from, bool checked = false) {
    LaneInstruction instruction;
    instruction.op = op;
    instruction.checked = checked;
    std::copy(from.begin(), from.end(), instruction.from.begin());
    return emit(std::move(instruction), from);
  }

  Register constant(std::int64_t value) {
    const auto known = constants_.find(value);
    if (known != constants_.end()) return known->second;
    const Register to = new_register(true);
    program_.constants.push_back({to, value});
    return constants_[value] = to;
  }

  std::optional<Register> input(const Slot& slot) {
    const auto found = before_.find(slot);
    if (found == before_.end()) return std::nullopt;
    const auto [place, is_new] = inputs_.try_emplace(slot, 0);
    if (is_new) {
      place->second = new_register(false);
      program_.inputs.push_back({place->second, found->second});
    }
    return place->second;
  }

  /// Of a term that is known.
  Register value(TermId id) {
    const auto found = values_.find(id);
    if (found != values_.end()) return found->second;
    return values_[id] = new_value(id);
  }

  Register new_value(TermId id) {
    const Term& term = terms_[id];
    if (term.op == TermOp::constant) return constant(term.constant);
    if (!is_constant(term) && was_known(term)) return *input({Slot::Kind::value, id});
    if (term.op == TermOp::parameter) return 0;
    if (term.op == TermOp::opaque) return predicate(term);
    Register result = 0;
    if (term.is_associative() && !term.is_junction()) {
      result = *part(id);
    } else if (term.is_junction()) {
      result = junction(id);
    } else {
      result = operation(term);
    }
    const auto known = input({Slot::Kind::decision, id});
    return known ? emit(LaneOp::settle, {*known, result}) : result;
  }

  Register predicate(const Term& term) {
    LaneInstruction instruction;
    instruction.op = LaneOp::opaque;
    instruction.index = static_cast<std::uint32_t>(term.constant);
    for (const TermId operand : term.operands) instruction.operands.push_back(value(operand));
    return emit(instruction, instruction.operands);
  }

  Register operation(const Term& term) {
    LaneInstruction instruction;
    instruction.op = lane_op(term, terms_[term.operands[0]].real);
    instruction.index = term.index;
    std::vector<Register> from;
    for (const TermId operand : term.operands) {
      from.push_back(value(operand));
      instruction.from[from.size() - 1] = from.back();
      instruction.checked = instruction.checked || terms_[operand].faults;
    }
    return emit(instruction, from);
  }

  /// Of a sum or the like: of its operands that are known, if any.
  std::optional<Register> part(TermId id) {
    const auto found = parts_.find(id);
    if (found != parts_.end()) return found->second;
    const Term& term = terms_[id];
    std::optional<Register> result = input({Slot::Kind::part, id});
    const bool has_before = result.has_value();
    for (const TermId operand : term.operands) {
      if (!is_known(terms_[operand], level_) || (has_before && was_known(terms_[operand]))) continue;
      const Register next = value(operand);
      result = result ? emit(lane_op(term, false), {*result, next}, term.faults) : next;
    }
    return parts_[id] = result;
  }

  /// The operands that its decision, if it had one at the level above, does not have in it.
  std::vector<TermId> open_operands(TermId id) {
    const Term& term = terms_[id];
    if (!before_.contains({Slot::Kind::decision, id})) return term.operands;
    if (!term.is_associative()) return {first_open_operand(terms_, term, level_ + 1), term.operands.end()};
    std::vector<TermId> open;
    for (const TermId operand : term.operands) {
      if (!was_known(terms_[operand])) open.push_back(operand);
    }
    return open;
  }

  Register junction(TermId id) {
    std::optional<Register> result;
    for (const TermId operand : open_operands(id)) {
      const Register next = value(operand);
      result = result ? emit(lane_op(terms_[id], false), {*result, next}) : next;
    }
    return *result;
  }

  /// Of a truth, known or not; nothing when it cannot be decided yet.
  std::optional<Register> decision(TermId id) {
    const auto found = decisions_.find(id);
    if (found != decisions_.end()) return found->second;
    return decisions_[id] = new_decision(id);
  }

  std::optional<Register> new_decision(TermId id) {
    const Term& term = terms_[id];
    if (is_known(term, level_)) return emit(LaneOp::decide, {value(id)});
    if (!is_started(term, level_)) return std::nullopt;
    if (term.op == TermOp::logical_not) {
      const auto operand = decision(term.operands[0]);
      return operand ? std::optional(emit(LaneOp::flip, {*operand})) : std::nullopt;
    }
    if (!term.is_junction() && !(term.is_comparison() && can_bound(terms_, id))) return std::nullopt;
    const Register now = term.is_junction() ? junction_decision(id) : comparison_decision(term);
    const auto before = input({Slot::Kind::decision, id});
    return before ? emit(LaneOp::earlier, {*before, now}) : now;
  }

  Register junction_decision(TermId id) {
    const Term& term = terms_[id];
    const bool in_order = !term.is_associative();
    const LaneOp op = term.op == TermOp::all ? (in_order ? LaneOp::all_in_order : LaneOp::all_of)
                                             : (in_order ? LaneOp::any_in_order : LaneOp::any_of);
    std::optional<Register> result;
    for (const TermId operand : open_operands(id)) {
      const auto next = decision(operand);
      const Register each = next.value_or(constant(undecided));
      result = result ? emit(op, {*result, each}) : each;
      if (in_order && !next) break;  // what is behind it does not count yet
    }
    return *result;
  }

  Register comparison_decision(const Term& term) {
    const Bounds left = bounds(term.operands[0]);
    const Bounds right = bounds(term.operands[1]);
    const LaneOp op = term.op == TermOp::equal  ? LaneOp::bound_equal
                      : term.op == TermOp::less ? LaneOp::bound_less
                                                : LaneOp::bound_less_equal;
    return emit(op, {left.low, left.high, right.low, right.high});
  }

  struct Bounds {
    Register low = 0;
    Register high = 0;
  };

  /// What an integer lies between, whatever the parameters that have no value yet are.
  Bounds bounds(TermId id) {
    const Term& term = terms_[id];
    if (is_known(term, level_)) return {value(id), value(id)};
    const auto fixed = [](double end) { return static_cast<std::int64_t>(end); };
    const Bounds widest{constant(fixed(std::floor(term.low))), constant(fixed(std::ceil(term.high)))};
    if (!is_started(term, level_) || term.real || term.truth) return widest;
    if (term.op == TermOp::negate) {
      const Bounds of = bounds(term.operands[0]);
      return {emit(LaneOp::negate, {of.high}), emit(LaneOp::negate, {of.low})};
    }
    if (!term.is_associative()) return widest;
    if (term.op == TermOp::product &&
        std::any_of(term.operands.begin(), term.operands.end(), [this](TermId each) { return terms_[each].low < 0; })) {
      return widest;
    }
    std::optional<Bounds> result;
    if (const auto known = part(id)) result = Bounds{*known, *known};
    const LaneOp op = lane_op(term, false);
    for (const TermId operand : term.operands) {
      if (is_known(terms_[operand], level_)) continue;
      const Bounds each = bounds(operand);
      result = result ? Bounds{emit(op, {result->low, each.low}), emit(op, {result->high, each.high})} : each;
    }
    return *result;
  }

  /// For each term below a constraint that is not known: a mask of the lanes where it still counts, or nothing where
  /// that is everywhere. Above a term that is decided, everything that only it uses does not.
  void find_relevance() {
    std::set<TermId, std::greater<>> open;
    for (const Root& root : roots_) {
      if (is_known(terms_[root.term], level_) || !is_started(terms_[root.term], level_)) continue;
      open.insert(root.term);
      relevance_[root.term] = std::nullopt;
    }
    while (!open.empty()) {  // users before what they use
      const TermId id = *open.begin();
      open.erase(open.begin());
      const Term& term = terms_[id];
      std::optional<Register> below = relevance_.at(id);
      const bool decides = term.is_junction() || term.is_comparison();
      if (const auto known = decides ? decision(id) : std::nullopt) {
        const Register still = emit(LaneOp::open, {*known});
        below = below ? emit(LaneOp::mask, {*below, still}) : still;
      }
      for (const TermId operand : term.operands) {
        const auto [place, is_new] = relevance_.try_emplace(operand, below);
        if (!is_new && place->second) {
          place->second = below ? std::optional(emit(LaneOp::join, {*place->second, *below})) : std::nullopt;
        }
        if (!is_known(terms_[operand], level_) && is_started(terms_[operand], level_)) open.insert(operand);
      }
    }
  }

  const Terms& terms_;
  const std::vector<Root>& roots_;
  std::int32_t level_;
  bool is_first_;
  std::map<Slot, std::size_t> before_;
  LevelProgram program_;
  std::vector<LaneInstruction> code_;
  std::vector<bool> is_static_;
  std::map<std::int64_t, Register> constants_;
  std::map<Slot, Register> inputs_;
  std::map<TermId, Register> values_;
  std::map<TermId, std::optional<Register>> parts_;
  std::map<TermId, std::optional<Register>> decisions_;
  std::map<TermId, std::optional<Register>> relevance_;
};

}  // namespace

LevelProgram compile_level(const Terms& terms, const std::vector<Root>& roots, std::int32_t level, bool is_first) {
  return LevelCompiler(terms, roots, level, is_first).run();
}

}  // namespace wavetune::search
