#include "search/measure/external_kernel.h"

#include <algorithm>
#include <cmath>

#include "db/base/error.h"
#include "runtime/hip/handles.h"
#include "search/measure/candidate.h"
#include "search/measure/loaded_launches.h"

namespace wavetune::measure {
namespace {

using templates::HostTensor;
using templates::Role;

// Two patterns, so that a value that happens to be one of them is not taken for unwritten. The first is NaN.
constexpr int first_poison = 0xFF;
constexpr int second_poison = 0x5A;

// The reference is one kernel: parameters of the tuned one do not change how its operands lie.
const db::Config no_parameters;

bool untouched(const HostTensor& tensor, std::int64_t element, int poison) {
  const std::size_t size = templates::size_of(tensor.dtype());
  const auto bytes = tensor.bytes().subspan(static_cast<std::size_t>(element) * size, size);
  return std::ranges::all_of(bytes, [poison](std::byte byte) { return byte == std::byte(poison); });
}

class ReferenceRun {
 public:
  ReferenceRun(const hip::Provider& provider, int device, const templates::SpecOperator& op,
               std::span<const std::byte> code, const PreparedProblem& prepared)
      : api_(provider.api()),
        op_(op),
        prepared_(prepared),
        stream_((hip::check(api_, api_.hipSetDevice(device), "hipSetDevice"), hip::make_stream(api_))),
        module_(hip::load_module(api_, code)),
        operands_(provider, prepared, {device, true}) {
    operands_.arrange_for(no_parameters);
    const std::vector<templates::View> views = operands_.views(0);
    launches_.push_back(op.given_reference_launch({&prepared.problem, views, &prepared.scalars, nullptr}));
    const auto& limits = provider.devices()[static_cast<std::size_t>(device)].limits;
    if (const auto reason = over_limits(launches_, limits)) refuse(*reason);
  }

  std::vector<HostTensor> run(int poison) {
    operands_.arrange_for(no_parameters);
    const std::vector<templates::View> views = operands_.views(0);
    for (std::size_t i = 0; i < prepared_.specs.size(); ++i) {
      if (prepared_.specs[i].role != Role::output) continue;
      const std::size_t bytes = prepared_.inputs[i].bytes().size();
      hip::check(api_, api_.hipMemset(views[i].data, poison, bytes), "hipMemset of an output");
    }
    hip::check(api_, api_.hipDeviceSynchronize(), "hipDeviceSynchronize after filling operands");
    LoadedLaunches(api_, module_, launches_).enqueue(stream_.get());
    hip::check(api_, api_.hipStreamSynchronize(stream_.get()), "hipStreamSynchronize after the reference kernel");
    if (const auto damage = operands_.damage(stream_.get())) refuse(*damage);
    return operands_.results();
  }

  /// `first` and `second` are the results over first_poison and second_poison.
  void check_written(const std::vector<HostTensor>& first, const std::vector<HostTensor>& second) const {
    std::size_t next = 0;
    for (const templates::KernelArgument& argument : op_.spec().arguments) {
      if (!argument.vector) continue;
      const std::size_t i = next++;
      if (!argument.compared) continue;
      const bool integer = templates::is_integer(argument.type.dtype);
      for (std::int64_t at = 0; at < first[i].count(); ++at) {
        if (argument.role == Role::output && untouched(first[i], at, first_poison) &&
            untouched(second[i], at, second_poison)) {
          refuse(fmt::format("it does not write {}[{}]; write all of it, or make it ReadWrite with a fill",
                             argument.name, at));
        }
        if (!integer && std::isnan(first[i].at(at))) {
          refuse(fmt::format("{}[{}] is NaN; an output that is added to must be ReadWrite with a fill", argument.name,
                             at));
        }
      }
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    fail(ErrorKind::device, "the reference, {}, cannot be used: {}", op_.reference_description(), reason);
  }

  const hip::Api& api_;
  const templates::SpecOperator& op_;
  const PreparedProblem& prepared_;
  hip::Stream stream_;
  hip::Module module_;
  OperandPool operands_;
  std::vector<templates::Launch> launches_;
};

}  // namespace

std::unique_ptr<const templates::SpecOperator> load_external(const std::filesystem::path& spec,
                                                             const std::string& source_hash) {
  auto op = std::make_unique<const templates::SpecOperator>(spec);
  if (templates::source_hash(*op) != source_hash) {
    fail(ErrorKind::bad_data, "{} or a file that it names was changed while it is tuned; start again", spec.string());
  }
  return op;
}

void run_reference(const hip::Provider& provider, int device, const templates::SpecOperator& op,
                   std::span<const std::byte> code, PreparedProblem& prepared) {
  ReferenceRun reference(provider, device, op, code, prepared);
  const std::vector<HostTensor> second = reference.run(second_poison);
  prepared.expected = reference.run(first_poison);
  reference.check_written(prepared.expected, second);
}

}  // namespace wavetune::measure
