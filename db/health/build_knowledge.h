// What only the whole program knows of the operators that a database names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "db/trial.h"

namespace wavetune::db {

enum class Standing {
  built_in,  ///< an operator of this program: `source_hash` is what its templates are now
  outside,   ///< its sources are a file that is not at hand (a T1 spec): what the database calls current counts
  unknown,   ///< no operator of this program: nothing of it can ever win
};

struct OperatorStanding {
  Standing standing = Standing::outside;
  std::string source_hash = {};  ///< of built_in
};

/// db/ knows no templates: who does fills this in. What is left empty is not looked at.
struct BuildKnowledge {
  std::function<OperatorStanding(std::string_view op)> standing;
  /// Why a configuration is not one of the operator's for this problem on this device; nothing when it is, or when that
  /// cannot be told without the device.
  std::function<std::optional<std::string>(const Environment&, const Problem&, const Config&)> violation;

  OperatorStanding standing_of(std::string_view op) const { return standing ? standing(op) : OperatorStanding(); }
};

}  // namespace wavetune::db
