#include "analysis/recommend.h"

#include <cmath>

#include "analysis/history.h"
#include "tests/analysis/support.h"

namespace remaplab {
namespace {

using namespace test;

RunRecord Run(const std::string& strategy, int64_t step_ns) {
  RunRecord run;
  run.status = "finished";
  run.trace = "t";
  run.module = "jit_train_step";
  run.strategy = strategy;
  run.backend = "sim";
  run.cost_profile = "h200";
  run.cost_profile_quality = "measured";
  run.cost_profile_params = "p";
  run.steps = 31;
  run.gpu_step_ns = 500;
  run.step_ns = {step_ns, step_ns * 30, step_ns, step_ns};
  At(run.calls[0], CallKind::kMap) = {31, step_ns * 31};
  return run;
}

Recommendation One(std::vector<RunRecord> runs, const ProfileErrors& errors = {},
                   const RecommendOptions& options = {}) {
  const std::vector<Recommendation> all = Recommend(runs, errors, options);
  BOOST_REQUIRE_EQUAL(all.size(), 1u);
  return all[0];
}

std::string Best(const Recommendation& recommendation) {
  return recommendation.best ? recommendation.strategies[*recommendation.best].run.strategy : "";
}

bool HasCaveat(const Recommendation& recommendation, std::string_view words) {
  return std::any_of(recommendation.caveats.begin(), recommendation.caveats.end(),
                     [&](const std::string& caveat) { return caveat.find(words) != std::string::npos; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RecommendTest)

BOOST_AUTO_TEST_CASE(the_fastest_safe_strategy_is_recommended_with_its_saving) {
  const Recommendation advice = One({Run("full_remap", 2000), Run("skip_remap", 1000)});
  BOOST_TEST(Best(advice) == "skip_remap");
  BOOST_TEST(
      advice.headline.find("Use skip_remap: 1.000 us per step, which saves 1.000 us (50.0 %) against full_remap") !=
      std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_saving_is_told_against_what_runs_by_default) {
  const Recommendation advice = One({Run("full_remap", 2000), Run("no_remap", 1500), Run("skip_remap", 1000)});
  BOOST_TEST(advice.strategies[advice.reference].run.strategy == "no_remap");
}

BOOST_AUTO_TEST_CASE(what_read_stale_memory_failed_or_assumed_is_not_recommended) {
  for (int64_t RunRecord::*flaw : {&RunRecord::stale_mappings, &RunRecord::failed_steps,
                                   &RunRecord::verification_failures, &RunRecord::skips_on_assumption}) {
    RunRecord fast = Run("skip_remap", 1000);
    fast.*flaw = 1;
    const Recommendation advice = One({Run("full_remap", 2000), fast});
    BOOST_TEST(Best(advice) == "full_remap");
    BOOST_TEST(HasCaveat(advice, "skip_remap is faster (1.000 us per step) but not safe"));
  }
  BOOST_TEST(Best(One({Run("full_remap", 2000), Run("skip_remap(identity=address)", 1000)})) == "full_remap");
}

BOOST_AUTO_TEST_CASE(nothing_safe_is_said_to_be_nothing) {
  RunRecord run = Run("skip_remap", 1000);
  run.stale_mappings = 1;
  BOOST_TEST(Best(One({run})).empty());
}

BOOST_AUTO_TEST_CASE(the_memory_budget_excludes_what_holds_more) {
  RunRecord hungry = Run("skip_remap+copy_shadow(threshold=65536)", 900);
  hungry.shadow_bytes = 600;
  hungry.retained_bytes = 500;
  RecommendOptions options;
  BOOST_TEST(Best(One({Run("full_remap", 2000), hungry}, {}, options)) == hungry.strategy);
  options.memory_budget = 1099;
  BOOST_TEST(Best(One({Run("full_remap", 2000), hungry}, {}, options)) == "full_remap");
}

BOOST_AUTO_TEST_CASE(of_equally_fast_ones_the_one_that_holds_less_is_better) {
  RunRecord hungry = Run("a", 1000);
  hungry.shadow_bytes = 1;
  BOOST_TEST(Best(One({hungry, Run("b", 1000)})) == "b");
}

BOOST_AUTO_TEST_CASE(an_uncalibrated_or_fitted_profile_is_never_silent) {
  for (const std::string quality : {"uncalibrated", "fitted"}) {
    RunRecord run = Run("skip_remap", 1000);
    run.cost_profile_quality = quality;
    BOOST_TEST(HasCaveat(One({run}), quality));
  }
  BOOST_TEST(HasCaveat(One({Run("skip_remap", 1000)}), "simulated"));
}

BOOST_AUTO_TEST_CASE(uncertainty_of_simulated_savings_is_the_residuals_on_the_calls_that_differ) {
  const ProfileErrors errors = {{"p", {{"map", 0.1}}}};
  const Recommendation advice = One({Run("full_remap", 2000), Run("skip_remap", 1000)}, errors);
  BOOST_TEST(*advice.strategies[advice.reference].saving_of_best.uncertainty == 100,
             boost::test_tools::tolerance(1e-9));
  const Recommendation unknown = One({Run("full_remap", 2000), Run("skip_remap", 1000)});
  BOOST_TEST(!unknown.strategies[unknown.reference].saving_of_best.uncertainty);
}

BOOST_AUTO_TEST_CASE(measured_savings_need_five_process_runs_for_an_uncertainty) {
  std::vector<RunRecord> runs;
  for (int i = 0; i < 6; ++i) {
    for (RunRecord run : {Run("full_remap", 2000 + i), Run("skip_remap", 1000 + i)}) {
      run.measured = true;
      runs.push_back(run);
    }
  }
  BOOST_TEST(One(runs).strategies[1].saving_of_best.uncertainty.has_value());
  runs.resize(4);
  BOOST_TEST(!One(runs).strategies[1].saving_of_best.uncertainty.has_value());
}

BOOST_AUTO_TEST_CASE(residuals_are_read_from_the_profile_in_the_store) {
  const TemporaryDirectory directory;
  Store store = Must(Store::OpenForWriting(directory.File("r.sqlite")));
  RunInfo info = ExampleInfo();
  info.cost_profile.json = R"({"residuals":[{"kind":"map","predicted_ns":100,"measured_ns":130},
                                            {"kind":"map","predicted_ns":100,"measured_ns":60}]})";
  AddRun(store, info, ExampleSummary());
  const ProfileErrors errors = Must(LoadProfileErrors(store));
  BOOST_TEST(errors.at(info.cost_profile.json).at("map") == std::sqrt(0.125), boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(flags_are_those_of_the_release) {
  const auto at = [](std::string_view strategy, std::string_view jaxlib, XlaPlatform platform) {
    return XlaFlagsFor(strategy, "", platform).at(Must(XlaRowOf(jaxlib)));
  };
  BOOST_TEST(at("skip_profiled(steps=3)", "0.11.2", XlaPlatform::kCuda).flags ==
             "--xla_gpu_command_buffer_update_mode=SKIP_PROFILED");
  BOOST_TEST(at("skip_profiled(steps=3)", "0.11.0", XlaPlatform::kCuda).note == "not available before 0.11.1");
  BOOST_TEST(at("skip_temp", "0.10.2", XlaPlatform::kCuda).note == "not available before 0.11.0");
  BOOST_TEST(at("full_remap", "0.10.1", XlaPlatform::kCuda).flags ==
             "--xla_gpu_command_buffer_update_mode=NEVER_UPDATE");
  BOOST_TEST(!at("full_remap", "0.10.1", XlaPlatform::kRocm).available);
  BOOST_TEST(at("no_remap", "0.9.1", XlaPlatform::kRocm).available);
  BOOST_TEST(at("no_remap", "0.9.1", XlaPlatform::kRocm).flags.empty());
  BOOST_TEST(at("skip_remap+copy_shadow(threshold=65536)", "pr1001", XlaPlatform::kRocm).flags ==
             "--xla_gpu_command_buffer_update_mode=NEVER_UPDATE "
             "--xla_gpu_experimental_command_buffer_vmm_copy_threshold_bytes=65536");
  BOOST_TEST(XlaFlagsFor("skip_remap+copy_shadow(threshold=auto)", "threshold=4096", XlaPlatform::kRocm)
                 .back()
                 .flags.ends_with("=4096"));
  BOOST_TEST(!at("cached_sets(k=4)", "0.12.0", XlaPlatform::kCuda).available);
  BOOST_TEST(!XlaRowOf("newest"));
  BOOST_TEST(!XlaRowOf("0"));
}

BOOST_AUTO_TEST_CASE(what_a_jaxlib_can_do_is_told_beside_what_is_best) {
  RecommendOptions options;
  options.xla_row = Must(XlaRowOf("0.11.2"));
  const Recommendation advice =
      One({Run("skip_remap", 1000), Run("skip_profiled(steps=3)", 1200), Run("no_remap", 1500)}, {}, options);
  BOOST_TEST(Best(advice) == "skip_remap");
  BOOST_REQUIRE(advice.best_available.has_value());
  BOOST_TEST(advice.strategies[*advice.best_available].run.strategy == "skip_profiled(steps=3)");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(HistoryTest)

BOOST_AUTO_TEST_CASE(a_simulated_metric_changes_where_its_value_does) {
  std::vector<RunRecord> runs;
  for (int i = 0; i < 6; ++i) {
    runs.push_back(Run("skip_remap", i < 3 ? 1000 : 1001));
    runs.back().start = i;
    runs.back().git_revision = "r" + std::to_string(i / 2);
  }
  const auto by_date = MakeHistory(runs, "step_ns/median", HistoryAxis::kDate, 1);
  BOOST_REQUIRE_EQUAL(by_date.size(), 1u);
  BOOST_TEST(by_date[0].exact);
  BOOST_TEST(by_date[0].points.size() == 6u);
  BOOST_REQUIRE_EQUAL(by_date[0].changes.size(), 1u);
  BOOST_TEST(by_date[0].changes[0].index == 3u);
  const auto by_revision = MakeHistory(runs, "step_ns/median", HistoryAxis::kRevision, 1);
  BOOST_TEST(by_revision[0].points.size() == 3u);
  BOOST_TEST(by_revision[0].points[1].value == 1000.5);
  BOOST_TEST(by_revision[0].points[1].runs == 2u);
}

BOOST_AUTO_TEST_CASE(each_configuration_is_a_series_and_runs_without_the_metric_are_left_out) {
  std::vector<RunRecord> runs = {Run("skip_remap", 1000), Run("full_remap", 2000)};
  BOOST_TEST(MakeHistory(runs, "calls/map", HistoryAxis::kDate, 1).size() == 2u);
  BOOST_TEST(MakeHistory(runs, "call_ns/update/mean", HistoryAxis::kDate, 1).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
