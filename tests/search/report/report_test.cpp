#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "db/base/error.h"
#include "db/base/file.h"
#include "runtime/process/subprocess.h"
#include "search/report/html.h"
#include "search/report/importance.h"
#include "search/report/live_report.h"
#include "search/report/report_page.h"

namespace wavetune::report {
namespace {

using testing::HasSubstr;
using testing::Not;

const db::Environment device = {"Test device", "gfx000", 8, "driver 1", "compiler", "2.0"};

/// What is wrong with the nesting of tags; empty when nothing is. Knows what the page uses: attributes in double
/// quotes,
/// "/>" for elements without content, style and script as raw text.
std::string fault_of(const std::string& html) {
  std::vector<std::string> open;
  std::size_t at = html.find('\n');
  if (html.rfind("<!DOCTYPE html>\n", 0) != 0) return "no doctype";
  while ((at = html.find_first_of("<>", at)) != std::string::npos) {
    const std::string where = " at '" + html.substr(at, 60) + "'";
    if (html[at] == '>') return "a lone >" + where;
    std::size_t end = at + 1;
    bool quoted = false;
    while (end < html.size() && (quoted || html[end] != '>')) {
      if (html[end] == '"') quoted = !quoted;
      if (html[end] == '<') return "a < inside a tag" + where;
      ++end;
    }
    if (end >= html.size()) return "a tag without end" + where;
    const std::string tag = html.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" \n/", 1));
    at = end + 1;
    if (tag.back() == '/') continue;
    if (tag.front() == '/') {
      if (open.empty() || "/" + open.back() != name) return "an end without a beginning" + where;
      open.pop_back();
      continue;
    }
    open.push_back(name);
    if (name == "style" || name == "script") at = html.find("</" + name + ">", at);
  }
  return open.empty() ? "" : "not closed: " + open.back();
}

class Report : public testing::Test {
 protected:
  db::Trial trial(db::Config config, double median_us, db::Outcome outcome = db::Outcome::ok) {
    db::Trial trial;
    trial.problem = {"gemm", "bf16", {{"k", 64}, {"m", 16}, {"n", 32}}};
    trial.config = std::move(config);
    trial.source_hash = "now";
    trial.outcome = outcome;
    trial.median_us = outcome == db::Outcome::ok ? median_us : 0;
    if (outcome == db::Outcome::ok) trial.samples_us = {median_us, median_us};
    trial.compile_ms = 1500;
    trial.created_at = "2026-11-30T12:00:" + std::to_string(10 + seconds_++) + ".000Z";
    return trial;
  }

  void add(const db::Trial& trial) { database_.add_trial(device, trial); }

  static ShapeFacts facts(const db::Environment&, const db::Problem& problem) {
    ShapeFacts facts;
    if (problem.op != "gemm") return facts;
    facts.roofline_us = 2.5;
    facts.roofline_source = "peak rates of the test";
    facts.default_config = db::Config{{"bm", 16}};
    return facts;
  }

  process::TemporaryDirectory folder_{"wavetune-report"};
  db::Database database_ = db::Database::open(folder_.path() / "t.db", db::OpenMode::create);
  int seconds_ = 0;
};

