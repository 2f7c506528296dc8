// Rows of a table by id: token embedding, and gathering the rows that are sampled from.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

/// dims m, n, rows; operands ids i32 [m], table [rows, n], y [m, n]. y[i] = table[ids[i]]; an id outside [0, rows)
/// gives zeros.
const Operator& embedding_operator();

}  // namespace wavetune::templates
