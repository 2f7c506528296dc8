// What is known of a term at a level, where the parameters from `level` on have values.
#pragma once

#include <algorithm>

#include "search/space/level_program.h"

namespace wavetune::search {

inline bool is_known(const templates::Term& term, std::int32_t level) { return term.lowest >= level; }
/// Whether a parameter below it has a value.
inline bool is_started(const templates::Term& term, std::int32_t level) { return term.highest >= level; }

/// The first operand that is not known; what stands before it in an `and` or `or` has been taken into its decision.
inline auto first_open_operand(const templates::Terms& terms, const templates::Term& term, std::int32_t level) {
  return std::find_if(term.operands.begin(), term.operands.end(),
                      [&terms, level](TermId operand) { return !is_known(terms[operand], level); });
}

/// Whether ranges of its operands can decide a comparison early.
bool can_bound(const templates::Terms& terms, TermId comparison);

}  // namespace wavetune::search