TEST_F(Report, ShowsTheNumbersOfTheDatabase) {
  database_.set_current_source("gemm", "now");
  add(trial({{"bm", 16}}, 10));
  add(trial({{"bm", 32}}, 0, db::Outcome::wrong));
  add(trial({{"bm", 64}}, 5));
  add(trial({{"bm", 128}}, 7));
  db::Trial old = trial({{"bm", 8}}, 1);
  old.source_hash = "before";
  add(old);
  db::Trial other = trial({{"rows", 4}}, 3);
  other.problem = {"silu_mul", "f32", {{"m", 4}}};
  add(other);

  const ReportData data = collect(database_, {}, facts);
  ASSERT_EQ(data.shapes.size(), 2u);
  EXPECT_EQ(data.trials, 5);
  EXPECT_EQ(data.other_sources, 1);
  const ShapeReport& gemm = data.shapes[0];
  const auto winner = database_.winner(device, gemm.problem);
  ASSERT_TRUE(winner.has_value());
  EXPECT_EQ(gemm.best_us, winner->median_us);
  EXPECT_EQ(gemm.best, winner->config);
  EXPECT_EQ(gemm.default_us, 10);
  EXPECT_EQ(gemm.times_us, (std::vector<double>{10, 0, 5, 7}));
  EXPECT_EQ(gemm.outcomes, (Outcomes{{db::Outcome::ok, 3}, {db::Outcome::wrong, 1}}));
  EXPECT_DOUBLE_EQ(gemm.spent.compile_s, 6);
  EXPECT_NEAR(gemm.spent.kernel_s, 2 * 22e-6, 1e-12);
  EXPECT_NEAR(gemm.spent.wall_s, 3, 1e-6) << "from its first trial to its last";
  EXPECT_NEAR(data.spent.wall_s, 4, 1e-6) << "the second shape's trial came two seconds later, one of them for another";
  EXPECT_EQ(data.outcomes.at("gemm/bf16"), gemm.outcomes);
  EXPECT_FALSE(data.shapes[1].facts.roofline_us.has_value());

  const std::string page = report_page(data, 0);
  EXPECT_EQ(fault_of(page), "");
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("reload")));
  for (const ShapeReport& shape : data.shapes) EXPECT_THAT(page, HasSubstr(shape.problem.key()));
  EXPECT_THAT(page, HasSubstr("<td class=\"n\">10</td><td class=\"n\">5</td><td class=\"n\">2.00x</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"n\">2.5</td><td class=\"n\">50.00 %</td><td><code>bm=64</code>"));
  EXPECT_THAT(page, HasSubstr("3 ok, 1 wrong"));
  EXPECT_THAT(page, HasSubstr("No roofline is stored"));
  EXPECT_THAT(page, HasSubstr("1 more trials were made with kernel sources that have changed"));
  EXPECT_THAT(page, HasSubstr("Test device"));
}

TEST_F(Report, TakesOnlyWhatIsAskedFor) {
  add(trial({{"bm", 16}}, 10));
  db::Trial other = trial({{"rows", 4}}, 3);
  other.problem = {"silu_mul", "f32", {{"m", 4}}};
  add(other);
  db::Environment elsewhere = device;
  elsewhere.device = "Another device";
  database_.add_trial(elsewhere, other);
  const auto shapes = [&](const ReportFilter& filter) { return collect(database_, filter, facts).shapes.size(); };
  EXPECT_EQ(shapes({}), 3u);
  EXPECT_EQ(shapes({{"gemm"}, {}}), 1u);
  EXPECT_EQ(shapes({{"silu_mul_f32"}, {}}), 2u);
  EXPECT_EQ(shapes({{"silu_mul_bf16"}, {}}), 0u);
  EXPECT_EQ(shapes({{}, elsewhere}), 1u);
}

