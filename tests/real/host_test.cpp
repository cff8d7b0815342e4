#include "backends/host/host_backend.h"

#include <sys/uio.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <vector>

namespace remaplab {
namespace {

constexpr uint64_t kPage = 4096;

std::unique_ptr<Backend> Make(BackendOptions options = {}) {
  options.touch = Touch::kFull;
  auto made = MakeHostBackend(options);
  BOOST_REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error().message()));
  return std::move(*made);
}

void Require(const Status& status) {
  BOOST_REQUIRE_MESSAGE(status.has_value(), (status ? std::string() : status.error().message()));
}

// What the kernel sees at an address of this process: the value there, or 0 when it cannot be read.
uint64_t Peek(Address at) {
  uint64_t value = 0;
  const iovec local{&value, sizeof(value)};
  const iovec remote{reinterpret_cast<void*>(at), sizeof(value)};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) < 0 ? 0 : value;
}

size_t OpenFiles() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// One slot of one page in a reservation of its own, with a command buffer over it.
struct OneSlot {
  explicit OneSlot(Backend& made) : backend(made) {
    base = backend.Reserve(kPage, 0).value();
    first = backend.Create(kPage, 0, 0, 111).value();
    second = backend.Create(kPage, 0, 0, 222).value();
    MapIn(first);
    command_buffer = backend.Capture(std::vector{BakedSlot{0, base, kPage, Access::kRead}}, 1).value();
  }

  void MapIn(const Memory& memory) {
    Require(backend.Map(base, kPage, memory.handle));
    Require(backend.SetAccess(base, kPage, 0));
  }
  LaunchTag LastTag() {
    std::vector<LaunchTag> tags;
    Require(backend.ReadTags(0, tags));
    BOOST_REQUIRE(tags.size() == 1);
    return tags[0];
  }

  Backend& backend;
  Address base = kNullAddress;
  Memory first;
  Memory second;
  CommandBufferId command_buffer = kNoCommandBuffer;
};

BOOST_AUTO_TEST_SUITE(host)

BOOST_AUTO_TEST_CASE(a_launch_over_nothing_is_noticed_and_survived) {
  auto backend = Make();
  OneSlot slot(*backend);
  Require(backend->Unmap(slot.base, kPage));
  Require(backend->Launch({.command_buffer = slot.command_buffer}));
  BOOST_TEST(!slot.LastTag().reachable);
  Require(backend->Map(slot.base, kPage, slot.second.handle));
  Require(backend->Launch({.command_buffer = slot.command_buffer}));
  BOOST_TEST(!slot.LastTag().reachable);  // mapped, and nobody may touch it
  Require(backend->SetAccess(slot.base, kPage, 0));
  Require(backend->Launch({.command_buffer = slot.command_buffer}));
  BOOST_TEST(slot.LastTag().reachable);
  BOOST_TEST(slot.LastTag().value == 222u);
}

BOOST_AUTO_TEST_CASE(a_remap_that_does_not_wait_is_seen_by_the_launch_in_flight) {
  auto backend = Make();
  OneSlot slot(*backend);
  Require(backend->Launch({.command_buffer = slot.command_buffer, .gpu_ns = 200'000'000}));
  Require(backend->Unmap(slot.base, kPage));
  slot.MapIn(slot.second);
  BOOST_TEST(slot.LastTag().value == 222u);
}

BOOST_AUTO_TEST_CASE(a_remap_that_waits_is_not) {
  auto backend = Make();
  OneSlot slot(*backend);
  const EventId event = backend->CreateEvent().value();
  Require(backend->Launch({.command_buffer = slot.command_buffer, .gpu_ns = 20'000'000}));
  Require(backend->Record(event));
  Require(backend->Wait(event));
  Require(backend->Unmap(slot.base, kPage));
  slot.MapIn(slot.second);
  BOOST_TEST(slot.LastTag().value == 111u);
}

BOOST_AUTO_TEST_CASE(what_is_freed_under_a_running_launch_hits_nobody_else) {
  auto backend = Make();
  const Address shadow = backend->ShadowAlloc(64, 0, 0).value();
  const CommandBufferId command_buffer =
      backend->Capture(std::vector{BakedSlot{0, shadow, 64, Access::kBoth}}, 1).value();
  Require(backend->Launch({.command_buffer = command_buffer, .gpu_ns = 100'000'000}));
  Require(backend->ShadowFree(shadow, 64));
  const Address other = backend->ShadowAlloc(64, 0, 0).value();
  BOOST_TEST(other != shadow);
  std::vector<LaunchTag> tags;
  Require(backend->ReadTags(0, tags));
  BOOST_TEST(!tags[0].reachable);
  BOOST_TEST(Peek(other) == 0u);
}

