// mla_attention: absorbed multi-head latent attention over a paged latent cache, restricted to listed slots.
#pragma once

#include "templates/operator.h"

namespace wavetune::templates {

const Operator& mla_attention_operator();

}  // namespace wavetune::templates
