// Failure, as definitions.md section 5 has it.
#include "tests/engine/engine_rig.h"

namespace remaplab {
namespace {

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

BOOST_AUTO_TEST_SUITE(failure)

BOOST_AUTO_TEST_CASE(a_failed_step_is_not_launched_and_counts_as_failed) {
  EngineRig rig("skip_remap", MakeProgram(4), {.faults = {"unmap:call=1"}});
  rig.Step(rig.BindAll());
  const Status status = rig.TryStep(rig.Move({2}));
  BOOST_TEST_REQUIRE(!status.has_value());
  BOOST_TEST((status.error().code() == ErrorCode::kDriver));
  const CallCounts calls = rig.calls().Take();
  BOOST_TEST(calls.count("launch") == 0u);
  BOOST_TEST(rig.counters().steps == 2u);
  BOOST_TEST(rig.counters().failed_steps == 1u);
  BOOST_TEST(!rig.session().poisoned());
  rig.Step({});
  BOOST_TEST(!rig.session().last_failure().has_value());
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(cleanup_waits_and_unmaps_under_its_own_phase) {
  EngineRig rig("skip_remap", MakeProgram(4), {.faults = {"wait:call=1"}});
  rig.Step(rig.BindAll());
  BOOST_TEST(!rig.TryStep(rig.Move({2})).has_value());
  BOOST_TEST(ToText(rig.calls().Take(Phase::kCleanup)) == "unmap 1, wait 1");
  rig.calls().Take();
  BOOST_TEST(ToText(rig.Step({})) == "launch 1, map 4, record 1, set_access 1");
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_failure_after_the_launch_is_completed_by_cleanup) {
  // Copies 1 and 2 go in, 3 and 4 out.
  EngineRig rig("skip_remap+copy_shadow(threshold=4)",
                MakeProgram({SlotShape{}, SlotShape{.size = 4}, SlotShape{.size = 4}}), {.faults = {"copy:call=7"}});
  rig.Step(rig.BindAll());
  BOOST_TEST(!rig.TryStep(rig.Move({1})).has_value());
  BOOST_TEST(rig.calls().Take().at("launch") == 2u - 1u);
  BOOST_TEST(ToText(rig.calls().Take(Phase::kCleanup)) == "copy 2, record 1, unmap 1, wait 1");
  BOOST_TEST(rig.counters().failed_steps == 1u);
  rig.Step(rig.Move({1, 2}));
  rig.Finish();  // every value that the failed step wrote is where it belongs
}

BOOST_AUTO_TEST_CASE(a_record_that_fails_is_recorded_by_cleanup) {
  EngineRig rig("skip_remap", MakeProgram(2), {.faults = {"record:call=2"}});
  rig.Step(rig.BindAll());
  BOOST_TEST(!rig.TryStep({}).has_value());
  BOOST_TEST(ToText(rig.calls().Take(Phase::kCleanup)) == "record 1, unmap 1, wait 1");
  rig.Step(rig.Move({0}));
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_failed_capture_is_tried_again_by_the_next_step) {
  EngineRig rig("skip_remap", MakeProgram(2), {.faults = {"capture:call=1"}});
  BOOST_TEST(!rig.TryStep(rig.BindAll()).has_value());
  rig.calls().Take();
  BOOST_TEST(ToText(rig.Step({})) == "capture 1, launch 1, map 2, record 1, set_access 1");
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_failed_update_is_made_up_for_by_the_next_step) {
  EngineRig rig("no_remap", MakeProgram(4), {.faults = {"update:call=1"}});
  rig.Step(rig.BindAll());
  BOOST_TEST(!rig.TryStep(rig.Move({1, 2})).has_value());
  rig.calls().Take();
  BOOST_TEST(ToText(rig.Step(rig.Move({3}))) == "launch 1, record 1, update 1");
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(what_came_before_the_failure_is_used_by_the_next_step) {
  EngineRig rig("skip_remap+copy_shadow(threshold=4)",
                MakeProgram({SlotShape{}, SlotShape{.size = 4}, SlotShape{.size = 4}}),
                {.faults = {"shadow_alloc:call=2"}});
  BOOST_TEST(!rig.TryStep(rig.BindAll()).has_value());
  rig.calls().Take();
  BOOST_TEST(ToText(rig.Step({})) == "capture 1, copy 4, launch 1, map 1, record 1, set_access 1, shadow_alloc 1");
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_relayout_that_fails_is_finished_even_if_the_slots_are_back) {
  // Slot 1 loses its memory, the reservation cannot be given back; then the slot is back.
  EngineRig rig("skip_remap+copy_shadow(threshold=4)", MakeProgram({SlotShape{}, SlotShape{}, SlotShape{.size = 4}}),
                {.faults = {"shadow_free:call=1"}});
  const EngineRig::Bindings bindings = rig.BindAll();
  rig.Step(bindings);
  BOOST_TEST(!rig.TryStep({{1, std::nullopt}, {2, std::nullopt}}).has_value());
  rig.Step({bindings[1], bindings[2]});
  rig.Step(rig.Move({0}));
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_new_slot_table_holds_although_giving_up_the_old_one_failed) {
  EngineRig rig("skip_remap", MakeProgram(3), {.faults = {"address_free:call=1"}});
  rig.Step(rig.BindAll());
  rig.session().Redeclare(MakeProgram(4));
  BOOST_TEST(!rig.TryStep(rig.BindAll()).has_value());
  BOOST_TEST(rig.session().program().slots.size() == 4u);
  rig.Step({});
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_failed_cleanup_poisons_the_session_which_then_gives_back_what_it_can) {
  EngineRig rig("skip_remap", MakeProgram(4), {.faults = {"cleanup:unmap:call=1"}});
  rig.Step(rig.BindAll());
  rig.Step({});
  // Cleanup only runs after a failure: slot 1's memory is too small.
  const BackingId small = rig.NewBackingOf(kGranularity);
  Binding wrong = rig.binding(small);
  wrong.memory.handle = 987654;
  const SlotChange change{1, wrong};
  const Status status = rig.session().Step({.step = 3, .gpu_ns = 0, .changes = {&change, 1}, .unproven = {}});
  BOOST_TEST_REQUIRE(!status.has_value());
  BOOST_TEST((status.error().code() == ErrorCode::kPoisoned));
  BOOST_TEST(Contains(status.error().message(), "then cleanup failed"));
  BOOST_TEST(rig.session().poisoned());
  BOOST_TEST(rig.session().last_failure()->in_cleanup);
  const Status refused = rig.TryStep({});
  BOOST_TEST_REQUIRE(!refused.has_value());
  BOOST_TEST((refused.error().code() == ErrorCode::kPoisoned));
  rig.Teardown();
  rig.ReleaseAll();
  BOOST_TEST(rig.sim().outstanding().empty());
}

BOOST_AUTO_TEST_CASE(teardown_goes_on_past_failures_and_says_how_many_there_were) {
  EngineRig rig("skip_remap+copy_shadow(threshold=4)",
                MakeProgram({SlotShape{}, SlotShape{.size = 4}, SlotShape{.size = 4}}),
                {.faults = {"unmap:rate=1", "cleanup:unmap:call=1"}});
  rig.Step(rig.BindAll());
  const Status status = rig.session().Teardown();
  BOOST_TEST_REQUIRE(!status.has_value());
  BOOST_TEST(Contains(status.error().message(), "2 calls failed, the first"));  // unmap, then address_free
  BOOST_TEST(rig.sim().outstanding().shadows == 0u);
  BOOST_TEST(rig.sim().outstanding().reservations == 1u);
  BOOST_TEST(rig.sim().outstanding().events == 0u);
}

BOOST_AUTO_TEST_CASE(teardown_tries_a_failed_call_once_more) {
  for (const char* fault : {"unmap:call=1", "address_free:call=1", "wait:call=1", "shadow_free:call=2"}) {
    EngineRig rig("skip_remap+copy_shadow(threshold=4)",
                  MakeProgram({SlotShape{}, SlotShape{.size = 4}, SlotShape{.size = 4}}), {.faults = {fault}});
    rig.Step(rig.BindAll());
    rig.Finish();
    BOOST_TEST(rig.faults().injected() == 1u);
    BOOST_TEST(rig.session().last_failure().has_value());
  }
}

BOOST_AUTO_TEST_CASE(teardown_twice_is_teardown_once) {
  EngineRig rig("skip_remap", MakeProgram(2));
  rig.Step(rig.BindAll());
  rig.Teardown();
  BOOST_TEST(ToText(rig.Teardown()).empty());
}

BOOST_AUTO_TEST_CASE(a_session_that_never_stepped_makes_no_call) {
  EngineRig rig("skip_remap", MakeProgram(2));
  BOOST_TEST(ToText(rig.Teardown()).empty());
  BOOST_TEST(rig.sim().outstanding().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
