#include "db/transfer/csv_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "db/base/csv.h"

namespace wavetune::db {
namespace {

constexpr std::string_view header =
    "winner,device,arch,cu_count,driver,compiler,compiler_version,op,dtype,dims,config,outcome,median_us,min_us,max_us,"
    "samples,compile_ms,max_error,vgpr,agpr,sgpr,lds_bytes,scratch_bytes,spills,occupancy,clock_mhz,power_w,"
    "temperature_c,throttled,"
    "source_hash,created_at,machine,error\n";

/// One line, built cell by cell.
class Row {
 public:
  Row& add(std::string_view text) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += csv_cell(text);
    return *this;
  }
  Row& add(double value) { return add(std::string_view(fmt::format("{}", value))); }
  Row& add(int value) { return add(std::string_view(fmt::format("{}", value))); }
  Row& add(const std::optional<int>& value) { return value ? add(*value) : add(std::string_view()); }
  const std::string& end() { return line_ += '\n'; }

 private:
  std::string line_;
  bool first_ = true;
};

std::string row_of(const StoredTrial& stored) {
  const Trial& trial = stored.trial;
  const Environment& environment = stored.environment;
  Row row;
  row.add(stored.winner ? 1 : 0);
  row.add(environment.device).add(environment.arch).add(environment.cu_count).add(environment.driver);
  row.add(environment.compiler).add(environment.compiler_version);
  row.add(trial.problem.op).add(trial.problem.dtype).add(to_text(trial.problem.dims)).add(to_text(trial.config));
  row.add(to_string(trial.outcome));
  if (trial.outcome == Outcome::ok) {
    row.add(trial.median_us);
  } else {
    row.add("");
  }
  const auto& samples = trial.samples_us;
  if (samples.empty()) {
    row.add("").add("");
  } else {
    row.add(*std::min_element(samples.begin(), samples.end())).add(*std::max_element(samples.begin(), samples.end()));
  }
  row.add(static_cast<int>(samples.size())).add(trial.compile_ms).add(trial.max_error);
  const Resources& resources = trial.resources;
  row.add(resources.vgpr).add(resources.agpr).add(resources.sgpr);
  row.add(resources.lds_bytes).add(resources.scratch_bytes).add(resources.spills).add(resources.occupancy);
  const DeviceState& state = trial.state;
  row.add(state.clock_mhz).add(state.power_w).add(state.temperature_c).add(state.throttled);
  row.add(trial.source_hash).add(trial.created_at).add(trial.machine).add(trial.error);
  return row.end();
}

}  // namespace

void export_csv(const Database& database, std::ostream& out) {
  out << header;
  database.visit_trials({}, [&out](const StoredTrial& stored) { out << row_of(stored); });
}

}  // namespace wavetune::db
