// `wavetune tune --spec`: a kernel from outside, described by a T1 file (templates/t1/kernel_spec.h).
#pragma once

#include <boost/program_options.hpp>

#include "search/driver/tuner.h"

namespace wavetune::search {

/// `values` are those of `tune`, with --spec given. 0 when there is a winner, 130 when it was interrupted. Throws
/// Error: usage for options that belong to a model; bad_data for a file that is wrong, with the place in it, for a
/// reference that cannot be computed, and when no configuration agreed with the reference.
int run_spec(const boost::program_options::variables_map& values, TunerOptions tuning);

/// What a measuring process needs: the file, and the reference compiled. Throws Error bad_data with the compiler's
/// words.
std::shared_ptr<const measure::ExternalKernel> external_kernel(const templates::SpecOperator& op,
                                                               const TunerOptions& tuning,
                                                               const hip::Provider& provider);

}  // namespace wavetune::search
