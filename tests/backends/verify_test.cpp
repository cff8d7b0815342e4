#include "backends/verify.h"

#include "tests/backends/sim_fixture.h"

namespace remaplab {
namespace {

// A range of three slots behind verify, with a command buffer over it.
struct Rig {
  explicit Rig(Touch touch = Touch::kFull, Access access = Access::kBoth)
      : sim(MakeSim(WithTouch(touch))), verify(*sim, touch), range(verify, 3) {
    command_buffer = Must(verify.Capture(range.Baked(access), 3));
    bindings = range.Bindings();
    event = Must(verify.CreateEvent());
  }
  static BackendOptions WithTouch(Touch touch) {
    SimOptions options;
    options.touch = touch;
    return options;
  }
  void Step(int64_t gpu_ns = 0) {
    Must(verify.BeginStep(++step));
    Must(verify.Launch({.command_buffer = command_buffer, .gpu_ns = gpu_ns, .bindings = bindings}));
    Must(verify.Record(event));
    Must(verify.EndStep(step, true));
  }
  // Binds `slot` to new memory; maps it too when `remap`.
  void Rebind(uint32_t slot, bool remap) {
    const Memory memory = Must(verify.Create(kChunk, 0, 0, 5000 + step));
    if (remap) {
      Must(verify.Unmap(range.base + slot * kChunk, kChunk));
      Must(verify.Map(range.base + slot * kChunk, kChunk, memory.handle));
      Must(verify.SetAccess(range.base, range.size, 0));
    }
    bindings[slot] = {.backing = 100 + step, .memory = memory};
  }