TEST_F(Report, EverythingFromOutsideIsEscaped) {
  const std::string attack = "<script>alert('x' & \"y\")</script>";
  db::Trial planted = trial({{"a", 1}}, 10);
  planted.problem = {attack, "f32\" onload=\"x", {{"m", 4}}};
  add(planted);
  planted.config = {{"b<i>", 1}};
  planted.outcome = db::Outcome::compile_error;
  planted.median_us = 0;
  planted.samples_us.clear();
  planted.error = "</pre>" + attack + std::string("\x01\xff", 2);
  add(planted);
  ReportData data = collect(database_, {}, facts);
  data.database = "a<b>.db";
  data.shapes[0].best = {{"<u>", 1}};
  data.shapes[0].importance = {{"<b>", 0.5}};
  data.shapes[0].ok = fewest_trials;
  const std::string page = report_page(data, 0);
  EXPECT_EQ(fault_of(page), "");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("onload=\"x")));
  EXPECT_THAT(page, Not(HasSubstr("<u>")));
  EXPECT_THAT(page, Not(HasSubstr("</pre>&lt;script")));
  EXPECT_THAT(page, HasSubstr("&lt;/pre&gt;&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("a&lt;b&gt;.db"));
}

TEST_F(Report, AnEmptyDatabaseGivesAPageToo) {
  const std::string page = report_page(collect(database_, {}, facts), 0);
  EXPECT_EQ(fault_of(page), "");
  EXPECT_THAT(page, HasSubstr("There are no trials yet."));
}

TEST_F(Report, ALiveReportReloadsItselfUntilTheRunIsOver) {
  const auto file = folder_.path() / "report.html";
  LiveReport live(file, database_, {}, facts);
  EXPECT_THAT(read_file(file), HasSubstr("location.reload()"));
  EXPECT_EQ(fault_of(read_file(file)), "");
  add(trial({{"bm", 16}}, 10));
  live.update();
  EXPECT_THAT(read_file(file), HasSubstr("There are no trials yet.")) << "not with every trial";
  live.finish();
  EXPECT_THAT(read_file(file), HasSubstr("gemm/bf16/k=64,m=16,n=32"));
  EXPECT_THAT(read_file(file), Not(HasSubstr("reload")));
  EXPECT_THROW(LiveReport(folder_.path() / "absent" / "r.html", database_, {}, facts), Error);
}

TEST(Escape, ReplacesWhatIsNoText) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escape("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n"), "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n");
  EXPECT_EQ(escape("\x80"), bad);
  EXPECT_EQ(escape("\xe2\x82"), bad + bad);
  EXPECT_EQ(escape("\xc0\xbc"), bad + bad) << "an overlong <";
  EXPECT_EQ(escape(std::string("\0", 1)), bad);
}

TEST(Curve, GoesDownWithTheBestTimeAndShowsTheRoofline) {
  const std::string svg = curve_svg({0, 8, 9, 4, 0, 2}, 1);
  EXPECT_THAT(svg, HasSubstr("class=\"roofline\""));
  EXPECT_THAT(svg, HasSubstr("class=\"best\""));
  EXPECT_THAT(curve_svg({0, 8}, 0), Not(HasSubstr("roofline")));
  EXPECT_THAT(curve_svg({0, 0}, 1), HasSubstr("No trial has a time"));
  EXPECT_LT(curve_svg(std::vector<double>(100'000, 5.0), 1).size(), 100'000u);
}

TEST(MainEffects, FindTheParametersThatDecide) {
  std::mt19937 random(1);
  std::vector<std::pair<db::Config, double>> trials;
  for (int i = 0; i < 4 * 4 * 8; ++i) {
    const int a = i % 4;
    const int b = i / 4 % 4;
    const double noise = static_cast<double>(random() % 1000) / 1e5;
    trials.push_back({{{"a", a}, {"b", b}, {"c", i / 16}, {"same", 1}}, std::exp(1.0 * a + 0.5 * b + noise)});
  }
  const auto shares = main_effects(trials);
  ASSERT_EQ(shares.size(), 3u) << "a parameter with one value is left out";
  EXPECT_EQ(shares[0].name, "a");
  EXPECT_NEAR(shares[0].share, 0.8, 0.03);
  EXPECT_EQ(shares[1].name, "b");
  EXPECT_NEAR(shares[1].share, 0.2, 0.03);
  EXPECT_EQ(shares[2].name, "c");
  EXPECT_NEAR(shares[2].share, 0, 0.03);
}

TEST(MainEffects, SayNothingWhereThereIsNothing) {
  std::vector<std::pair<db::Config, double>> trials;
  for (int i = 0; i < static_cast<int>(fewest_trials) - 1; ++i) trials.push_back({{{"a", i}}, 1.0 + i});
  EXPECT_TRUE(main_effects(trials).empty()) << "too few";
  trials.push_back({{{"a", 99}}, 1.0});
  // One value a trial: grouping explains everything and means nothing.
  ASSERT_EQ(main_effects(trials).size(), 1u);
  EXPECT_EQ(main_effects(trials)[0].share, 0);
  for (auto& [config, time] : trials) time = 3;
  EXPECT_TRUE(main_effects(trials).empty()) << "equal times";
}

}  // namespace
}  // namespace wavetune::report
