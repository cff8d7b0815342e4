// Address ranges, physical memory, mappings and access: what is refused, and that a refusal changes nothing.
#include "tests/contract/contract_backends.h"

namespace remaplab::contract {

BOOST_AUTO_TEST_SUITE(AddressContract)

CONTRACT_CASE(a_reservation_is_aligned_and_apart_from_the_others) {
  Rig rig(backend);
  std::vector<std::pair<Address, uint64_t>> ranges;
  for (const uint64_t chunks : {1, 3, 2}) {
    const uint64_t size = chunks * rig.chunk();
    const Address base = Must(rig->Reserve(size, 4 * rig.chunk()));
    BOOST_TEST(base != kNullAddress);
    BOOST_TEST(base % (4 * rig.chunk()) == 0u);
    for (const auto& [other, other_size] : ranges) {
      BOOST_TEST((base + size <= other || other + other_size <= base));
    }
    ranges.emplace_back(base, size);
  }
  BOOST_TEST(rig->outstanding().reservations == 3u);
  for (const auto& [base, size] : ranges) {
    Must(rig->AddressFree(base, size));
  }
  BOOST_TEST(rig->outstanding().empty());
}

CONTRACT_CASE(reserve_refuses_sizes_and_alignments_that_are_none) {
  Rig rig(backend);
  MustRefuse(rig->Reserve(0, 0), "reserve");
  MustRefuse(rig->Reserve(rig->capabilities().minimum_granularity + 1, 0), "reserve");
  MustRefuse(rig->Reserve(rig.chunk(), 3 * rig.chunk()), "reserve");
  BOOST_TEST(rig->outstanding().empty());
}

CONTRACT_CASE(address_free_takes_whole_empty_reservations_only) {
  Rig rig(backend);
  Range range(rig, 2, 1);
  MustRefuse(rig->AddressFree(range.base, range.size), "address_free");  // something is mapped
  Must(rig->Unmap(range.base, range.chunk));
  MustRefuse(rig->AddressFree(range.base, range.chunk), "address_free");                // wrong size
  MustRefuse(rig->AddressFree(range.base + range.chunk, range.chunk), "address_free");  // wrong place
  BOOST_TEST(rig->outstanding().reservations == 1u);
  Must(rig->Map(range.base, range.chunk, range.memory[0].handle));  // still usable
  Must(rig->Unmap(range.base, range.chunk));
  Must(rig->AddressFree(range.base, range.size));
  MustRefuse(rig->AddressFree(range.base, range.size), "address_free");  // twice
  Must(rig->Release(range.memory[0]));
  BOOST_TEST(rig->outstanding().empty());
}

CONTRACT_CASE(create_refuses_sizes_and_devices_that_are_none) {
  Rig rig(backend);
  MustRefuse(rig->Create(0, 0, 0, 1), "create");
  MustRefuse(rig->Create(rig->capabilities().minimum_granularity + 1, 0, 0, 1), "create");
  MustRefuse(rig->Create(rig.chunk(), -1, 0, 1), "create");
  BOOST_TEST(rig->outstanding().empty());
}

CONTRACT_CASE(fresh_memory_holds_its_tag_at_its_own_address) {
  Rig rig(backend);
  const Memory a = Must(rig->Create(rig.chunk(), 0, 0, 17));
  const Memory b = Must(rig->Create(2 * rig.chunk(), 0, 5, 18));
  BOOST_TEST(a.handle != kNoHandle);
  BOOST_TEST(a.handle != b.handle);
  BOOST_TEST(a.address != b.address);
  BOOST_TEST(b.size == 2 * rig.chunk());
  BOOST_TEST(rig->outstanding().handles == 2u);
  BOOST_TEST(Must(rig->ReadTag(a)) == 17u);
  BOOST_TEST(Must(rig->ReadTag(b)) == 18u);
  Must(rig->Release(a));
  Must(rig->Release(b));
  BOOST_TEST(rig->outstanding().empty());
}

CONTRACT_CASE(release_happens_once) {
  Rig rig(backend);
  const Memory memory = Must(rig->Create(rig.chunk(), 0, 0, 1));
  Must(rig->Release(memory));
  MustRefuse(rig->Release(memory), "release");
  MustRefuse(rig->Release(Memory{}), "release");
  BOOST_TEST(rig->outstanding().empty());
}

CONTRACT_CASE(memory_that_was_released_while_mapped_lives_until_its_last_unmap) {
  Rig rig(backend);
  Range range(rig, 1);
  const auto slots = range.Slots();
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 1));
  Must(rig->Release(range.memory[0]));
  BOOST_TEST(LaunchAndRead(rig, command_buffer) == kFirstTag);
  BOOST_TEST(LaunchAndRead(rig, command_buffer) == NextTag(kFirstTag));
  MustRefuse(rig->Release(range.memory[0]), "release");
  Must(rig->Unmap(range.base, range.chunk));
  Must(rig->AddressFree(range.base, range.size));
  Must(rig->DestroyCommandBuffer(command_buffer));
  BOOST_TEST(rig->outstanding().empty());
}

