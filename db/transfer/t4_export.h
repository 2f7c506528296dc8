// Trials of the database as T4 recordings with their T1 space files, for others' tools and for `wavetune replay`.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.h"
#include "db/transfer/t4_file.h"

namespace wavetune::db {

/// What one recording holds: the trials of one problem in one environment, made with one version of its sources.
struct Recorded {
  Environment environment;
  Problem problem;
  std::string source_hash;
  std::vector<Trial> trials;  ///< one for each configuration: the latest

  /// For file names: "gemm_bf16_k=2048,m=16,n=4096_AMD-Instinct-MI355X".
  std::string name() const;
};

/// Of the operator's current sources, or of the latest where those have no trials. `problem` selects: a whole
/// Problem::key, or its beginning up to a '/' ("gemm", "gemm/bf16"); empty: all. In order of problem, then environment.
std::vector<Recorded> recorded(const Database& database, std::string_view problem);

/// What a configuration's integer stands for, where it is not the value itself: a T1 file's strings, for one.
using ValueMeaning = std::function<nlohmann::ordered_json(const std::string& parameter, std::int64_t value)>;

/// `meaning` may be empty: the integers are the values.
T4File t4_of(const Recorded& recorded, const ValueMeaning& meaning);

/// A T1 space file with the parameters and the values that occur in the trials. Constraints of built-in operators are
/// C++ and have no place in it: which configurations are valid is what the T4 file says.
nlohmann::ordered_json t1_of(const Recorded& recorded);

/// T4's word for how a trial ended.
T4Invalidity t4_invalidity(Outcome outcome);

}  // namespace wavetune::db
