// `wavetune tune --offline`.
#pragma once

#include <boost/program_options.hpp>

#include "model/config.h"

namespace wavetune::search {

/// --offline, --arch, --shortlist.
void add_offline_options(boost::program_options::options_description& options);

/// `values` are those of `tune`, with --offline given. 0 when it went through, 130 when it was interrupted. Throws
/// Error: usage for options that need a device or an architecture that is not known, not_found when there is no
/// compiler.
int run_offline(const boost::program_options::variables_map& values);

/// Throws Error usage when `values` has options of offline tuning without --offline.
void refuse_offline_options(const boost::program_options::variables_map& values);

}  // namespace wavetune::search