CONTRACT_CASE(map_refuses_what_it_cannot_map_and_changes_nothing) {
  Rig rig(backend);
  Range range(rig, 3, 1);
  const Memory memory = Must(rig->Create(range.chunk, 0, 0, 50));
  const Memory gone = Must(rig->Create(range.chunk, 0, 0, 51));
  Must(rig->Release(gone));
  const Outstanding before = rig->outstanding();
  const uint64_t odd = rig->capabilities().minimum_granularity + 1;
  MustRefuse(rig->Map(range.At(0), range.chunk, memory.handle), "map");              // over something mapped
  MustRefuse(rig->Map(range.base + range.size, range.chunk, memory.handle), "map");  // behind the reservation
  MustRefuse(rig->Map(range.At(2), 2 * range.chunk, memory.handle), "map");          // past its end
  MustRefuse(rig->Map(range.At(1), 2 * range.chunk, memory.handle), "map");          // more than there is
  MustRefuse(rig->Map(range.At(1), 0, memory.handle), "map");
  MustRefuse(rig->Map(range.At(1), odd, memory.handle), "map");
  MustRefuse(rig->Map(range.At(1), range.chunk, kNoHandle), "map");
  MustRefuse(rig->Map(range.At(1), range.chunk, gone.handle), "map");
  MustRefuse(rig->Map(kNullAddress, range.chunk, memory.handle), "map");
  BOOST_TEST((rig->outstanding() == before));
  const auto slots = range.Slots();
  BOOST_TEST(LaunchAndRead(rig, Must(rig->Capture(slots, 1))) == kFirstTag);
  Must(rig->Map(range.At(1), range.chunk, memory.handle));  // and the right thing still works
  BOOST_TEST(rig->outstanding().mappings == 2u);
}

CONTRACT_CASE(a_mapping_may_cover_only_the_beginning_of_its_memory) {
  if (!backend.maps_parts) {
    BOOST_TEST_MESSAGE(backend.name << " maps whole memory only");
    return;
  }
  Rig rig(backend);
  const Memory memory = Must(rig->Create(2 * rig.chunk(), 0, 0, 60));
  const Address base = Must(rig->Reserve(rig.chunk(), 0));
  Must(rig->Map(base, rig.chunk(), memory.handle));
  Must(rig->SetAccess(base, rig.chunk(), 0));
  const BakedSlot slot{.slot = 0, .address = base, .size = rig.chunk(), .access = Access::kBoth};
  BOOST_TEST(LaunchAndRead(rig, Must(rig->Capture({&slot, 1}, 1))) == 60u);
  BOOST_TEST(Must(rig->ReadTag(memory)) == NextTag(60));
}

