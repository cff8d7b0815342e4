// Slot sets that change, and the smallest ones there are.
#include "tests/engine/engine_rig.h"

namespace remaplab {
namespace {

const std::vector<const char*> kStrategies = {"full_remap",
                                              "skip_remap",
                                              "skip_remap(access=slot)",
                                              "skip_remap+copy_shadow(threshold=4096)",
                                              "copy_shadow(threshold=4096,direction=by_access)",
                                              "no_remap",
                                              "no_remap+copy_shadow(threshold=4096)",
                                              "skip_temp",
                                              "skip_profiled(steps=2)",
                                              "skip_profiled(steps=2)+copy_shadow(threshold=4096)",
                                              "two_ranges",
                                              "two_ranges+copy_shadow(threshold=4096)",
                                              "cached_sets(k=3)",
                                              "cached_sets(k=2)+copy_shadow(threshold=4096)",
                                              "adaptive"};

template <typename Body>
void ForEachStrategy(const ProgramSpec& program, Body body) {
  for (const char* strategy : kStrategies) {
    BOOST_TEST_CONTEXT(strategy) {
      EngineRig rig(strategy, program);
      body(rig);
      rig.Finish();
    }
  }
}

ProgramSpec Mixed() {
  return MakeProgram({SlotShape{.kind = SlotKind::kTemp}, SlotShape{.size = 4}, SlotShape{.size = 4096},
                      SlotShape{.size = 3 * kMiB}, SlotShape{}});
}

BOOST_AUTO_TEST_SUITE(slot_sets)

BOOST_AUTO_TEST_CASE(slots_that_appear_and_vanish_between_steps_are_laid_out_anew) {
  ForEachStrategy(Mixed(), [](EngineRig& rig) {
    rig.Step(rig.BindAll());
    rig.Step(rig.Move({1, 3}));
    rig.session().Redeclare(MakeProgram({SlotShape{}, SlotShape{.size = 4}}, 1, {0, 9}));
    rig.Step(rig.BindAll());
    rig.Step(rig.Move({1}));
    rig.session().Redeclare(Mixed());
    rig.Step(rig.BindAll());
    rig.Step(rig.Move({0, 1, 2, 3, 4}));
  });
}

BOOST_AUTO_TEST_CASE(mapped_slots_that_grow_or_shrink_are_laid_out_anew) {
  EngineRig rig("skip_remap", MakeProgram(3));
  rig.Step(rig.BindAll());
  rig.session().Redeclare(MakeProgram({SlotShape{}, SlotShape{.size = 5 * kMiB}, SlotShape{}}));
  BOOST_TEST(ToText(rig.Step(rig.BindAll())) ==
             "address_free 1, capture 1, launch 1, map 3, record 1, reserve 1, set_access 1, unmap 1, wait 1");
  BOOST_TEST(rig.memory().peak_reserved == 5 * kGranularity);
  rig.session().Redeclare(MakeProgram({SlotShape{.size = 1}, SlotShape{}, SlotShape{}}));
  rig.Step(rig.BindAll());
  BOOST_TEST(rig.counters().relayouts == 2u);
  BOOST_TEST(rig.memory().bytes_mapped == 5 * kGranularity);  // the largest that held
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_dynamic_slot_that_grows_gets_another_command_buffer) {
  EngineRig rig("no_remap", MakeProgram(2));
  rig.Step(rig.BindAll());
  rig.session().Redeclare(MakeProgram({SlotShape{}, SlotShape{.size = 4 * kMiB}}));
  BOOST_TEST(ToText(rig.Step(rig.BindAll())) == "capture 1, launch 1, record 1, wait 1");
  rig.Finish();
}

BOOST_AUTO_TEST_CASE(a_slot_without_memory_on_a_step_is_no_part_of_it) {
  ForEachStrategy(Mixed(), [](EngineRig& rig) {
    EngineRig::Bindings bindings = rig.BindAll();
    rig.Step(bindings);
    rig.Step({{1, std::nullopt}, {3, std::nullopt}});
    BOOST_TEST((rig.session().classes()[3] == SlotClass::kAbsent));
    rig.Step({});
    rig.Step(rig.Move({1}));
    rig.Step({bindings[3]});
    rig.Step(rig.Move({0, 4}));
  });
}

BOOST_AUTO_TEST_CASE(all_slots_may_lose_their_memory) {
  ForEachStrategy(Mixed(), [](EngineRig& rig) {
    rig.Step(rig.BindAll());
    EngineRig::Bindings nothing;
    for (uint32_t slot = 0; slot < 5; ++slot) {
      nothing.emplace_back(slot, std::nullopt);
    }
    rig.Step(nothing);
    rig.Step({});
    rig.Step(rig.BindAll());
  });
}

BOOST_AUTO_TEST_CASE(other_memory_spaces_are_like_space_zero) {
  ForEachStrategy(MakeProgram({SlotShape{.space = 1}, SlotShape{.size = 64, .space = 2}, SlotShape{.space = 1}}),
                  [](EngineRig& rig) {
                    rig.Step(rig.BindAll());
                    rig.Step(rig.Move({0, 1}));
                    rig.Step(rig.Move({1}));
                  });
}

BOOST_AUTO_TEST_CASE(every_slot_shadowed_works_step_after_step) {
  ForEachStrategy(MakeProgram({SlotShape{.size = 4}, SlotShape{.size = 8, .access = Access::kRead}}),
                  [](EngineRig& rig) {
                    rig.Step(rig.BindAll());
                    rig.Step(rig.Move({0}));
                    rig.Step(rig.Move({0, 1}));
                    rig.Step({});
                  });
}

BOOST_AUTO_TEST_CASE(no_slots_at_all_only_launch) {
  ForEachStrategy(MakeProgram(0), [](EngineRig& rig) {
    rig.Step({});
    rig.Step({});
    const CallCounts calls = rig.Step({});
    BOOST_TEST(calls.at("launch") == 1u);
    BOOST_TEST(calls.count("map") == 0u);
    BOOST_TEST(rig.memory().peak_reserved == 0u);
  });
}

BOOST_AUTO_TEST_CASE(one_slot_is_a_run_of_its_own) {
  ForEachStrategy(MakeProgram(1), [](EngineRig& rig) {
    for (int step = 0; step < 12; ++step) {
      rig.Step(step % 3 == 2 ? EngineRig::Bindings() : rig.Move({0}));
    }
  });
}

BOOST_AUTO_TEST_CASE(two_slots_may_hold_the_same_backing) {
  ForEachStrategy(MakeProgram({SlotShape{.access = Access::kRead}, SlotShape{.access = Access::kRead}}),
                  [](EngineRig& rig) {
                    for (int step = 0; step < 4; ++step) {
                      const BackingId both = rig.NewBacking(0);
                      rig.Step({{0, both}, {1, both}});
                      rig.Step({});
                      rig.session().BackingFreed(both);
                    }
                    BOOST_TEST(rig.memory().retained_bytes <= 3 * kGranularity);
                  });
}

BOOST_AUTO_TEST_CASE(a_reissued_address_of_another_size_is_other_memory) {
  ForEachStrategy(MakeProgram({SlotShape{}, SlotShape{.size = 3 * kMiB}}), [](EngineRig& rig) {
    constexpr Address kAddress = 0x70000000;
    const BackingId small = rig.NewBacking(0, kAddress);
    rig.Step({{0, small}, {1, rig.NewBacking(1)}});
    rig.session().BackingFreed(small);
    // The allocator merged what was free: the address comes back larger, and the slot gets the beginning of it.
    rig.Step({{0, rig.NewBackingOf(2 * kGranularity, 0, kAddress)}});
    rig.Step({});
    BOOST_TEST(rig.counters().stale_slot_steps == 0u);
  });
}

BOOST_AUTO_TEST_CASE(two_programs_take_turns_on_one_device) {
  BackendOptions options;
  options.granularity = kGranularity;
  options.touch = Touch::kFull;
  const std::unique_ptr<Backend> sim = MakeBackend("sim", options).value();
  Verify verify(*sim, Touch::kFull);
  std::vector<std::unique_ptr<RemapSession>> sessions;
  for (const size_t slots : {3u, 5u}) {
    ProgramSpec program = MakeProgram(slots);
    Strategy strategy = MakeStrategy(slots == 3 ? "skip_remap+copy_shadow(threshold=4)" : "two_ranges",
                                     {.program = program, .capabilities = sim->capabilities(), .driver = "cuda"})
                            .value();
    sessions.push_back(std::make_unique<RemapSession>(verify, program, std::move(strategy)));
  }
  std::vector<Memory> memory;
  BackingId next = 0;
  for (uint64_t step = 1; step <= 6; ++step) {
    for (const auto& session : sessions) {
      std::vector<SlotChange> changes;
      for (uint32_t slot = 0; slot < session->program().slots.size(); ++slot) {
        if (step == 1 || (slot + step) % 3 == 0) {
          memory.push_back(verify.Create(kGranularity, 0, 0, 77 * ++next).value());
          changes.push_back({slot, Binding{next, next << 32, memory.back()}});
        }
      }
      BOOST_TEST(Succeeded(session->Step({.step = step, .gpu_ns = 1000, .changes = changes, .unproven = {}})));
    }
  }
  BOOST_TEST(Succeeded(verify.Finish()));
  BOOST_TEST(verify.mismatch_count() == 0u);
  // The first program ends; the second goes on.
  BOOST_TEST(Succeeded(sessions[0]->Teardown()));
  BOOST_TEST(Succeeded(sessions[1]->Step({.step = 7, .gpu_ns = 1000, .changes = {}, .unproven = {}})));
  BOOST_TEST(Succeeded(verify.Finish()));
  BOOST_TEST(Succeeded(sessions[1]->Teardown()));
  BOOST_TEST(verify.mismatch_count() == 0u);
  for (const Memory& one : memory) {
    BOOST_TEST(Succeeded(verify.Release(one)));
  }
  BOOST_TEST(sim->outstanding().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
