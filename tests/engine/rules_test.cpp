// The thirteen rules of remap-semantics.md section 2, each by its number, and the hazard of section 3.
#include <algorithm>

#include "base/parse.h"
#include "tests/engine/engine_rig.h"

namespace remaplab {
namespace {

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

ProgramSpec WithSmallSlot(uint64_t size) { return MakeProgram({SlotShape{}, SlotShape{.size = size}, SlotShape{}}); }

BOOST_AUTO_TEST_SUITE(rules)

BOOST_AUTO_TEST_CASE(rule_1_shadows_are_freed_at_teardown_after_waiting_for_the_last_use) {
  EngineRig rig("skip_remap+copy_shadow(threshold=4)", WithSmallSlot(4));
  rig.Step(rig.BindAll());
  rig.Step(rig.Move({1}));
  BOOST_TEST(rig.sim().outstanding().shadows == 1u);
  rig.calls().order.clear();
  rig.Finish();
  const std::vector<CallKind>& order = rig.calls().order;
  BOOST_TEST(std::count(order.begin(), order.end(), CallKind::kShadowFree) == 1);
  BOOST_TEST((order.at(0) == CallKind::kWait));
}

BOOST_AUTO_TEST_CASE(rule_1_shadows_are_freed_after_waiting_also_when_nothing_is_mapped) {
  EngineRig rig("copy_shadow(threshold=4)", MakeProgram({SlotShape{.size = 4}}));
  rig.Step(rig.BindAll());
  rig.calls().order.clear();
  rig.Finish();
  const std::vector<CallKind> expected = {CallKind::kWait, CallKind::kShadowFree};
  BOOST_TEST((rig.calls().order == expected));
}

BOOST_AUTO_TEST_CASE(rule_2_a_shadow_lives_in_its_slots_memory_space) {
  EngineRig rig("skip_remap+copy_shadow(threshold=8)",
                MakeProgram({SlotShape{.size = 8, .space = 5}, SlotShape{}, SlotShape{.size = 4, .space = 1},
                             SlotShape{.size = 4}}));
  rig.Step(rig.BindAll());
  const std::vector<int32_t> expected = {5, 1, 0};
  BOOST_TEST(rig.calls().shadow_spaces == expected, boost::test_tools::per_element());
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_2_a_slot_that_is_out_of_range_is_an_error_before_any_call) {
  EngineRig rig("skip_remap", MakeProgram(3));
  EngineRig::Bindings bindings = rig.BindAll();
  rig.Step(bindings);
  const EngineRig::Bindings moved = rig.Move({0});
  rig.calls().order.clear();
  const Status status = rig.TryStep({moved[0], {3, *bindings[1].second}});
  BOOST_TEST_REQUIRE(!status.has_value());
  BOOST_TEST((status.error().code() == ErrorCode::kInput));
  BOOST_TEST(Contains(status.error().message(), "slot position 3 is out of range: the program has 3 slots"));
  BOOST_TEST(!rig.TryStep({}, {3}).has_value());
  BOOST_TEST(rig.calls().order.empty());
  BOOST_TEST(rig.counters().failed_steps == 2u);
  BOOST_TEST(rig.session().bindings()[0].backing == *bindings[0].second);  // nothing was half done
  rig.Step(moved);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_3_a_shadowed_slot_that_grows_after_capture_is_an_error) {
  EngineRig rig("skip_remap+copy_shadow(threshold=4096)", WithSmallSlot(1024));
  rig.Step(rig.BindAll());
  rig.session().Redeclare(WithSmallSlot(2048));
  const EngineRig::Bindings bindings = rig.BindAll();
  rig.calls().order.clear();
  const Status status = rig.TryStep(bindings);
  BOOST_TEST_REQUIRE(!status.has_value());
  BOOST_TEST((status.error().code() == ErrorCode::kInput));
  BOOST_TEST(Contains(status.error().message(), "slot 1 grew from 1024 to 2048 bytes"));
  BOOST_TEST(rig.session().last_failure()->slot_index.value() == 1u);
  BOOST_TEST(rig.calls().order.empty());
  BOOST_TEST(rig.sim().outstanding().shadows == 1u);
  rig.ReleaseAll();
  rig.Teardown();
  BOOST_TEST(rig.sim().outstanding().empty());
}

BOOST_AUTO_TEST_CASE(rule_3_a_shadowed_slot_may_shrink_or_become_another_slot) {
  EngineRig rig("skip_remap+copy_shadow(threshold=4096)", WithSmallSlot(1024));
  rig.Step(rig.BindAll());
  rig.session().Redeclare(WithSmallSlot(512));
  rig.Step(rig.BindAll());
  ProgramSpec other = MakeProgram({SlotShape{}, SlotShape{.size = 4096}, SlotShape{}}, 1, {0, 7, 9});
  rig.session().Redeclare(other);
  rig.Step(rig.BindAll());
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_4_a_remap_that_fails_half_way_leaves_nothing_mapped_and_the_next_step_maps_everything) {
  EngineRig rig("skip_remap", MakeProgram(6), {.faults = {"map:call=8"}});
  rig.Step(rig.BindAll());
  BOOST_TEST(!rig.TryStep(rig.Move({1, 2, 4})).has_value());
  BOOST_TEST(rig.sim().outstanding().mappings == 0u);
  BOOST_TEST(ToText(rig.calls().Take(Phase::kCleanup)) == "unmap 3");  // the three stretches that were still mapped
  rig.calls().Take();
  BOOST_TEST(ToText(rig.Step({})) == "launch 1, map 6, record 1, set_access 1");  // no capture: the addresses hold
  rig.Step(rig.Move({1}));
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_5_another_slot_set_of_the_same_count_is_noticed) {
  EngineRig rig("skip_remap", MakeProgram(3));
  rig.Step(rig.BindAll());
  rig.session().Redeclare(MakeProgram(std::vector<SlotShape>(3), 1, {0, 1, 5}));
  BOOST_TEST(ToText(rig.Step(rig.BindAll())) ==
             "address_free 1, capture 1, launch 1, map 3, record 1, reserve 1, set_access 1, unmap 1, wait 1");
  BOOST_TEST(rig.counters().relayouts == 1u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_5_the_same_slot_set_again_changes_nothing) {
  EngineRig rig("skip_remap", MakeProgram(3));
  const EngineRig::Bindings bindings = rig.BindAll();
  rig.Step(bindings);
  rig.session().Redeclare(MakeProgram(3));
  BOOST_TEST(ToText(rig.Step(bindings)) == "launch 1, record 1");
  BOOST_TEST(rig.counters().relayouts == 0u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_5_slots_of_one_count_whose_memory_comes_and_goes_are_another_set) {
  EngineRig rig("skip_remap", MakeProgram(3));
  EngineRig::Bindings bindings = rig.BindAll();
  const BackingId one = *bindings[1].second;
  bindings[1].second = std::nullopt;
  rig.Step(bindings);
  BOOST_TEST((rig.session().classes()[1] == SlotClass::kAbsent));
  // Slot 1 gets memory, slot 2 loses it: two slots as before, at the same offsets, and not the same.
  BOOST_TEST(ToText(rig.Step({{1, one}, {2, std::nullopt}})) ==
             "address_free 1, capture 1, launch 1, map 2, record 1, reserve 1, set_access 1, unmap 1, wait 1");
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_6_set_access_covers_the_whole_reservation_for_every_device) {
  EngineRig rig("skip_remap", MakeProgram(5, 3));
  rig.Step(rig.BindAll());
  rig.calls().access_bytes = 0;
  BOOST_TEST(rig.Step(rig.Move({2})).at("set_access") == 3u);
  BOOST_TEST(rig.calls().access_bytes == 3 * 5 * kGranularity);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_6_parts_of_it_are_a_capability_of_the_driver) {
  EngineRig rig("skip_remap(access=slot)", MakeProgram(5, 3));
  rig.Step(rig.BindAll());
  rig.calls().access_bytes = 0;
  BOOST_TEST(rig.Step(rig.Move({2})).at("set_access") == 3u);
  BOOST_TEST(rig.calls().access_bytes == 3 * kGranularity);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_7_one_unmap_spans_neighbours_where_the_driver_takes_it) {
  for (const auto& [driver, unmaps] : {std::pair{"cuda", 1u}, {"rocm-6.2", 3u}}) {
    EngineRig rig("skip_remap", MakeProgram(6), {.driver = driver});
    rig.Step(rig.BindAll());
    BOOST_TEST(rig.Step(rig.Move({2, 3, 4})).at("unmap") == unmaps);
    rig.Finish();
  }
}

BOOST_AUTO_TEST_CASE(rule_7_slots_of_other_classes_between_them_do_not_separate_neighbours) {
  EngineRig rig("skip_remap+copy_shadow(threshold=4)", WithSmallSlot(4));
  rig.Step(rig.BindAll());
  BOOST_TEST(rig.Step(rig.Move({0, 2})).at("unmap") == 1u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_8_when_every_slot_is_shadowed_there_is_no_reservation) {
  for (const char* strategy : {"copy_shadow(threshold=8)", "skip_remap+copy_shadow(threshold=8)",
                               "cached_sets(k=2)+copy_shadow(threshold=8)"}) {
    EngineRig rig(strategy, MakeProgram({SlotShape{.size = 8}, SlotShape{.size = 4}}));
    BOOST_TEST(ToText(rig.Step(rig.BindAll())) == "capture 1, copy 4, launch 1, record 1, shadow_alloc 2");
    BOOST_TEST(ToText(rig.Step(rig.Move({0, 1}))) == "copy 4, launch 1, record 1");
    BOOST_TEST(rig.memory().peak_reserved == 0u);
    BOOST_TEST(rig.memory().bytes_mapped == 0u);
    BOOST_TEST(ToText(rig.Teardown()) == "shadow_free 2, wait 1");
    rig.ReleaseAll();
    BOOST_TEST(rig.sim().outstanding().empty());
  }
}

BOOST_AUTO_TEST_CASE(rule_9_a_threshold_is_inclusive_zero_and_less_are_off_and_no_number_is_refused) {
  const ProgramSpec program = WithSmallSlot(4096);
  const auto shadows = [&](const std::string& threshold) {
    EngineRig rig("skip_remap+copy_shadow(threshold=" + threshold + ")", program);
    rig.Step(rig.BindAll());
    const uint64_t count = rig.sim().outstanding().shadows;
    rig.Finish();
    return count;
  };
  BOOST_TEST(shadows("4095") == 0u);
  BOOST_TEST(shadows("4096") == 1u);
  BOOST_TEST(shadows("4KiB") == 1u);
  BOOST_TEST(shadows("0") == 0u);
  BOOST_TEST(shadows("-4096") == 0u);
  for (const char* text : {"4k4", "x", "-", "0x", "1e3", "--1", "-1x", "99999999999999999999"}) {
    const Result<Strategy> made = MakeStrategy(std::string("copy_shadow(threshold=") + text + ")",
                                               {.program = program, .capabilities = {}, .driver = "cuda"});
    BOOST_TEST_REQUIRE(!made.has_value(), text);
    BOOST_TEST((made.error().code() == ErrorCode::kUsage));
    BOOST_TEST(Contains(made.error().message(), "threshold"));
  }
}

BOOST_AUTO_TEST_CASE(rule_9_switches_are_read_in_any_case_and_empty_means_unset) {
  for (const char* off : {"0", "false", "FALSE", "Off", "no", "NO"}) {
    BOOST_TEST(ParseSwitch(off, true, "switch").value() == false);
  }
  BOOST_TEST(ParseSwitch("", true, "switch").value() == true);
  BOOST_TEST(ParseSwitch("", false, "switch").value() == false);
  BOOST_TEST(!ParseSwitch("perhaps", false, "switch").has_value());
}

BOOST_AUTO_TEST_CASE(rule_10_skip_is_the_default_on_rocm_and_shadows_are_off_everywhere) {
  BOOST_TEST(DefaultStrategy("rocm-6.1") == "skip_remap");
  BOOST_TEST(DefaultStrategy("rocm-dev") == "skip_remap");
  BOOST_TEST(DefaultStrategy("cuda") == "full_remap");
  EngineRig rig("skip_remap+copy_shadow", WithSmallSlot(4));
  rig.Step(rig.BindAll());
  BOOST_TEST(rig.sim().outstanding().shadows == 0u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_11_what_never_moves_is_mapped_once_and_never_remapped) {
  EngineRig rig("skip_remap", MakeProgram(4));
  BOOST_TEST(rig.Step(rig.BindAll()).at("map") == 4u);
  for (int step = 0; step < 5; ++step) {
    BOOST_TEST(rig.Step(rig.Move({0})).at("map") == 1u);
  }
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(rule_12_only_the_copies_that_the_access_needs_are_made) {
  const ProgramSpec program =
      MakeProgram({SlotShape{.size = 4, .access = Access::kRead}, SlotShape{.size = 4, .access = Access::kWrite},
                   SlotShape{.size = 4, .access = Access::kBoth}, SlotShape{.size = 4, .access = Access::kUnknown}});
  for (const auto& [direction, copies] : {std::pair{"both", 8u}, {"by_access", 6u}}) {
    EngineRig rig(fmt::format("copy_shadow(threshold=4,direction={})", direction), program);
    BOOST_TEST(rig.Step(rig.BindAll()).at("copy") == copies);
    BOOST_TEST(rig.Step(rig.Move({0, 1, 2, 3})).at("copy") == copies);
    BOOST_TEST(rig.Step({}).at("copy") == copies);
    rig.Finish();
  }
}

BOOST_AUTO_TEST_CASE(rule_13_error_texts_say_the_slot_the_sizes_and_the_rule) {
  EngineRig rig("skip_remap+copy_shadow(threshold=4096)",
                MakeProgram({SlotShape{}, SlotShape{.size = 1024}}, 1, {3, 12}), {.faults = {"map:call=2"}});
  rig.Step(rig.BindAll());
  const Status failed = rig.TryStep(rig.Move({0}));
  BOOST_TEST_REQUIRE(!failed.has_value());
  BOOST_TEST(Contains(failed.error().message(), "step 2: map of slot 3 failed"));
  BOOST_TEST(rig.session().last_failure()->slot_index.value() == 3u);
  BOOST_TEST(rig.session().last_failure()->step == 2u);
  BOOST_TEST((rig.session().last_failure()->call == CallKind::kMap));
  rig.session().Redeclare(MakeProgram({SlotShape{}, SlotShape{.size = 2048}}, 1, {3, 12}));
  const Status grown = rig.TryStep(rig.BindAll());
  BOOST_TEST_REQUIRE(!grown.has_value());
  BOOST_TEST(Contains(grown.error().message(), "slot 12 grew from 1024 to 2048 bytes"));
  BOOST_TEST(Contains(grown.error().message(), "(rule 3)"));
}

// A freed address comes back with other memory behind it, at the third step, for slot 1.
void ReissueAddress(EngineRig& rig) {
  EngineRig::Bindings bindings;
  for (uint32_t slot = 0; slot < 3; ++slot) {
    bindings.emplace_back(slot, rig.NewBacking(slot, 0x7000000 + slot * 0x1000000));
  }
  rig.Step(bindings);
  rig.Step(rig.Move({2}));
  rig.session().BackingFreed(*bindings[1].second);
  rig.Step({{1, rig.NewBacking(1, 0x8000000)}});
  rig.Step({});
}

BOOST_AUTO_TEST_CASE(hazard_comparing_addresses_leaves_a_stale_mapping_that_verification_catches) {
  EngineRig rig("skip_remap(identity=address)", MakeProgram(3));
  ReissueAddress(rig);
  BOOST_TEST(Succeeded(rig.verify().Finish()));
  BOOST_TEST(rig.verify().mismatch_count() > 0u);
  BOOST_TEST(rig.verify().mismatches().at(0).step == 3u);
  BOOST_TEST(rig.verify().mismatches().at(0).slot == 1u);
  BOOST_TEST(rig.counters().stale_slot_steps == 2u);
  BOOST_TEST(rig.counters().stale_steps == 2u);
}

BOOST_AUTO_TEST_CASE(hazard_comparing_backings_is_clean_on_the_same_trace) {
  for (const char* strategy : {"skip_remap", "two_ranges", "cached_sets(k=2)", "skip_profiled(steps=1)", "no_remap"}) {
    EngineRig rig(strategy, MakeProgram(3));
    ReissueAddress(rig);
    BOOST_TEST(rig.counters().stale_slot_steps == 0u);
    BOOST_TEST(rig.counters().stale_steps == 0u);
    rig.Finish();
  }
}

BOOST_AUTO_TEST_CASE(hazard_the_stale_mapping_ends_when_the_address_changes) {
  EngineRig rig("skip_remap(identity=address)", MakeProgram(3));
  ReissueAddress(rig);
  rig.Step(rig.Move({1}));
  rig.Step({});
  BOOST_TEST(rig.counters().stale_slot_steps == 2u);
}

BOOST_AUTO_TEST_CASE(hazard_unknown_addresses_are_never_taken_for_equal) {
  EngineRig rig("skip_remap(identity=address)", MakeProgram(1));
  const auto step_with_unknown_address = [&] {
    Binding binding = rig.binding(rig.NewBacking(0));
    binding.trace_address = kNullAddress;
    const SlotChange change{0, binding};
    return rig.session().Step({.step = 0, .gpu_ns = 0, .changes = {&change, 1}, .unproven = {}});
  };
  BOOST_TEST(Succeeded(step_with_unknown_address()));
  BOOST_TEST(Succeeded(step_with_unknown_address()));
  BOOST_TEST(rig.counters().stale_slot_steps == 0u);
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(hazard_skips_that_rest_on_an_assumption_are_counted) {
  for (const auto& [strategy, assumed] :
       {std::pair{"skip_remap", 2u}, {"full_remap", 0u}, {"no_remap", 0u}, {"copy_shadow(threshold=2MiB)", 0u}}) {
    EngineRig rig(strategy, MakeProgram(3));
    rig.Step(rig.BindAll());
    rig.Step({}, {0, 2});
    rig.Step({});
    BOOST_TEST(rig.counters().assumed_skips == assumed);
    rig.Finish();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
