#include "backends/instrument.h"

#include "tests/backends/sim_fixture.h"

namespace remaplab {
namespace {

const CallStats& Of(const CallTable& table, CallKind kind) { return table[static_cast<size_t>(kind)]; }

}  // namespace

BOOST_AUTO_TEST_SUITE(InstrumentTest)

BOOST_AUTO_TEST_CASE(calls_are_counted_and_timed_by_kind_and_phase) {
  SimOptions options;
  options.Cost("reserve.fixed=7").Cost("create.fixed=100").Cost("map.fixed=3").Cost("unmap.fixed=11");
  const auto sim = MakeSim(options);
  PhaseSwitch phase;
  Instrument instrument(*sim, &phase);
  MappedRange range(instrument, 2);
  phase.phase = Phase::kTeardown;
  Must(instrument.Unmap(range.base, range.size));
  const CallTable steps = instrument.Totals(Phase::kSteps);
  BOOST_TEST((Of(steps, CallKind::kReserve) == CallStats{1, 0, 7}));
  BOOST_TEST((Of(steps, CallKind::kMap) == CallStats{2, 0, 6}));
  BOOST_TEST((Of(steps, CallKind::kUnmap) == CallStats{}));
  BOOST_TEST((Of(steps, CallKind::kCreate) == CallStats{}));
  BOOST_TEST((Of(instrument.Totals(Phase::kAllocator), CallKind::kCreate) == CallStats{2, 0, 200}));
  BOOST_TEST((Of(instrument.Totals(Phase::kTeardown), CallKind::kUnmap) == CallStats{1, 0, 11}));
}

BOOST_AUTO_TEST_CASE(refused_calls_count_as_calls_and_as_failures) {
  const auto sim = MakeSim(SimOptions());
  Instrument instrument(*sim);
  BOOST_TEST(!instrument.Unmap(kChunk, kChunk));
  BOOST_TEST((Of(instrument.Totals(Phase::kSteps), CallKind::kUnmap) == CallStats{1, 1, 0}));
}

BOOST_AUTO_TEST_CASE(drain_visits_only_what_was_called_since_the_last_one) {
  const auto sim = MakeSim(SimOptions());
  Instrument instrument(*sim);
  Must(instrument.Launch({}));
  Must(instrument.Launch({}));
  Must(instrument.Reserve(kChunk, 0));
  std::vector<std::pair<CallKind, uint64_t>> visited;
  const auto visit = [&](Phase phase, CallKind kind, const CallStats& stats) {
    BOOST_TEST((phase == Phase::kSteps));
    visited.emplace_back(kind, stats.calls);
  };
  instrument.Drain(visit);
  BOOST_TEST((visited == std::vector<std::pair<CallKind, uint64_t>>{{CallKind::kReserve, 1}, {CallKind::kLaunch, 2}}));
  visited.clear();
  instrument.Drain(visit);
  BOOST_TEST(visited.empty());
  Must(instrument.Launch({}));
  instrument.Drain(visit);
  BOOST_TEST((visited == std::vector<std::pair<CallKind, uint64_t>>{{CallKind::kLaunch, 1}}));
  BOOST_TEST((Of(instrument.Totals(Phase::kSteps), CallKind::kLaunch).calls == 3u));
}

BOOST_AUTO_TEST_CASE(a_listener_sees_each_call_with_its_arguments_times_and_error) {
  struct Keep : CallListener {
    void OnCall(const CallRecord& record) override {
      records.push_back(record);
      errors.push_back(record.error == nullptr ? "" : record.error->message());
    }
    std::vector<CallRecord> records;
    std::vector<std::string> errors;
  } keep;
  SimOptions options;
  options.Cost("reserve.fixed=7");
  const auto sim = MakeSim(options);
  Instrument instrument(*sim);
  instrument.SetListener(&keep);
  const Address base = Must(instrument.Reserve(kChunk, 0));
  BOOST_TEST(!instrument.SetAccess(base, kChunk, 0));
  instrument.SetListener(nullptr);
  Must(instrument.AddressFree(base, kChunk));
  BOOST_REQUIRE(keep.records.size() == 2u);
  BOOST_TEST((keep.records[0].kind == CallKind::kReserve));
  BOOST_TEST(keep.records[0].address == base);
  BOOST_TEST(keep.records[0].size == kChunk);
  BOOST_TEST(keep.records[0].start == 0);
  BOOST_TEST(keep.records[0].end == 7);
  BOOST_TEST(keep.errors[0].empty());
  BOOST_TEST((keep.records[1].kind == CallKind::kSetAccess));
  BOOST_TEST(keep.records[1].device == 0);
  BOOST_TEST(keep.errors[1].find("set_access") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