  std::unique_ptr<Backend> sim;
  Verify verify;
  MappedRange range;
  std::vector<Binding> bindings;
  CommandBufferId command_buffer = kNoCommandBuffer;
  EventId event = 0;
  uint64_t step = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(VerifyTest)

BOOST_AUTO_TEST_CASE(a_right_run_is_clean) {
  Rig rig;
  for (int i = 0; i < 30; ++i) {
    rig.Rebind(static_cast<uint32_t>(i % 3), true);
    rig.Step();
  }
  Must(rig.verify.Finish());
  BOOST_TEST(rig.verify.mismatch_count() == 0u);
  BOOST_TEST(rig.verify.checked() == 30u * 3 + 3);
}

BOOST_AUTO_TEST_CASE(a_stale_mapping_is_caught_at_its_step_and_slot) {
  Rig rig;
  rig.Step();
  rig.Rebind(1, false);
  rig.Step();
  rig.Rebind(1, true);
  rig.Step();
  Must(rig.verify.Finish());
  BOOST_REQUIRE(rig.verify.mismatch_count() == 1u);
  const Mismatch& mismatch = rig.verify.mismatches()[0];
  BOOST_TEST((mismatch.what == Mismatch::What::kWrongTag));
  BOOST_TEST(mismatch.step == 2u);
  BOOST_TEST(mismatch.slot == 1u);
  BOOST_TEST(mismatch.expected == 5001u);
  BOOST_TEST(mismatch.got == NextTag(1001));
}

BOOST_AUTO_TEST_CASE(an_unmapped_slot_is_unreachable) {
  Rig rig;
  rig.Step();
  Must(rig.verify.Unmap(rig.range.base, kChunk));
  rig.Step();
  Must(rig.verify.Finish());
  BOOST_REQUIRE(rig.verify.mismatch_count() == 1u);
  BOOST_TEST((rig.verify.mismatches()[0].what == Mismatch::What::kUnreachable));
  BOOST_TEST(rig.verify.mismatches()[0].step == 2u);
  BOOST_TEST(rig.verify.mismatches()[0].slot == 0u);
}

BOOST_AUTO_TEST_CASE(a_missing_wait_shows_while_the_launch_still_runs_and_not_one_tick_later) {
  for (const bool waits : {false, true}) {
    Rig rig;
    rig.Step(100);
    if (waits) {
      Must(rig.verify.Wait(rig.event));
    }
    rig.Rebind(2, true);
    rig.Step(100);
    Must(rig.verify.Finish());
    BOOST_TEST(rig.verify.mismatch_count() == (waits ? 0u : 1u));
    if (!waits) {
      BOOST_TEST((rig.verify.mismatches()[0].what == Mismatch::What::kUnreachable));
      BOOST_TEST(rig.verify.mismatches()[0].step == 1u);
      BOOST_TEST(rig.verify.mismatches()[0].slot == 2u);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_missing_peer_access_shows) {
  SimOptions options;
  options.touch = Touch::kFull;
  options.devices = 2;
  const auto sim = MakeSim(options);
  Verify verify(*sim, Touch::kFull);
  MappedRange range(verify, 1);
  const std::vector<BakedSlot> baked = range.Baked();
  const CommandBufferId command_buffer = Must(verify.Capture(baked, 1));
  Must(verify.Unmap(range.base, kChunk));
  Must(verify.Map(range.base, kChunk, range.memory[0].handle));
  Must(verify.SetAccess(range.base, kChunk, 0));
  const auto bindings = range.Bindings();
  Must(verify.Launch({.command_buffer = command_buffer, .bindings = bindings}));
  Must(verify.Finish());
  BOOST_TEST(verify.mismatch_count() == 1u);
}

// One slot that stands in a shadow of `size` bytes.
struct ShadowRig {
  explicit ShadowRig(Access access, uint64_t size = kChunk)
      : sim(MakeSim(Rig::WithTouch(Touch::kFull))), verify(*sim, Touch::kFull), bytes(size) {
    memory = Must(verify.Create(kChunk, 0, 0, 77));
    shadow = Must(verify.ShadowAlloc(size, 0, 0));
    const BakedSlot baked{.slot = 0, .address = shadow, .size = size, .access = access};
    command_buffer = Must(verify.Capture({&baked, 1}, 1));
  }
  void Step(bool copy_in, bool copy_out) {
    Must(verify.BeginStep(++step));
    if (copy_in) {
      Must(verify.Copy(shadow, memory.address, bytes));
    }
    const Binding binding{.backing = 1, .memory = memory};
    Must(verify.Launch({.command_buffer = command_buffer, .bindings = {&binding, 1}}));
    if (copy_out) {
      Must(verify.Copy(memory.address, shadow, bytes));
    }
    Must(verify.EndStep(step, true));
  }
  uint64_t Mismatches() {
    Must(verify.Finish());
    return verify.mismatch_count();
  }

  std::unique_ptr<Backend> sim;
  Verify verify;
  uint64_t bytes;
  Memory memory;
  Address shadow = kNullAddress;
  CommandBufferId command_buffer = kNoCommandBuffer;
  uint64_t step = 0;
};

BOOST_AUTO_TEST_CASE(shadow_copies_are_part_of_the_chain) {
  ShadowRig both(Access::kBoth);
  both.Step(true, true);
  both.Step(true, true);
  BOOST_TEST(both.Mismatches() == 0u);
  ShadowRig tiny(Access::kUnknown, 4);
  tiny.Step(true, true);
  tiny.Step(true, true);
  BOOST_TEST(tiny.Mismatches() == 0u);
}

BOOST_AUTO_TEST_CASE(a_read_only_slot_needs_no_copy_out_and_a_write_only_one_no_copy_in) {
  ShadowRig reads(Access::kRead);
  reads.Step(true, false);
  reads.Step(true, false);
  BOOST_TEST(reads.Mismatches() == 0u);
  ShadowRig writes(Access::kWrite);
  writes.Step(false, true);
  writes.Step(false, true);
  BOOST_TEST(writes.Mismatches() == 0u);
}

BOOST_AUTO_TEST_CASE(a_forgotten_copy_shows) {
  ShadowRig no_copy_in(Access::kBoth);
  no_copy_in.Step(false, true);
  BOOST_TEST(no_copy_in.Mismatches() > 0u);
  ShadowRig no_copy_out(Access::kBoth);
  no_copy_out.Step(true, false);
  BOOST_TEST(no_copy_out.Mismatches() == 1u);
  BOOST_TEST((no_copy_out.verify.mismatches()[0].what == Mismatch::What::kBacking));
  ShadowRig no_copy_out_of_written(Access::kWrite);
  no_copy_out_of_written.Step(false, false);
  BOOST_TEST(no_copy_out_of_written.Mismatches() == 1u);
}

BOOST_AUTO_TEST_CASE(launches_without_a_command_buffer_touch_the_bindings_themselves) {
  Rig rig;
  rig.command_buffer = kNoCommandBuffer;
  rig.Rebind(1, false);  // no mapping is involved
  rig.Step();
  rig.Step();
  Must(rig.verify.Finish());
  BOOST_TEST(rig.verify.mismatch_count() == 0u);
  BOOST_TEST(rig.verify.checked() == 9u);
}

BOOST_AUTO_TEST_CASE(two_slots_of_one_backing_see_the_same_tag) {
  Rig rig;
  Must(rig.verify.Unmap(rig.range.base + kChunk, kChunk));
  Must(rig.verify.Map(rig.range.base + kChunk, kChunk, rig.range.memory[0].handle));
  Must(rig.verify.SetAccess(rig.range.base, rig.range.size, 0));
  rig.bindings[1] = rig.bindings[0];
  rig.Step();
  rig.Step();
  Must(rig.verify.Finish());
  BOOST_TEST(rig.verify.mismatch_count() == 0u);
}

BOOST_AUTO_TEST_CASE(sampling_looks_at_some_slots_and_at_every_slot_in_time) {
  Rig rig(Touch::kSample);
  for (int i = 0; i < 16; ++i) {
    rig.Step();
  }
  Must(rig.verify.Synchronize());
  BOOST_TEST(rig.verify.checked() == 3u);
  BOOST_TEST(rig.verify.mismatch_count() == 0u);
}

BOOST_AUTO_TEST_CASE(checking_takes_no_simulated_time) {
  Rig rig;
  rig.Step(1000);
  rig.Step(1000);
  const int64_t before = rig.verify.now();
  Must(rig.verify.Finish());
  BOOST_TEST(rig.verify.now() == before);
}

BOOST_AUTO_TEST_CASE(memory_that_is_released_and_made_anew_starts_with_its_own_tag) {
  Rig rig;
  rig.Step();
  const Memory old = rig.bindings[0].memory;
  rig.Rebind(0, true);
  Must(rig.verify.Release(old));
  rig.Step();
  rig.Step();
  Must(rig.verify.Finish());
  BOOST_TEST(rig.verify.mismatch_count() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