CONTRACT_CASE(one_memory_may_be_mapped_twice) {
  Rig rig(backend);
  const Memory memory = Must(rig->Create(rig.chunk(), 0, 0, 70));
  const Address base = Must(rig->Reserve(2 * rig.chunk(), 0));
  Must(rig->Map(base, rig.chunk(), memory.handle));
  Must(rig->Map(base + rig.chunk(), rig.chunk(), memory.handle));
  Must(rig->SetAccess(base, 2 * rig.chunk(), 0));
  const BakedSlot first{.slot = 0, .address = base, .size = rig.chunk(), .access = Access::kBoth};
  const BakedSlot second{.slot = 0, .address = base + rig.chunk(), .size = rig.chunk(), .access = Access::kBoth};
  BOOST_TEST(LaunchAndRead(rig, Must(rig->Capture({&first, 1}, 1))) == 70u);
  BOOST_TEST(LaunchAndRead(rig, Must(rig->Capture({&second, 1}, 1))) == NextTag(70));
}

CONTRACT_CASE(unmap_takes_whole_mappings_only_and_changes_nothing_else) {
  Rig rig(backend);
  const Address base = Must(rig->Reserve(6 * rig.chunk(), 0));
  const uint64_t chunk = rig.chunk();
  // Mapped: [0, 2) as one, [2, 3), a hole, [4, 5).
  const Memory wide = Must(rig->Create(2 * chunk, 0, 0, 80));
  const Memory second = Must(rig->Create(chunk, 0, 0, 81));
  const Memory third = Must(rig->Create(chunk, 0, 0, 82));
  Must(rig->Map(base, 2 * chunk, wide.handle));
  Must(rig->Map(base + 2 * chunk, chunk, second.handle));
  Must(rig->Map(base + 4 * chunk, chunk, third.handle));
  Must(rig->SetAccess(base, 3 * chunk, 0));
  const Outstanding before = rig->outstanding();
  MustRefuse(rig->Unmap(base, chunk), "unmap");                  // half of one
  MustRefuse(rig->Unmap(base + chunk, chunk), "unmap");          // its other half
  MustRefuse(rig->Unmap(base + chunk, 2 * chunk), "unmap");      // begins inside
  MustRefuse(rig->Unmap(base + 3 * chunk, chunk), "unmap");      // nothing there
  MustRefuse(rig->Unmap(base + 2 * chunk, 3 * chunk), "unmap");  // a hole
  MustRefuse(rig->Unmap(base + 4 * chunk, 2 * chunk), "unmap");  // a hole at the end
  MustRefuse(rig->Unmap(base, 0), "unmap");
  MustRefuse(rig->Unmap(kNullAddress, chunk), "unmap");
  BOOST_TEST((rig->outstanding() == before));
  const BakedSlot slot{.slot = 0, .address = base, .size = chunk, .access = Access::kRead};
  BOOST_TEST(LaunchAndRead(rig, Must(rig->Capture({&slot, 1}, 1))) == 80u);
  if (rig->capabilities().multi_mapping_unmap) {
    Must(rig->Unmap(base, 3 * chunk));
  } else {
    Must(rig->Unmap(base, 2 * chunk));
    Must(rig->Unmap(base + 2 * chunk, chunk));
  }
  MustRefuse(rig->Unmap(base, 2 * chunk), "unmap");  // twice
  BOOST_TEST(rig->outstanding().mappings == 1u);
}

CONTRACT_CASE(a_fresh_mapping_is_accessible_to_nobody) {
  Rig rig(backend);
  const Memory memory = Must(rig->Create(rig.chunk(), 0, 0, 1));
  const Address base = Must(rig->Reserve(rig.chunk(), 0));
  Must(rig->Map(base, rig.chunk(), memory.handle));
  const BakedSlot slot{.slot = 0, .address = base, .size = rig.chunk(), .access = Access::kBoth};
  MustRefuse(rig->Capture({&slot, 1}, 1), "capture");
  Must(rig->SetAccess(base, rig.chunk(), 0));
  Must(rig->Capture({&slot, 1}, 1));
  // Access belongs to the mapping, not to the address.
  Must(rig->Unmap(base, rig.chunk()));
  Must(rig->Map(base, rig.chunk(), memory.handle));
  MustRefuse(rig->Capture({&slot, 1}, 1), "capture");
}

