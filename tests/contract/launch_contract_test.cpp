// Command buffers, launches and the tags that they read and write.
#include "tests/contract/contract_backends.h"

namespace remaplab::contract {
namespace {

constexpr int64_t kMs = 1'000'000;

}  // namespace

BOOST_AUTO_TEST_SUITE(LaunchContract)

CONTRACT_CASE(a_launch_reads_every_slot_and_writes_the_writable_ones) {
  Rig rig(backend);
  Range range(rig, 4);
  const std::vector<BakedSlot> slots = {range.Slot(0, Access::kRead), range.Slot(1, Access::kWrite),
                                        range.Slot(2, Access::kBoth), range.Slot(3, Access::kUnknown)};
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 4));
  Must(rig->Launch({.command_buffer = command_buffer}));
  const auto tags = Tags(rig);
  BOOST_REQUIRE(tags.size() == 4u);
  for (uint32_t i = 0; i < 4; ++i) {
    BOOST_TEST(tags[i].slot == i);
    BOOST_TEST(tags[i].reachable);
    BOOST_TEST(tags[i].value == kFirstTag + i);
  }
  BOOST_TEST(Must(rig->ReadTag(range.memory[0])) == kFirstTag);
  for (size_t i = 1; i < 4; ++i) {
    BOOST_TEST(Must(rig->ReadTag(range.memory[i])) == NextTag(kFirstTag + i));
  }
}

CONTRACT_CASE(baked_addresses_read_whatever_is_mapped_there_at_the_launch) {
  Rig rig(backend);
  Range range(rig, 2);
  const auto slots = range.Slots();
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 2));
  BOOST_TEST(LaunchAndRead(rig, command_buffer) == kFirstTag);
  const Memory other = Must(rig->Create(range.chunk, 0, 0, 500));
  Must(rig->Synchronize());
  Must(rig->Unmap(range.base, range.chunk));
  Must(rig->Map(range.base, range.chunk, other.handle));
  GrantAccess(rig, range.base, range.size, range.base, range.chunk);
  BOOST_TEST(LaunchAndRead(rig, command_buffer) == 500u);
  BOOST_TEST(Must(rig->ReadTag(other)) == NextTag(500));
  BOOST_TEST(Must(rig->ReadTag(range.memory[0])) == NextTag(kFirstTag));  // not touched again
}

CONTRACT_CASE(a_launch_without_a_command_buffer_touches_the_bindings_at_their_own_addresses) {
  Rig rig(backend);
  const Memory a = Must(rig->Create(rig.chunk(), 0, 0, 100));
  const Memory b = Must(rig->Create(rig.chunk(), 0, 0, 101));
  const std::vector<Binding> bindings = {{.backing = 0, .memory = a}, {}, {.backing = 1, .memory = b}};
  Must(rig->Launch({.bindings = bindings}));
  const auto tags = Tags(rig);
  BOOST_REQUIRE(tags.size() == 2u);
  BOOST_TEST(tags[0].slot == 0u);
  BOOST_TEST(tags[0].value == 100u);
  BOOST_TEST(tags[1].slot == 2u);
  BOOST_TEST(tags[1].value == 101u);
  BOOST_TEST(Must(rig->ReadTag(a)) == NextTag(100));
  BOOST_TEST(Must(rig->ReadTag(b)) == NextTag(101));
}

CONTRACT_CASE(a_launch_reads_all_its_slots_before_it_writes_any) {
  Rig rig(backend);
  const Memory memory = Must(rig->Create(rig.chunk(), 0, 0, 110));
  const std::vector<Binding> bindings(2, Binding{.backing = 0, .memory = memory});
  Must(rig->Launch({.bindings = bindings}));
  const auto tags = Tags(rig);
  BOOST_REQUIRE(tags.size() == 2u);
  BOOST_TEST(tags[0].value == 110u);
  BOOST_TEST(tags[1].value == 110u);
  BOOST_TEST(Must(rig->ReadTag(memory)) == NextTag(110));
}

CONTRACT_CASE(update_moves_the_named_slots_and_no_other) {
  Rig rig(backend);
  const Memory a = Must(rig->Create(rig.chunk(), 0, 0, 120));
  const Memory b = Must(rig->Create(rig.chunk(), 0, 0, 121));
  const Memory c = Must(rig->Create(rig.chunk(), 0, 0, 122));
  const auto baked = [&](uint32_t slot, const Memory& memory) {
    return BakedSlot{.slot = slot, .address = memory.address, .size = rig.chunk(), .access = Access::kRead};
  };
  const std::vector<BakedSlot> slots = {baked(0, a), baked(1, b)};
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 2));
  const BakedSlot moved = baked(1, c);
  Must(rig->Update(command_buffer, {&moved, 1}, 2));
  Must(rig->Launch({.command_buffer = command_buffer}));
  const auto tags = Tags(rig);
  BOOST_REQUIRE(tags.size() == 2u);
  BOOST_TEST(tags[0].value == 120u);
  BOOST_TEST(tags[1].value == 122u);
}

