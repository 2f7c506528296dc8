// The code objects of winners go into the database, so that serving needs no compiler for what was tuned.
#pragma once

#include "search/driver/shape_tuner.h"

namespace wavetune::search {

/// Stores the code of the task's winner unless that very code is there. It comes from the code cache as a rule; where
/// the trial was made elsewhere (an imported database) it is compiled. A winner that does not compile is left alone.
void keep_winner_code(const TuneContext& context, const TuneTask& task);

}  // namespace wavetune::search
