#include "analysis/compare.h"

#include <functional>

#include "analysis/metrics.h"
#include "analysis/statistics.h"
#include "tests/analysis/support.h"

namespace remaplab {
namespace {

using namespace test;

// A simulated run as LoadRuns would give it.
RunRecord SimRun(const std::string& strategy = "skip_remap") {
  RunRecord run;
  run.uuid = strategy;
  run.status = "finished";
  run.trace = "tiny.remaptrace.zst";
  run.trace_xxh3 = "00";
  run.module = "jit_step_fn";
  run.strategy = strategy;
  run.backend = "sim";
  run.cost_profile = "h200";
  run.devices = 1;
  run.granularity = 2 << 20;
  run.steps = 30;
  run.slots = 4;
  run.step_ns = {1000, 29'000, 1000, 1000};
  At(run.calls[0], CallKind::kMap) = {62, 50'000};
  At(run.calls[0], CallKind::kLaunch) = {30, 9'000};
  return run;
}

RunRecord MeasuredRun(double step_ns) {
  RunRecord run = SimRun();
  run.backend = "hip";
  run.cost_profile.clear();
  run.measured = true;
  run.step_ns.median = static_cast<int64_t>(step_ns);
  run.step_ns.total = run.step_ns.median * 29;
  return run;
}

std::vector<RunRecord> MeasuredRuns(size_t n, double level, double noise, uint64_t seed) {
  Random random(seed);
  std::vector<RunRecord> runs;
  for (size_t i = 0; i < n; ++i) {
    runs.push_back(MeasuredRun(level * (1 + noise * random.Normal())));
  }
  return runs;
}

const Verdict& Of(const Comparison& comparison, const std::string& metric) {
  BOOST_REQUIRE_EQUAL(comparison.pairs.size(), 1u);
  for (const Verdict& verdict : comparison.pairs[0].verdicts) {
    if (verdict.metric == metric) {
      return verdict;
    }
  }
  BOOST_FAIL("no verdict on " << metric);
  return comparison.pairs[0].verdicts[0];
}

Comparison CompareOne(RunRecord base, RunRecord cand) { return Compare({std::move(base)}, {std::move(cand)}, {}, {}); }

// The noise model of a small study on real machines: per-step noise 3 %, per-process offset 1 %, a drift that wanders
// by 0.6 % per process run, and 5 % of the steps with a spike.
class NoisyMachine {
 public:
  explicit NoisyMachine(uint64_t seed) : random_(seed) {}

  // The median step of one process run.
  double ProcessMedian(double level) {
    drift_ += 0.006 * random_.Normal();
    const double process = level * (1 + drift_) * (1 + 0.01 * random_.Normal());
    std::vector<double> steps(50);
    for (double& step : steps) {
      step = process * (1 + 0.03 * random_.Normal());
      step *= random_.Unit() < 0.05 ? 1.5 + random_.Unit() : 1;
    }
    return Median(steps);
  }

 private:
  Random random_;
  double drift_ = 0;
};

// A B B A A B B A ..., `pairs` process runs on each side.
Comparison AbbaTrial(uint64_t seed, size_t pairs, double shift) {
  NoisyMachine machine(seed);
  std::vector<RunRecord> base;
  std::vector<RunRecord> cand;
  for (size_t i = 0; i < pairs; ++i) {
    const bool base_first = i % 2 == 0;
    for (const bool is_base : {base_first, !base_first}) {
      RunRecord run = MeasuredRun(machine.ProcessMedian(is_base ? 1e9 : 1e9 * shift));
      run.calls = {};  // one metric: the step
      (is_base ? base : cand).push_back(std::move(run));
    }
  }
  CompareOptions options;
  options.seed = seed;
  return Compare(std::move(base), std::move(cand), {}, options);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(CompareTest)

BOOST_AUTO_TEST_CASE(equal_simulated_runs_pass_on_every_metric) {
  const Comparison comparison = CompareOne(SimRun(), SimRun());
  BOOST_REQUIRE_EQUAL(comparison.pairs.size(), 1u);
  BOOST_TEST(comparison.Count(VerdictResult::kPass) == comparison.pairs[0].verdicts.size());
  BOOST_TEST(comparison.pairs[0].verdicts.size() > 10u);
  BOOST_TEST(GateExitCode(comparison, false) == 0);
}

BOOST_AUTO_TEST_CASE(one_call_more_is_a_regression) {
  RunRecord cand = SimRun();
  At(cand.calls[0], CallKind::kMap).n += 1;
  const Comparison comparison = CompareOne(SimRun(), cand);
  BOOST_TEST((Of(comparison, "calls/map").result == VerdictResult::kRegression));
  BOOST_TEST(Of(comparison, "calls/map").reason == "62 to 63 (+1)");
  BOOST_TEST(comparison.Count(VerdictResult::kRegression) == 1u);
  BOOST_TEST(GateExitCode(comparison, false) == 1);
}

BOOST_AUTO_TEST_CASE(a_call_of_a_new_kind_in_teardown_is_a_regression) {
  RunRecord cand = SimRun();
  At(cand.calls[static_cast<size_t>(RunPhase::kTeardown)], CallKind::kUnmap).n = 1;
  BOOST_TEST((Of(CompareOne(SimRun(), cand), "teardown/unmap").result == VerdictResult::kRegression));
}

BOOST_AUTO_TEST_CASE(one_simulated_nanosecond_more_is_a_regression) {
  RunRecord cand = SimRun();
  cand.step_ns.total += 1;
  const Comparison comparison = CompareOne(SimRun(), cand);
  BOOST_TEST((Of(comparison, "step_ns/total").result == VerdictResult::kRegression));
  BOOST_TEST(GateExitCode(comparison, false) == 1);
}

BOOST_AUTO_TEST_CASE(fewer_calls_are_an_improvement_and_exit_code_0) {
  RunRecord cand = SimRun();
  At(cand.calls[0], CallKind::kMap).n -= 2;
  const Comparison comparison = CompareOne(SimRun(), cand);
  BOOST_TEST((Of(comparison, "calls/map").result == VerdictResult::kImprovement));
  BOOST_TEST(GateExitCode(comparison, false) == 0);
}

BOOST_AUTO_TEST_CASE(large_byte_counts_are_compared_exactly) {
  RunRecord base = SimRun();
  RunRecord cand = SimRun();
  base.peak_reserved = (int64_t{1} << 50) + 1;
  cand.peak_reserved = (int64_t{1} << 50) + 2;
  BOOST_TEST((Of(CompareOne(base, cand), "memory/peak_reserved").result == VerdictResult::kRegression));
}

BOOST_AUTO_TEST_CASE(runs_without_partner_are_exit_code_4_unless_allowed) {
  const Comparison comparison =
      Compare({SimRun("skip_remap"), SimRun("full_remap")}, {SimRun("skip_remap")}, {}, CompareOptions());
  BOOST_REQUIRE_EQUAL(comparison.only_base.size(), 1u);
  BOOST_TEST(comparison.only_base[0].find("full_remap") != std::string::npos);
  BOOST_TEST(GateExitCode(comparison, false) == 4);
  BOOST_TEST(GateExitCode(comparison, true) == 0);
}

BOOST_AUTO_TEST_CASE(no_pair_at_all_is_exit_code_4) {
  RunRecord cand = SimRun();
  cand.granularity = 4096;
  const Comparison comparison = CompareOne(SimRun(), cand);
  BOOST_TEST(comparison.pairs.empty());
  BOOST_TEST(comparison.only_base[0].find("granularity 2097152 and 4096") != std::string::npos);
  BOOST_TEST(GateExitCode(comparison, true) == 4);
}

BOOST_AUTO_TEST_CASE(every_part_of_the_configuration_keeps_runs_apart) {
  const std::vector<std::function<void(RunRecord&)>> changes = {
      [](RunRecord& run) { run.trace_xxh3 = "11"; },     [](RunRecord& run) { run.module = "other"; },
      [](RunRecord& run) { run.program = 9; },           [](RunRecord& run) { run.device = 1; },
      [](RunRecord& run) { run.strategy = "no_remap"; }, [](RunRecord& run) { run.backend = "null"; },
      [](RunRecord& run) { run.driver_profile = "x"; },  [](RunRecord& run) { run.cost_profile = "zero"; },
      [](RunRecord& run) { run.devices = 8; },           [](RunRecord& run) { run.gpu_step_option_ns = 5; },
      [](RunRecord& run) { run.host_step_ns = 1; },      [](RunRecord& run) { run.run_ahead = 2; },
      [](RunRecord& run) { run.scale = "1/8"; },         [](RunRecord& run) { run.slot_filter = "command-buffer"; }};
  for (const auto& change : changes) {
    RunRecord cand = SimRun();
    change(cand);
    BOOST_TEST(CompareOne(SimRun(), cand).pairs.empty());
  }
}

BOOST_AUTO_TEST_CASE(another_number_of_steps_is_invalid) {
  RunRecord cand = SimRun();
  cand.steps = 31;
  BOOST_TEST(GateExitCode(CompareOne(SimRun(), cand), false) == 4);
}

BOOST_AUTO_TEST_CASE(a_cost_profile_whose_content_changed_is_invalid) {
  RunRecord cand = SimRun();
  cand.cost_profile_params = "{\"map\":1}";
  const Comparison comparison = CompareOne(SimRun(), cand);
  BOOST_TEST((Of(comparison, "cost_profile").result == VerdictResult::kInvalid));
  BOOST_TEST(GateExitCode(comparison, false) == 4);
}

BOOST_AUTO_TEST_CASE(two_strategies_are_compared_when_asked) {
  CompareOptions options;
  options.across_strategies = true;
  RunRecord cand = SimRun("skip_remap");
  At(cand.calls[0], CallKind::kMap).n = 10;
  const Comparison comparison = Compare({SimRun("full_remap")}, {cand}, {}, options);
  BOOST_REQUIRE_EQUAL(comparison.pairs.size(), 1u);
  BOOST_TEST(comparison.pairs[0].what.find("full_remap to skip_remap") != std::string::npos);
  BOOST_TEST((Of(comparison, "calls/map").result == VerdictResult::kImprovement));
}

BOOST_AUTO_TEST_CASE(the_latest_simulated_run_stands_for_its_configuration_unless_another_was_accepted) {
  RunRecord old_base = SimRun();
  RunRecord new_base = SimRun();
  At(new_base.calls[0], CallKind::kMap).n += 5;
  BOOST_TEST(GateExitCode(Compare({old_base, new_base}, {new_base}, {}, {}), false) == 0);
  old_base.accepted = 1;
  BOOST_TEST(GateExitCode(Compare({old_base, new_base}, {new_base}, {}, {}), false) == 1);
  new_base.accepted = 2;
  BOOST_TEST(GateExitCode(Compare({old_base, new_base}, {new_base}, {}, {}), false) == 0);
}

BOOST_AUTO_TEST_CASE(a_clear_slow_down_of_measured_runs_is_a_regression_and_the_mirror_an_improvement) {
  const auto fast = MeasuredRuns(8, 1e9, 0.005, 1);
  const auto slow = MeasuredRuns(8, 1.06e9, 0.005, 2);
  const Comparison worse = Compare(fast, slow, {}, {});
  const Verdict& verdict = Of(worse, "step_ns/median");
  BOOST_TEST((verdict.result == VerdictResult::kRegression));
  BOOST_TEST(*verdict.ratio > 1.05);
  BOOST_TEST(*verdict.low > 1.005);
  BOOST_TEST(*verdict.p < 0.05);
  BOOST_TEST(*verdict.floor == 0.02);
  BOOST_TEST(GateExitCode(worse, false) == 1);
  const Comparison better = Compare(slow, fast, {}, {});
  BOOST_TEST((Of(better, "step_ns/median").result == VerdictResult::kImprovement));
  BOOST_TEST(GateExitCode(better, false) == 0);
}

BOOST_AUTO_TEST_CASE(measured_runs_with_a_wide_interval_are_ambiguous) {
  const Comparison comparison = Compare(MeasuredRuns(6, 1e9, 0.08, 3), MeasuredRuns(6, 1.03e9, 0.08, 4), {}, {});
  BOOST_TEST((Of(comparison, "step_ns/median").result == VerdictResult::kAmbiguous));
  BOOST_TEST(GateExitCode(comparison, false) == 3);
}

BOOST_AUTO_TEST_CASE(fewer_than_five_process_runs_are_invalid) {
  const Comparison comparison = Compare(MeasuredRuns(4, 1e9, 0.001, 1), MeasuredRuns(8, 2e9, 0.001, 2), {}, {});
  BOOST_TEST((Of(comparison, "step_ns/median").result == VerdictResult::kInvalid));
  BOOST_TEST(GateExitCode(comparison, false) == 4);
}

BOOST_AUTO_TEST_CASE(throttled_or_foreign_devices_are_invalid_not_slow) {
  auto cand = MeasuredRuns(8, 1.2e9, 0.001, 2);
  cand[3].throttled = true;
  BOOST_TEST(GateExitCode(Compare(MeasuredRuns(8, 1e9, 0.001, 1), cand, {}, {}), false) == 4);
  cand[3].throttled = false;
  cand[3].device_class = "other";
  BOOST_TEST(GateExitCode(Compare(MeasuredRuns(8, 1e9, 0.001, 1), cand, {}, {}), false) == 4);
}

BOOST_AUTO_TEST_CASE(noisy_runs_beside_themselves_raise_the_floor) {
  auto floor_runs = MeasuredRuns(40, 1e9, 0.06, 9);
  for (RunRecord& run : floor_runs) {
    run.tag = kSelfComparisonTag;
  }
  const auto base = MeasuredRuns(8, 1e9, 0.003, 1);
  const auto cand = MeasuredRuns(8, 1.03e9, 0.003, 2);
  BOOST_TEST((Of(Compare(base, cand, {}, {}), "step_ns/median").result == VerdictResult::kRegression));
  const Comparison raised = Compare(base, cand, floor_runs, {});
  BOOST_TEST(*Of(raised, "step_ns/median").floor > 0.03);
  BOOST_TEST((Of(raised, "step_ns/median").result != VerdictResult::kRegression));
}

BOOST_AUTO_TEST_CASE(p_values_are_adjusted_for_everything_that_is_gated_together) {
  auto base = MeasuredRuns(8, 1e9, 0.005, 1);
  auto cand = MeasuredRuns(8, 1.06e9, 0.005, 2);
  const double together = *Of(Compare(base, cand, {}, {}), "step_ns/median").p;
  for (auto* side : {&base, &cand}) {
    for (RunRecord& run : *side) {
      run.calls = {};
    }
  }
  const double alone = *Of(Compare(base, cand, {}, {}), "step_ns/median").p;
  BOOST_TEST(alone == 2.0 / 12870, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(together == 3 * alone, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(the_gate_rarely_cries_wolf_and_sees_five_percent) {
  constexpr int kTrials = 200;
  constexpr size_t kProcesses = 12;
  int false_alarms = 0;
  int seen = 0;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    false_alarms += GateExitCode(AbbaTrial(2 * trial, kProcesses, 1.0), false) == 1 ? 1 : 0;
    seen += GateExitCode(AbbaTrial(2 * trial + 1, kProcesses, 1.05), false) == 1 ? 1 : 0;
  }
  BOOST_TEST_MESSAGE("A/A false alarms " << false_alarms << ", 5 % shifts seen " << seen << " of " << kTrials);
  BOOST_TEST(false_alarms < 0.01 * kTrials);
  BOOST_TEST(seen > 0.95 * kTrials);
}

BOOST_AUTO_TEST_CASE(verdicts_are_stored_with_rule_version_and_seed) {
  const TemporaryDirectory directory;
  const std::string path = directory.File("r.sqlite");
  Store store = Must(Store::OpenForWriting(path));
  CompareOptions options;
  options.seed = 77;
  Must(StoreVerdicts(store, Compare(MeasuredRuns(8, 1e9, 0.005, 1), MeasuredRuns(8, 1.06e9, 0.005, 2), {}, options),
                     "remaplab gate a b"));
  Must(store.Close());
  BOOST_TEST(Query(path,
                   "SELECT result, rule, rule_version, seed, gate, base_runs LIKE '[\"skip_remap\",%' FROM "
                   "v_verdict WHERE metric = 'step_ns/median'") ==
                 std::vector<std::string>{"regression|bootstrap+mann-whitney|1|77|remaplab gate a b|1"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(runs_are_selected_by_id_tag_revision_strategy_and_program) {
  const TemporaryDirectory directory;
  Store store = Must(Store::OpenForWriting(directory.File("r.sqlite")));
  RunInfo tagged = ExampleInfo("full_remap");
  tagged.tag = "after";
  AddRun(store, ExampleInfo(), ExampleSummary());
  const RunId second = AddRun(store, tagged, ExampleSummary());
  Must(store.BeginRun(ExampleInfo()));  // never ends: never selected
  const auto count = [&](RunSelection selection) { return Must(LoadRuns(store, selection)).size(); };
  BOOST_TEST(count({}) == 2u);
  RunSelection selection;
  selection.tags = {"after"};
  BOOST_TEST(count(selection) == 1u);
  selection.strategies = {"skip_remap"};
  BOOST_TEST(count(selection) == 0u);
  selection = {};
  selection.runs = {Must(store.RunUuid(second)).substr(0, 8)};
  BOOST_TEST(count(selection) == 1u);
  selection = {};
  selection.strategies = {"nonsense"};
  const auto failed = LoadRuns(store, selection);
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().message().find("full_remap, skip_remap") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_run_read_back_has_every_number_that_was_written) {
  const TemporaryDirectory directory;
  Store store = Must(Store::OpenForWriting(directory.File("r.sqlite")));
  RunSummary summary = ExampleSummary();
  summary.remap_ns = {1, 2, 3, 4};
  summary.oracle_ns = 99;
  summary.stale_mappings = 5;
  summary.samples = {{"map", {1500, 1, 2, 3, 4, 5, 6, 7, 8}}};
  AddRun(store, ExampleInfo(), summary);
  const RunRecord run = Must(LoadRuns(store, {})).at(0);
  BOOST_TEST(*MetricValue(run, "calls/map") == 62);
  BOOST_TEST(*MetricValue(run, "teardown/address_free") == 1);
  BOOST_TEST(*MetricValue(run, "remap_ns/p99") == 4);
  BOOST_TEST(*MetricValue(run, "call_ns/map/p99") == 5);
  BOOST_TEST(*MetricValue(run, "call_ns/unmap/mean") == 50'000.0 / 29);
  BOOST_TEST(!MetricValue(run, "call_ns/update/mean"));
  BOOST_TEST(*MetricValue(run, "memory/bytes_mapped") == 8 << 20);
  BOOST_TEST(*run.oracle_ns == 99);
  BOOST_TEST(run.stale_mappings == 5);
  BOOST_TEST(run.cost_profile_params == R"({"map":900})");
}

BOOST_AUTO_TEST_CASE(every_metric_name_is_accepted_and_a_wrong_one_names_similar_ones) {
  for (const std::string& name : MetricNames()) {
    Must(CheckMetricName(name));
  }
  const Status wrong = CheckMetricName("step_ns/mode");
  BOOST_REQUIRE(!wrong);
  BOOST_TEST(wrong.error().message().find("step_ns/median") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
