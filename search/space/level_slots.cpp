#include <algorithm>
#include <cmath>
#include <set>

#include "search/space/level_terms.h"

namespace wavetune::search {

using templates::Term;
using templates::Terms;

bool can_bound(const Terms& terms, TermId id) {
  const Term& term = terms[id];
  // Ranges are doubles: beyond 2^53 they are not exact.
  if (term.faults || term.real || std::max(std::abs(term.low), std::abs(term.high)) > 0x1p53) return false;
  return std::all_of(term.operands.begin(), term.operands.end(),
                     [&terms](TermId operand) { return can_bound(terms, operand); });
}

namespace {

class SlotCollection {
 public:
  SlotCollection(const Terms& terms, std::int32_t level) : terms_(terms), level_(level) {}

  void visit(TermId id) {
    const Term& term = terms_[id];
    if (is_known(term, level_) || !is_started(term, level_) || !visited_.insert(id).second) return;
    if (term.is_junction() || (term.is_comparison() && can_bound(terms_, id))) add(Slot::Kind::decision, id);
    const auto known = [this](TermId operand) {
      return is_known(terms_[operand], level_) && terms_[operand].lowest != Term::none;
    };
    if (term.is_associative()) {
      const bool has_part = std::any_of(term.operands.begin(), term.operands.end(), known);
      if (!term.is_junction() && has_part) add(Slot::Kind::part, id);
    } else {
      auto from = term.operands.begin();
      if (term.is_junction()) from = first_open_operand(terms_, term, level_);
      for (; from != term.operands.end(); ++from) {
        if (known(*from)) add(Slot::Kind::value, *from);
      }
    }
    for (const TermId operand : term.operands) visit(operand);
  }

  std::vector<Slot> take() { return std::move(slots_); }

 private:
  void add(Slot::Kind kind, TermId id) {
    const Slot slot{kind, id};
    if (std::find(slots_.begin(), slots_.end(), slot) == slots_.end()) slots_.push_back(slot);
  }

  const Terms& terms_;
  std::int32_t level_;
  std::set<TermId> visited_;
  std::vector<Slot> slots_;
};

}  // namespace

std::vector<Slot> slots_at(const Terms& terms, const std::vector<Root>& roots, std::int32_t level) {
  SlotCollection collection(terms, level);
  for (const Root& root : roots) collection.visit(root.term);
  return collection.take();
}

}  // namespace wavetune::search