CONTRACT_CASE(set_access_wants_whole_mappings_without_a_hole_and_a_device_that_exists) {
  Rig rig(backend);
  Range range(rig, 4, 2);
  const Memory memory = Must(rig->Create(range.chunk, 0, 0, 1));
  Must(rig->Map(range.At(3), range.chunk, memory.handle));
  MustRefuse(rig->SetAccess(range.At(2), range.chunk, 0), "set_access");      // nothing there
  MustRefuse(rig->SetAccess(range.base, range.size, 0), "set_access");        // a hole
  MustRefuse(rig->SetAccess(range.At(1), 2 * range.chunk, 0), "set_access");  // a hole at the end
  MustRefuse(rig->SetAccess(range.base, 0, 0), "set_access");
  MustRefuse(rig->SetAccess(range.base, range.chunk, rig.devices()), "set_access");
  Must(rig->SetAccess(range.base, 2 * range.chunk, 0));  // again, with nothing to change
}

CONTRACT_CASE(set_access_takes_a_part_where_the_driver_says_so) {
  Rig rig(backend);
  if (rig->capabilities().partial_access == Capabilities::PartialAccess::kNone) {
    return;
  }
  Range range(rig, 3);
  const Memory memory = Must(rig->Create(range.chunk, 0, 0, 90));
  Must(rig->Unmap(range.At(1), range.chunk));
  Must(rig->Map(range.At(1), range.chunk, memory.handle));
  Must(rig->SetAccess(range.At(1), range.chunk, 0));
  const BakedSlot slot = range.Slot(1);
  BOOST_TEST(LaunchAndRead(rig, Must(rig->Capture({&slot, 1}, 1))) == 90u);
}

CONTRACT_CASE(peers_are_given_access_one_by_one) {
  Rig rig(backend, {.devices = 2});
  Range range(rig, 2);
  const auto slots = range.Slots();
  BOOST_TEST(LaunchAndRead(rig, Must(rig->Capture(slots, 1))) == kFirstTag);
  MustRefuse(rig->SetAccess(range.base, range.size, 2), "set_access");
  range.GiveBack(rig);
}

CONTRACT_CASE(whatever_is_taken_is_counted_and_giving_it_back_leaves_nothing) {
  Rig rig(backend);
  Range range(rig, 3);
  const Address shadow = Must(rig->ShadowAlloc(100, 0, 0));
  const EventId event = Must(rig->CreateEvent());
  const auto slots = range.Slots();
  const CommandBufferId command_buffer = Must(rig->Capture(slots, 3));
  const Outstanding all{
      .reservations = 1, .handles = 3, .mappings = 3, .shadows = 1, .events = 1, .command_buffers = 1};
  BOOST_TEST((rig->outstanding() == all));
  Must(rig->Launch({.command_buffer = command_buffer}));
  Must(rig->Synchronize());
  Must(rig->DestroyCommandBuffer(command_buffer));
  Must(rig->DestroyEvent(event));
  Must(rig->ShadowFree(shadow, 100));
  range.GiveBack(rig);
  BOOST_TEST(rig->outstanding().empty());
}

CONTRACT_CASE(a_backend_that_is_destroyed_releases_what_is_left) {
  for (int i = 0; i < 3; ++i) {
    Rig rig(backend);
    Range range(rig, 2);
    const auto slots = range.Slots();
    Must(rig->ShadowAlloc(8, 0, 0));
    Must(rig->Launch({.command_buffer = Must(rig->Capture(slots, 1)), .gpu_ns = 1'000'000}));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab::contract
