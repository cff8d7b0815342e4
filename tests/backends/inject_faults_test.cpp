#include "backends/inject_faults.h"

#include "backends/instrument.h"
#include "tests/backends/sim_fixture.h"

namespace remaplab {
namespace {

FaultSpec Spec(std::string_view text) { return Must(ParseFaultSpec(text)); }

// Which of the first `count` reserves fail.
std::vector<int> FailingReserves(const std::vector<FaultSpec>& specs, int count) {
  const auto sim = MakeSim(SimOptions());
  InjectFaults faults(*sim, specs, nullptr);
  std::vector<int> failing;
  for (int call = 1; call <= count; ++call) {
    if (!faults.Reserve(kChunk, 0)) {
      failing.push_back(call);
    }
  }
  return failing;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(InjectFaultsTest)

BOOST_AUTO_TEST_CASE(call_n_of_a_kind_fails_and_no_other) {
  BOOST_TEST((FailingReserves({Spec("reserve:call=3")}, 10) == std::vector<int>{3}));
  BOOST_TEST((FailingReserves({Spec("reserve:call=3"), Spec("reserve:call=5"), Spec("map:call=1")}, 10) ==
              std::vector<int>{3, 5}));
}

BOOST_AUTO_TEST_CASE(a_rate_fails_about_that_often_and_the_same_calls_for_the_same_seed) {
  const auto failing = FailingReserves({Spec("reserve:rate=0.1,seed=3")}, 2000);
  BOOST_TEST(failing.size() > 150u);
  BOOST_TEST(failing.size() < 250u);
  BOOST_TEST((failing == FailingReserves({Spec("reserve:rate=0.1,seed=3")}, 2000)));
  BOOST_TEST((failing != FailingReserves({Spec("reserve:rate=0.1,seed=4")}, 2000)));
  BOOST_TEST(FailingReserves({Spec("reserve:rate=0")}, 100).empty());
  BOOST_TEST(FailingReserves({Spec("reserve:rate=1")}, 100).size() == 100u);
}

BOOST_AUTO_TEST_CASE(an_injected_failure_never_reaches_the_backend_and_says_what_it_is) {
  const auto sim = MakeSim(SimOptions());
  const std::vector<FaultSpec> specs = {Spec("reserve:call=1")};
  InjectFaults faults(*sim, specs, nullptr);
  const auto result = faults.Reserve(kChunk, 0);
  BOOST_REQUIRE(!result);
  BOOST_TEST((result.error().code() == ErrorCode::kDriver));
  BOOST_TEST(result.error().message() == "injected fault: reserve call 1");
  BOOST_TEST(sim->outstanding().empty());
  BOOST_TEST(faults.injected() == 1u);
}

BOOST_AUTO_TEST_CASE(cleanup_is_spared_unless_it_is_named) {
  const auto sim = MakeSim(SimOptions());
  PhaseSwitch phase;
  const std::vector<FaultSpec> specs = {Spec("reserve:call=2"), Spec("cleanup:reserve:call=2")};
  InjectFaults faults(*sim, specs, &phase);
  BOOST_TEST(faults.Reserve(kChunk, 0).has_value());
  phase.phase = Phase::kCleanup;
  BOOST_TEST(faults.Reserve(kChunk, 0).has_value());  // the first of cleanup, not the second of all
  const auto in_cleanup = faults.Reserve(kChunk, 0);
  BOOST_REQUIRE(!in_cleanup);
  BOOST_TEST(in_cleanup.error().message() == "injected fault: reserve call 2 of cleanup");
  phase.phase = Phase::kTeardown;
  BOOST_TEST(!faults.Reserve(kChunk, 0));  // teardown goes on counting where the steps stopped
}

BOOST_AUTO_TEST_CASE(every_kind_of_call_can_fail) {
  for (size_t i = 0; i < kCallKindCount; ++i) {
    const CallKind kind = static_cast<CallKind>(i);
    const auto sim = MakeSim(SimOptions());
    const std::vector<FaultSpec> specs = {Spec(std::string(Name(kind)) + ":call=1")};
    InjectFaults faults(*sim, specs, nullptr);
    Instrument instrument(faults);
    const EventId event = Must(sim->CreateEvent());
    static_cast<void>(instrument.Reserve(kChunk, 0));
    static_cast<void>(instrument.AddressFree(kChunk, kChunk));
    static_cast<void>(instrument.Create(kChunk, 0, 0, 1));
    static_cast<void>(instrument.Release({}));
    static_cast<void>(instrument.Map(kChunk, kChunk, 1));
    static_cast<void>(instrument.Unmap(kChunk, kChunk));
    static_cast<void>(instrument.SetAccess(kChunk, kChunk, 0));
    static_cast<void>(instrument.Wait(event));
    static_cast<void>(instrument.Record(event));
    static_cast<void>(instrument.ShadowAlloc(8, 0, 0));
    static_cast<void>(instrument.ShadowFree(kChunk, 8));
    static_cast<void>(instrument.Copy(kChunk, kChunk, 8));
    static_cast<void>(instrument.Capture({}, 1));
    static_cast<void>(instrument.Update(1, {}, 1));
    static_cast<void>(instrument.Launch({}));
    BOOST_TEST(faults.injected() == 1u, Name(kind));
  }
}

BOOST_AUTO_TEST_CASE(text_that_is_no_fault_is_refused) {
  for (const char* text : {"", "unmap", "unmap:", "unmap:7", "unmap:call", "unmap:call=0", "unmap:call=x",
                           "frob:call=1", "unmap:rate=2", "unmap:rate=-1", "unmap:seed=1", "unmap:call=1,rate=0.5",
                           "cleanup:call=1", "unmap:call=1,", "unmap:call=1,x=2"}) {
    const auto spec = ParseFaultSpec(text);
    BOOST_TEST(!spec.has_value(), "accepted '" << text << "'");
    BOOST_TEST((spec.error().code() == ErrorCode::kUsage));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
