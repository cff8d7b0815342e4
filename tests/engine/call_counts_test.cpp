// The table of definitions.md section 2, call for call: eight slots, of which three change in two runs, positions 1, 2
// and 5.
#include "tests/engine/engine_rig.h"

namespace remaplab {
namespace {

constexpr size_t kSlots = 8;
const std::vector<uint32_t> kChanged = {1, 2, 5};

ProgramSpec EightSlots(uint32_t devices = 1) { return MakeProgram(kSlots, devices); }
// Slot 0 is temp; 1 and 2 are small (4 bytes), 5 has 4096.
ProgramSpec MixedSlots(uint32_t devices = 1) {
  std::vector<SlotShape> shapes(kSlots);
  shapes[0].kind = SlotKind::kTemp;
  shapes[1] = {.size = 4, .access = Access::kRead};
  shapes[2] = {.size = 4, .access = Access::kWrite};
  shapes[5] = {.size = 4096};
  return MakeProgram(shapes, devices);
}

// Steps: first, no change, change, no change; then teardown.
struct Expected {
  CallCounts first, same, changed, same_again, teardown;
};

void Check(std::string_view strategy, ProgramSpec program, const Expected& expected, RigOptions options = {}) {
  BOOST_TEST_CONTEXT(strategy << " on " << options.driver) {
    EngineRig rig(strategy, std::move(program), options);
    BOOST_TEST(ToText(rig.Step(rig.BindAll())) == ToText(expected.first));
    BOOST_TEST(ToText(rig.Step({})) == ToText(expected.same));
    BOOST_TEST(ToText(rig.Step(rig.Move(kChanged))) == ToText(expected.changed));
    BOOST_TEST(ToText(rig.Step({})) == ToText(expected.same_again));
    BOOST_TEST(rig.counters().changed_slot_steps == kChanged.size());
    BOOST_TEST(Succeeded(rig.verify().Finish()));
    BOOST_TEST(ToText(rig.Teardown()) == ToText(expected.teardown));
    BOOST_TEST(rig.verify().mismatch_count() == 0u);
    rig.ReleaseAll();
    BOOST_TEST(rig.sim().outstanding().empty());
  }
}

CallCounts Idle() { return {{"launch", 1}, {"record", 1}}; }
CallCounts Plus(CallCounts counts, const CallCounts& more) {
  for (const auto& [kind, count] : more) {
    counts[kind] += count;
  }
  return counts;
}
CallCounts MapAll(uint64_t devices) {
  return Plus(Idle(), {{"reserve", 1}, {"map", kSlots}, {"set_access", devices}, {"capture", 1}});
}
const CallCounts kTeardown = {{"wait", 1}, {"unmap", 1}, {"address_free", 1}};

BOOST_AUTO_TEST_SUITE(call_counts)

BOOST_AUTO_TEST_CASE(full_remap_maps_everything_again_on_every_step) {
  for (const uint32_t devices : {1u, 4u}) {
    const CallCounts later = Plus(Idle(), {{"wait", 1}, {"unmap", 1}, {"map", kSlots}, {"set_access", devices}});
    Check("full_remap", EightSlots(devices), {MapAll(devices), later, later, later, kTeardown});
  }
}

BOOST_AUTO_TEST_CASE(skip_remap_maps_what_changed_and_gives_access_to_the_whole_range) {
  for (const uint32_t devices : {1u, 4u}) {
    const CallCounts changed = Plus(Idle(), {{"wait", 1}, {"unmap", 2}, {"map", 3}, {"set_access", devices}});
    Check("skip_remap", EightSlots(devices), {MapAll(devices), Idle(), changed, Idle(), kTeardown});
  }
}

BOOST_AUTO_TEST_CASE(access_by_run_and_by_slot_counts_runs_and_slots_times_devices) {
  for (const uint32_t devices : {1u, 4u}) {
    const CallCounts base = Plus(Idle(), {{"wait", 1}, {"unmap", 2}, {"map", 3}});
    Check("skip_remap(access=run)", EightSlots(devices),
          {MapAll(devices), Idle(), Plus(base, {{"set_access", 2 * devices}}), Idle(), kTeardown});
    Check("skip_remap(access=slot)", EightSlots(devices),
          {MapAll(devices), Idle(), Plus(base, {{"set_access", 3 * devices}}), Idle(), kTeardown});
  }
}

BOOST_AUTO_TEST_CASE(drivers_that_unmap_one_mapping_per_call_get_one_call_per_mapping) {
  const RigOptions old_driver{.driver = "rocm-6.2"};
  const CallCounts full = Plus(Idle(), {{"wait", 1}, {"unmap", kSlots}, {"map", kSlots}, {"set_access", 1}});
  const CallCounts skip = Plus(Idle(), {{"wait", 1}, {"unmap", 3}, {"map", 3}, {"set_access", 1}});
  const CallCounts teardown = {{"wait", 1}, {"unmap", kSlots}, {"address_free", 1}};
  Check("full_remap", EightSlots(), {MapAll(1), full, full, full, teardown}, old_driver);
  Check("skip_remap", EightSlots(), {MapAll(1), Idle(), skip, Idle(), teardown}, old_driver);
}

BOOST_AUTO_TEST_CASE(copy_shadow_copies_small_slots_both_ways_on_every_step) {
  // Mapped stay 0, 3, 4, 5, 6, 7; of these only 5 changes.
  const CallCounts copies = Plus(Idle(), {{"copy", 4}});
  const CallCounts first =
      Plus(copies, {{"reserve", 1}, {"map", 6}, {"set_access", 1}, {"capture", 1}, {"shadow_alloc", 2}});
  const CallCounts changed = Plus(copies, {{"wait", 1}, {"unmap", 1}, {"map", 1}, {"set_access", 1}});
  const CallCounts teardown = Plus(kTeardown, {{"shadow_free", 2}});
  Check("skip_remap+copy_shadow(threshold=4)", MixedSlots(), {first, copies, changed, copies, teardown});
  Check("skip_remap+copy_shadow(threshold=4095)", MixedSlots(), {first, copies, changed, copies, teardown});
  const CallCounts full = Plus(copies, {{"wait", 1}, {"unmap", 1}, {"map", 6}, {"set_access", 1}});
  Check("copy_shadow(threshold=4)", MixedSlots(), {first, full, full, full, teardown});
  Check("full_remap+copy_shadow(threshold=4)", MixedSlots(), {first, full, full, full, teardown});
}

BOOST_AUTO_TEST_CASE(copy_shadow_on_its_own_without_threshold_is_full_remap) {
  const CallCounts later = Plus(Idle(), {{"wait", 1}, {"unmap", 1}, {"map", kSlots}, {"set_access", 1}});
  Check("copy_shadow", MixedSlots(), {MapAll(1), later, later, later, kTeardown});
}

BOOST_AUTO_TEST_CASE(no_remap_updates_the_command_buffer_and_never_waits) {
  const CallCounts changed = Plus(Idle(), {{"update", 1}});
  Check("no_remap", EightSlots(4), {Plus(Idle(), {{"capture", 1}}), Idle(), changed, Idle(), {{"wait", 1}}});
}

BOOST_AUTO_TEST_CASE(skip_temp_maps_the_temp_slot_alone) {
  const CallCounts first = Plus(Idle(), {{"reserve", 1}, {"map", 1}, {"set_access", 1}, {"capture", 1}});
  Check("skip_temp", MixedSlots(), {first, Idle(), Plus(Idle(), {{"update", 1}}), Idle(), kTeardown});
}

BOOST_AUTO_TEST_CASE(skip_temp_remaps_a_temp_slot_that_moves) {
  EngineRig rig("skip_temp", MixedSlots(2));
  rig.Step(rig.BindAll());
  BOOST_TEST(ToText(rig.Step(rig.Move({0}))) ==
             ToText(Plus(Idle(), {{"wait", 1}, {"unmap", 1}, {"map", 1}, {"set_access", 2}})));
  BOOST_TEST(ToText(rig.Step(rig.Move({0, 3}))) ==
             ToText(Plus(Idle(), {{"wait", 1}, {"unmap", 1}, {"map", 1}, {"set_access", 2}, {"update", 1}})));
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(skip_profiled_launches_without_command_buffer_and_then_maps_what_stayed) {
  EngineRig rig("skip_profiled(steps=3)", EightSlots());
  BOOST_TEST(ToText(rig.Step(rig.BindAll())) == ToText(Idle()));
  BOOST_TEST(ToText(rig.Step(rig.Move({1, 2}))) == ToText(Idle()));
  BOOST_TEST(ToText(rig.Step(rig.Move({5}))) == ToText(Idle()));
  BOOST_TEST(rig.session().strategy().slots->Resolved().empty());
  // Mapped are 0, 3, 4, 6, 7. That 3 moves on this step comes too late to be noticed.
  BOOST_TEST(ToText(rig.Step(rig.Move({3}))) ==
             ToText(Plus(Idle(), {{"reserve", 1}, {"map", 5}, {"set_access", 1}, {"capture", 1}})));
  BOOST_TEST(rig.session().strategy().slots->Resolved() == "5 of 8 slots kept their memory for 3 steps and are mapped");
  BOOST_TEST(ToText(rig.Step({})) == ToText(Idle()));
  BOOST_TEST(ToText(rig.Step(rig.Move({1, 5}))) == ToText(Plus(Idle(), {{"update", 1}})));
  BOOST_TEST(ToText(rig.Step(rig.Move({5, 6, 7}))) ==
             ToText(Plus(Idle(), {{"update", 1}, {"wait", 1}, {"unmap", 1}, {"map", 2}, {"set_access", 1}})));
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(skip_profiled_watches_without_touching_shadows) {
  EngineRig rig("skip_profiled(steps=2)+copy_shadow(threshold=4)", MixedSlots());
  BOOST_TEST(ToText(rig.Step(rig.BindAll())) == ToText(Idle()));
  BOOST_TEST(ToText(rig.Step(rig.Move({1}))) == ToText(Idle()));
  BOOST_TEST(
      ToText(rig.Step(rig.Move({5}))) ==
      ToText(Plus(Idle(),
                  {{"reserve", 1}, {"map", 6}, {"set_access", 1}, {"capture", 1}, {"shadow_alloc", 2}, {"copy", 4}})));
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_run_that_ends_while_it_is_watched_only_waits) {
  EngineRig rig("skip_profiled", EightSlots());
  rig.Step(rig.BindAll());
  rig.Step({});
  BOOST_TEST(ToText(rig.Teardown()) == "wait 1");
  rig.ReleaseAll();
  BOOST_TEST(rig.sim().outstanding().empty());
}

BOOST_AUTO_TEST_CASE(two_ranges_set_up_twice_and_remap_against_their_own_content) {
  const CallCounts changed = Plus(Idle(), {{"wait", 1}, {"unmap", 2}, {"map", 3}, {"set_access", 1}});
  const CallCounts teardown = {{"wait", 1}, {"unmap", 2}, {"address_free", 2}};
  // What changed on the third step is news to the other range on the fourth.
  Check("two_ranges", EightSlots(), {MapAll(1), MapAll(1), changed, changed, teardown});

  EngineRig rig("two_ranges", EightSlots());
  const EngineRig::Bindings first = rig.BindAll();
  rig.Step(first);
  rig.Step(rig.Move({4}));
  BOOST_TEST(ToText(rig.Step({first[4]})) == ToText(Idle()));  // back to what this range holds
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(cached_sets_launch_the_set_that_matches) {
  EngineRig rig("cached_sets(k=2)", EightSlots(2));
  const EngineRig::Bindings a = rig.BindAll();
  const EngineRig::Bindings b = rig.Move({1, 2, 5});
  const EngineRig::Bindings back = {a[1], a[2], a[5]};
  BOOST_TEST(ToText(rig.Step(a)) == ToText(MapAll(2)));
  BOOST_TEST(ToText(rig.Step({})) == ToText(Idle()));
  BOOST_TEST(ToText(rig.Step(b)) == ToText(MapAll(2)));
  BOOST_TEST(ToText(rig.Step(back)) == ToText(Idle()));
  BOOST_TEST(ToText(rig.Step(b)) == ToText(Idle()));
  BOOST_TEST(ToText(rig.Step(back)) == ToText(Idle()));
  // A third pattern: the set with b was used least recently, and is two runs away.
  BOOST_TEST(ToText(rig.Step(rig.Move({2}))) ==
             ToText(Plus(Idle(), {{"wait", 1}, {"unmap", 2}, {"map", 3}, {"set_access", 2}})));
  BOOST_TEST(rig.memory().command_buffers == 2u);
  BOOST_TEST(rig.memory().peak_reserved == 2 * kSlots * kGranularity);
  BOOST_TEST(ToText(rig.Teardown()) == "address_free 2, unmap 2, wait 1");
  rig.ReleaseAll();
  BOOST_TEST(rig.sim().outstanding().empty());
}

BOOST_AUTO_TEST_CASE(one_cached_set_is_skip_remap) {
  const CallCounts changed = Plus(Idle(), {{"wait", 1}, {"unmap", 2}, {"map", 3}, {"set_access", 1}});
  Check("cached_sets(k=1)", EightSlots(), {MapAll(1), Idle(), changed, Idle(), kTeardown});
}

BOOST_AUTO_TEST_CASE(cached_sets_ignore_what_shadowed_slots_do) {
  EngineRig rig("cached_sets(k=2)+copy_shadow(threshold=4)", MixedSlots());
  rig.Step(rig.BindAll());
  BOOST_TEST(ToText(rig.Step(rig.Move({1, 2}))) == ToText(Plus(Idle(), {{"copy", 4}})));
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_slot_that_moves_back_between_two_uses_of_a_range_costs_nothing) {
  EngineRig rig("skip_remap", EightSlots());
  const EngineRig::Bindings first = rig.BindAll();
  rig.Step(first);
  BOOST_TEST(ToText(rig.Step(first)) == ToText(Idle()));  // the same bindings said again
  BOOST_TEST(rig.counters().changed_slot_steps == 0u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(bindings_may_come_in_any_order_and_twice) {
  EngineRig rig("skip_remap", EightSlots());
  rig.Step(rig.BindAll());
  const EngineRig::Bindings moved = rig.Move({5, 2, 1});
  BOOST_TEST(ToText(rig.Step({moved[0], moved[1], moved[2], moved[0]})) ==
             ToText(Plus(Idle(), {{"wait", 1}, {"unmap", 2}, {"map", 3}, {"set_access", 1}})));
  BOOST_TEST(rig.counters().changed_slot_steps == 3u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(memory_is_what_the_definitions_say) {
  EngineRig rig("skip_remap+copy_shadow(threshold=4096)", MixedSlots());
  const EngineRig::Bindings first = rig.BindAll();
  rig.Step(first);
  BOOST_TEST(rig.memory().bytes_mapped == 5 * kGranularity);
  BOOST_TEST(rig.memory().peak_reserved == 5 * kGranularity);
  BOOST_TEST(rig.memory().shadow_bytes == 4104u);
  BOOST_TEST(rig.memory().command_buffers == 1u);
  BOOST_TEST(rig.memory().retained_bytes == 0u);
  rig.session().BackingFreed(*first[1].second);  // shadowed: nothing holds it
  BOOST_TEST(rig.memory().retained_bytes == 0u);
  rig.session().BackingFreed(*first[3].second);
  BOOST_TEST(rig.memory().retained_now == kGranularity);
  rig.Step(rig.Move({3}));
  BOOST_TEST(rig.memory().retained_now == 0u);
  BOOST_TEST(rig.memory().retained_bytes == kGranularity);
  rig.Finish();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
