#include "search/cli/build_knowledge.h"

#include <map>
#include <memory>

#include "db/base/error.h"
#include "runtime/hip/amd/amd_target.h"
#include "runtime/hip/cuda/cuda_target.h"
#include "templates/registry.h"
#include "templates/t1/spec_operator.h"

namespace wavetune::cli {
namespace {

class Knowledge {
 public:
  db::OperatorStanding standing(std::string_view name) {
    if (name.starts_with(templates::spec_prefix)) return {db::Standing::outside};
    const templates::Operator* const op = templates::find_operator(name);
    if (op == nullptr) return {db::Standing::unknown};
    std::string& hash = hashes_[std::string(name)];
    if (hash.empty()) hash = templates::source_hash(*op);
    return {db::Standing::built_in, hash};
  }

  std::optional<std::string> violation(const db::Environment& environment, const db::Problem& problem,
                                       const db::Config& config) {
    const templates::Operator* const op = templates::find_operator(problem.op);
    if (op == nullptr) return std::nullopt;
    const std::string key = fmt::format("{} {} {}", environment.arch, environment.cu_count, problem.key());
    if (key != space_of_) {
      space_ = space(environment, *op, problem);
      space_of_ = key;
    }
    return space_ ? space_->violation(config) : refusal_;
  }

 private:
  /// Nothing where there is none: with the reason in refusal_, or because the device is not known.
  std::optional<templates::Space> space(const db::Environment& environment, const templates::Operator& op,
                                        const db::Problem& problem) {
    refusal_.reset();
    std::optional<templates::DeviceLimits> limits;
    try {
      if (environment.arch.starts_with("gfx")) limits = hip::amd::limits_of_arch(environment.arch);
      if (environment.arch.starts_with("sm_")) limits = hip::cuda::limits_of_arch(environment.arch);
    } catch (const Error&) {
      // Another build may have kernels for it.
    }
    if (!limits) return std::nullopt;
    limits->cu_count = environment.cu_count;
    try {
      op.check(problem);
      return op.space(problem, *limits);
    } catch (const Error& error) {
      refusal_ = error.what();
      return std::nullopt;
    }
  }

  std::map<std::string, std::string> hashes_;
  std::string space_of_;  ///< rows come problem by problem: one space is kept
  std::optional<templates::Space> space_;
  std::optional<std::string> refusal_;
};

}  // namespace

db::BuildKnowledge build_knowledge() {
  const auto knowledge = std::make_shared<Knowledge>();
  return {[knowledge](std::string_view op) { return knowledge->standing(op); },
          [knowledge](const db::Environment& environment, const db::Problem& problem, const db::Config& config) {
            return knowledge->violation(environment, problem, config);
          }};
}

}  // namespace wavetune::cli
