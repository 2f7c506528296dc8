// The next token from logits: greedy, or drawn with temperature and top-p.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, n (vocabulary), ranks. Operands logits f32 [batch=ranks, m, n/ranks], temperature f32 [m], top_p f32 [m],
/// uniform f32 [m] in [0, 1), token i32 [m]. Temperature 0: the largest logit, the lowest id among equals. Else p =
/// softmax(l / temperature); the smallest set of the most probable tokens (the lower id first among equals) with at
/// least top_p of the probability is kept, and the token is the first, in ascending id order, whose cumulative share of
/// the kept exceeds uniform. compare() accepts a token when `uniform` is within 1e-4 of its interval, computed in
/// double.
const Operator& sample_operator();

}  // namespace wavetune::templates