BOOST_AUTO_TEST_CASE(small_tags_go_whole_through_a_shadow) {
  auto backend = Make();
  const uint64_t tag = 0x1122334455667788;
  const Memory memory = backend->Create(kPage, 0, 0, tag).value();
  for (const uint64_t size : {1, 2, 3, 4, 7, 8, 100}) {
    const Address shadow = backend->ShadowAlloc(size, 0, 0).value();
    Require(backend->Copy(shadow, memory.address, size));
    Require(backend->Synchronize());
    BOOST_TEST(Peek(shadow) == tag);
    Require(backend->ShadowFree(shadow, size));
  }
}

BOOST_AUTO_TEST_CASE(a_peer_sees_the_memory_in_its_own_view) {
  auto backend = Make({.devices = 3});
  const Address base = backend->Reserve(2 * kPage, 0).value();
  const Memory memory = backend->Create(kPage, 0, 0, 77).value();
  Require(backend->Map(base + kPage, kPage, memory.handle));
  Require(backend->SetAccess(base + kPage, kPage, 2));
  const Address third_view = base + 2 * (2 * kPage) + kPage;
  BOOST_TEST(Peek(base + kPage) == 0u);
  BOOST_TEST(Peek(third_view) == 77u);
  Require(backend->Unmap(base + kPage, kPage));
  BOOST_TEST(Peek(third_view) == 0u);
}

BOOST_AUTO_TEST_CASE(thousands_of_backings_need_no_file_descriptors) {
  auto backend = Make();
  std::vector<Memory> all;
  const size_t before = OpenFiles();
  for (int i = 0; i < 3000; ++i) all.push_back(backend->Create(kPage, 0, 0, 1).value());
  BOOST_TEST(OpenFiles() == before);
  for (const Memory& memory : all) Require(backend->Release(memory));
  BOOST_TEST(backend->outstanding().empty());
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_there_is_refused_before_it_is_touched) {
  auto backend = Make();
  auto created = backend->Create(uint64_t{1} << 45, 0, 0, 1);
  BOOST_REQUIRE(!created.has_value());
  BOOST_TEST((created.error().code() == ErrorCode::kOutOfMemory));
  auto reserved = backend->Reserve(uint64_t{1} << 62, 0);
  BOOST_REQUIRE(!reserved.has_value());
  BOOST_TEST((reserved.error().code() == ErrorCode::kOutOfMemory));
  BOOST_TEST(backend->outstanding().empty());
}

BOOST_AUTO_TEST_CASE(reservations_are_aligned_as_asked) {
  auto backend = Make({.devices = 2});
  for (const uint64_t alignment : {uint64_t{0}, kPage, uint64_t{1} << 21, uint64_t{1} << 30}) {
    const Address base = backend->Reserve(3 * kPage, alignment).value();
    BOOST_TEST(base % (alignment == 0 ? kPage : alignment) == 0u);
    Require(backend->AddressFree(base, 3 * kPage));
  }
}

BOOST_AUTO_TEST_CASE(destroying_a_busy_backend_does_not_wait_for_its_idle_time) {
  auto backend = Make();
  OneSlot slot(*backend);
  Require(backend->Launch({.command_buffer = slot.command_buffer, .gpu_ns = int64_t{3600} * 1'000'000'000}));
  backend.reset();
}

BOOST_AUTO_TEST_CASE(the_cpu_runs_as_far_ahead_as_told) {
  auto backend = Make({.run_ahead = 1});
  std::vector<StepEnd> ends;
  for (uint64_t step = 1; step <= 6; ++step) {
    Require(backend->BeginStep(step));
    Require(backend->TakeStepEnds(ends));
    // All steps but the last one have ended; step 4 was not launched and has no end.
    BOOST_TEST(ends.size() + (step > 5 ? 1 : 0) + 2 >= step);
    Require(backend->Launch({.command_buffer = kNoCommandBuffer, .gpu_ns = 2'000'000}));
    Require(backend->EndStep(step, step != 4));
  }
  Require(backend->Synchronize());
  Require(backend->TakeStepEnds(ends));
  std::vector<uint64_t> steps;
  for (size_t i = 0; i < ends.size(); ++i) {
    steps.push_back(ends[i].step);
    BOOST_TEST((i == 0 || ends[i].end_ns >= ends[i - 1].end_ns));
  }
  BOOST_TEST(steps == (std::vector<uint64_t>{1, 2, 3, 5, 6}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_it_cannot_be_is_refused) {
  BOOST_TEST(!MakeHostBackend({.devices = 0}).has_value());
  BOOST_TEST(!MakeHostBackend({.devices = 17}).has_value());
  BOOST_TEST(!MakeHostBackend({.granularity = 1000}).has_value());
  BOOST_TEST(!HostUnavailable().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