CONTRACT_CASE(update_does_not_reach_a_launch_that_is_under_way) {
  Rig rig(backend, {.run_ahead = 2});
  const Memory a = Must(rig->Create(rig.chunk(), 0, 0, 130));
  const Memory b = Must(rig->Create(rig.chunk(), 0, 0, 131));
  BakedSlot slot{.slot = 0, .address = a.address, .size = rig.chunk(), .access = Access::kRead};
  const CommandBufferId command_buffer = Must(rig->Capture({&slot, 1}, 1));
  Must(rig->Launch({.command_buffer = command_buffer, .gpu_ns = 20 * kMs}));
  slot.address = b.address;
  Must(rig->Update(command_buffer, {&slot, 1}, 1));
  Must(rig->Launch({.command_buffer = command_buffer}));
  BOOST_TEST(Tags(rig, 1).at(0).value == 130u);
  BOOST_TEST(Tags(rig, 0).at(0).value == 131u);
}

CONTRACT_CASE(command_buffers_that_do_not_exist_are_refused) {
  Rig rig(backend);
  Range range(rig, 1);
  const auto slots = range.Slots();
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 1));
  const BakedSlot stranger = {.slot = 7, .address = range.base, .size = range.chunk, .access = Access::kRead};
  MustRefuse(rig->Update(command_buffer, {&stranger, 1}, 1), "update");
  MustRefuse(rig->Update(command_buffer + 1, slots, 1), "update");
  MustRefuse(rig->Launch({.command_buffer = command_buffer + 1}), "launch");
  Must(rig->DestroyCommandBuffer(command_buffer));
  BOOST_TEST(!rig->DestroyCommandBuffer(command_buffer));
  MustRefuse(rig->Launch({.command_buffer = command_buffer}), "launch");
  BOOST_TEST(rig->outstanding().command_buffers == 0u);
}

CONTRACT_CASE(capture_and_update_want_addresses_that_can_be_reached_now) {
  Rig rig(backend);
  Range range(rig, 2, 1);
  const BakedSlot nowhere = range.Slot(1);
  MustRefuse(rig->Capture({&nowhere, 1}, 1), "capture");
  BOOST_TEST(rig->outstanding().command_buffers == 0u);
  const auto slots = range.Slots();
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 1));
  BakedSlot moved = range.Slot(0);
  moved.address = range.At(1);
  MustRefuse(rig->Update(command_buffer, {&moved, 1}, 1), "update");
  BOOST_TEST(LaunchAndRead(rig, command_buffer) == kFirstTag);  // unchanged
}

CONTRACT_CASE(the_tags_of_earlier_launches_can_be_read_while_later_ones_run) {
  Rig rig(backend, {.run_ahead = 2});
  Range range(rig, 1);
  const auto slots = range.Slots();
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 1));
  const uint32_t depth = rig->capabilities().readback_depth;
  BOOST_REQUIRE(depth >= 4u);  // at least as many as may be in flight
  for (uint32_t i = 0; i < depth; ++i) {
    Must(rig->Launch({.command_buffer = command_buffer, .gpu_ns = kMs}));
  }
  uint64_t expected = kFirstTag;
  for (uint32_t back = depth; back-- > 0;) {
    BOOST_TEST(Tags(rig, back).at(0).value == expected);
    expected = NextTag(expected);
  }
  std::vector<LaunchTag> tags;
  BOOST_TEST(!rig->ReadTags(depth, tags));
}

CONTRACT_CASE(a_backend_that_touches_nothing_has_no_tags) {
  Rig rig(backend, {.touch = Touch::kNone});
  Range range(rig, 1);
  const auto slots = range.Slots();
  Must(rig->Launch({.command_buffer = Must(rig->Capture(slots, 1))}));
  BOOST_TEST(rig->capabilities().readback_depth == 0u);
  std::vector<LaunchTag> tags;
  BOOST_TEST(!rig->ReadTags(0, tags));
}

CONTRACT_CASE(sampling_touches_every_slot_in_time) {
  Rig rig(backend, {.touch = Touch::kSample});
  Range range(rig, 20);
  const auto slots = range.Slots(Access::kRead);
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 1));
  std::vector<int> touched(20);
  for (int i = 0; i < 64; ++i) {
    Must(rig->Launch({.command_buffer = command_buffer}));
    for (const LaunchTag& tag : Tags(rig)) {
      BOOST_TEST(tag.value == kFirstTag + tag.slot);
      ++touched.at(tag.slot);
    }
  }
  for (const int times : touched) {
    BOOST_TEST(times > 0);
  }
}

// Remapping under a running launch is what the wait before an unmap is for.
CONTRACT_CASE(a_remap_that_did_not_wait_shows_in_the_tags) {
  if (!backend.survives_faults) {
    BOOST_TEST_MESSAGE("a fault ends the context of " << backend.name);
    return;
  }
  Rig rig(backend);
  Range range(rig, 1);
  const auto slots = range.Slots();
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 1));
  const Memory other = Must(rig->Create(range.chunk, 0, 0, 600));
  Must(rig->Launch({.command_buffer = command_buffer, .gpu_ns = 50 * kMs}));
  Must(rig->Unmap(range.base, range.chunk));
  Must(rig->Map(range.base, range.chunk, other.handle));
  Must(rig->SetAccess(range.base, range.chunk, 0));
  const auto tags = Tags(rig);
  BOOST_REQUIRE(tags.size() == 1u);
  BOOST_TEST((!tags[0].reachable || tags[0].value != kFirstTag));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::contract
