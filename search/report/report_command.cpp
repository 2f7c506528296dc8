#include "search/report/report_command.h"

#include <fmt/format.h>

#include <iostream>

#include "db/base/command_line.h"
#include "db/base/error.h"
#include "db/base/file.h"
#include "search/driver/summary.h"
#include "search/layout/workload_options.h"
#include "search/report/report_facts.h"
#include "search/report/report_page.h"

namespace wavetune {
namespace {

namespace po = boost::program_options;

const CommandHelp help = {
    "report",
    "report --db FILE [--html FILE] [--op OPS]",
    "Shows what tuning found and how: winners against default configuration and roofline; as a page (--html) also\n"
    "the best time so far, outcomes, importance of parameters and time spent, for each shape. The page is one file\n"
    "without references to others.",
    {"wavetune report --db tuning.db", "wavetune report --db tuning.db --html report.html --op gemm,mla_attention"}};

std::string text_of(const report::ReportData& data) {
  std::vector<search::SummaryRow> rows;
  for (const report::ShapeReport& shape : data.shapes) {
    if (!(shape.best_us > 0)) continue;
    search::SummaryRow row;
    row.op = shape.problem.op + "/" + shape.problem.dtype;
    row.shape = db::to_text(shape.problem.dims);
    row.trials = static_cast<int>(shape.times_us.size());
    row.default_us = shape.default_us;
    row.best_us = shape.best_us;
    row.roofline_us = shape.facts.roofline_us.value_or(0);
    row.config = db::to_text(shape.best);
    rows.push_back(std::move(row));
  }
  return search::summary_text(rows, rows.size());
}

}  // namespace

int report_command(const std::vector<std::string>& arguments) {
  po::options_description options("Options");
  options.add_options()("db", po::value<std::string>()->required(), "tuning database")("html", po::value<std::string>(),
                                                                                       "write the page to this file")(
      "op", po::value<std::string>(), "only these operators, e.g. gemm,mla_attention_bf16");
  po::variables_map values;
  if (!parse_command_line(help, options, {}, arguments, values)) return 0;
  const db::Database database = db::Database::open(values["db"].as<std::string>(), db::OpenMode::read_only);
  report::ReportFilter filter;
  if (values.count("op") != 0) filter.ops = search::split_list(values["op"].as<std::string>());
  const report::ReportData data = report::collect(database, filter, report::known_facts());
  if (!filter.ops.empty() && data.shapes.empty())
    fail(ErrorKind::usage, "--op '{}': {} has no trial of it", values["op"].as<std::string>(), data.database);
  if (values.count("html") == 0) {
    std::cout << text_of(data) << std::flush;
    return 0;
  }
  const auto file = values["html"].as<std::string>();
  write_file_atomic(file, report::report_page(data, 0));
  fmt::print("{} trials of {} shapes are in {}\n", data.trials, data.shapes.size(), file);
  return 0;
}

}  // namespace wavetune
