#include <dlfcn.h>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "backends/hip/hip_backend.h"

namespace remaplab {
namespace {

struct Platform {
  const char* name;
  std::optional<std::string> (*unavailable)(const std::string& library);
  Result<std::unique_ptr<Backend>> (*make)(const BackendOptions& options, const std::string& library);
  const char* fake;
  const char* idle;
  const char* needed;
  const char* fake_version;  // as messages say it
  long too_old;
  const char* too_old_version;
  const char* idle_version;

  friend std::ostream& operator<<(std::ostream& out, const Platform& platform) { return out << platform.name; }
};

const std::vector<Platform>& Platforms() {
  static const std::vector<Platform> platforms = {
#if defined(REMAPLAB_TEST_amd)
    {"amd", hip_amd::Unavailable, hip_amd::MakeBackend, REMAPLAB_FAKE_amd, REMAPLAB_IDLE_amd,
     "HIP 6.2 (ROCm 6.2) or later", "HIP 7.1.51831", 50221153, "HIP 5.2.21153", "HIP 6.2.41134"},
#endif
#if defined(REMAPLAB_TEST_nvidia)
    {"nvidia", hip_nvidia::Unavailable, hip_nvidia::MakeBackend, REMAPLAB_FAKE_nvidia, REMAPLAB_IDLE_nvidia,
     "an NVIDIA driver for CUDA 12.0 or later", "CUDA 13.0", 11080, "CUDA 11.8", "CUDA 13.0"},
#endif
  };
  return platforms;
}

// The knobs of a fake driver; all back to normal at the end of a test.
class Fake {
 public:
  explicit Fake(const Platform& platform) : handle_(dlopen(platform.fake, RTLD_NOW | RTLD_LOCAL)) {
    BOOST_REQUIRE_MESSAGE(handle_ != nullptr, dlerror());
    set_ = reinterpret_cast<void (*)(const char*, long)>(dlsym(handle_, "fake_driver_set"));
    live_ = reinterpret_cast<long (*)()>(dlsym(handle_, "fake_driver_live"));
    BOOST_REQUIRE((set_ != nullptr && live_ != nullptr));
    before_ = live_();
  }
  ~Fake() {
    Set("version", 0);
    Set("devices", 2);
    Set("memory", long{1} << 30);
    for (const char* knob : {"dead", "deaf", "refuse_update", "hang_ns"}) Set(knob, 0);
  }
  Fake(const Fake&) = delete;
  Fake& operator=(const Fake&) = delete;

  void Set(const char* knob, long value) { set_(knob, value); }
  // More things are allocated than when the test began.
  long live() { return live_() - before_; }

 private:
  void* handle_;
  void (*set_)(const char*, long);
  long (*live_)();
  long before_ = 0;
};

void Require(const Status& status) {
  BOOST_REQUIRE_MESSAGE(status.has_value(), (status ? std::string() : status.error().message()));
}

std::unique_ptr<Backend> Make(const Platform& platform, BackendOptions options = {}) {
  auto made = platform.make(options, platform.fake);
  BOOST_REQUIRE_MESSAGE(made.has_value(), (made ? std::string() : made.error().message()));
  return std::move(*made);
}

std::string Why(const Platform& platform, const std::string& library) {
  return platform.unavailable(library).value_or("available");
}

// Slots of one granule each in a reservation, with two backings for each: tags 1, 2, ... and 101, 102, ...
struct Rig {
  Rig(Backend& made, uint32_t slots, Access access = Access::kBoth) : backend(made) {
    granule = backend.capabilities().minimum_granularity;
    base = backend.Reserve(slots * granule, 0).value();
    for (uint32_t slot = 0; slot < slots; ++slot) {
      first.push_back(backend.Create(granule, 0, 0, slot + 1).value());
      second.push_back(backend.Create(granule, 0, 0, slot + 101).value());
      Require(backend.Map(base + slot * granule, granule, first[slot].handle));
      baked.push_back({slot, base + slot * granule, granule, access});
    }
    Require(backend.SetAccess(base, slots * granule, 0));
    command_buffer = backend.Capture(baked, 40).value();
    event = backend.CreateEvent().value();
  }
  ~Rig() {
    for (const auto* memories : {&first, &second}) {
      for (const Memory& memory : *memories) static_cast<void>(backend.Release(memory));
    }
  }

  void Remap(uint32_t slot, const Memory& memory) {
    Require(backend.Unmap(baked[slot].address, granule));
    Require(backend.Map(baked[slot].address, granule, memory.handle));
    Require(backend.SetAccess(baked[slot].address, granule, 0));
  }
  void Launch(int64_t gpu_ns = 0) {
    Require(backend.Launch({.command_buffer = command_buffer, .gpu_ns = gpu_ns}));
    Require(backend.Record(event));
  }
  std::vector<uint64_t> Tags(uint32_t back = 0) {
    std::vector<LaunchTag> tags;
    Require(backend.ReadTags(back, tags));
    std::vector<uint64_t> values;
    for (const LaunchTag& tag : tags) values.push_back(tag.reachable ? tag.value : 0);
    return values;
  }

  Backend& backend;
  uint64_t granule = 0;
  Address base = kNullAddress;
  std::vector<Memory> first;
  std::vector<Memory> second;
  std::vector<BakedSlot> baked;
  CommandBufferId command_buffer = kNoCommandBuffer;
  EventId event = 0;
};

using Values = std::vector<uint64_t>;
constexpr auto kPerElement = boost::test_tools::per_element();

BOOST_AUTO_TEST_SUITE(hip)

#if !defined(REMAPLAB_TEST_amd) && !defined(REMAPLAB_TEST_nvidia)
BOOST_AUTO_TEST_CASE(built_without_a_platform_it_says_so) {
  BOOST_TEST_MESSAGE("no HIP and no CUDA header here: the hip backend's tests were not built");
  BOOST_TEST(HipUnavailable().value_or("") ==
             "hip: found a build without HIP and CUDA headers; needed: configure with -DREMAPLAB_HIP=amd or nvidia");
}
#else

BOOST_DATA_TEST_CASE(a_library_that_is_too_old_is_refused_by_its_version, Platforms(), platform) {
  Fake fake(platform);
  fake.Set("version", platform.too_old);
  BOOST_TEST(Why(platform, platform.fake) == std::string("hip: found ") + platform.fake + " (" +
                                                 platform.too_old_version + "); needed: " + platform.needed);
}

BOOST_DATA_TEST_CASE(a_machine_without_the_library_is_refused, Platforms(), platform) {
  const std::string why = Why(platform, "/nowhere/libgpu.so");
  BOOST_TEST(why.starts_with("hip: found no "));
  BOOST_TEST(why.ends_with(std::string("; needed: ") + platform.needed));
  BOOST_TEST(why.find('\n') == std::string::npos);
}

BOOST_DATA_TEST_CASE(a_library_without_a_device_is_refused, Platforms(), platform) {
  Fake fake(platform);
  fake.Set("devices", 0);
  BOOST_TEST(Why(platform, platform.fake) == std::string("hip: found ") + platform.fake + " (" + platform.fake_version +
                                                 ") and no device; needed: " + platform.needed);
}

BOOST_DATA_TEST_CASE(more_devices_than_there_are_are_refused, Platforms(), platform) {
  Fake fake(platform);
  auto made = platform.make({.devices = 3}, platform.fake);
  BOOST_REQUIRE(!made.has_value());
  BOOST_TEST(made.error().message() == std::string("hip: found 2 devices by ") + platform.fake + " (" +
                                           platform.fake_version + "); needed: 3 (--devices)");
}

BOOST_DATA_TEST_CASE(a_stand_in_that_does_nothing_is_refused_by_the_probe, Platforms(), platform) {
  BOOST_TEST(Why(platform, platform.idle) ==
             std::string("hip: found ") + platform.idle + " (" + platform.idle_version +
                 ") and a device that fails the map-write-read probe: hipMemAddressReserve succeeded and gave no "
                 "address; needed: " +
                 platform.needed);
}

BOOST_DATA_TEST_CASE(a_driver_whose_copies_go_nowhere_is_refused_by_the_probe, Platforms(), platform) {
  Fake fake(platform);
  fake.Set("deaf", 1);
  BOOST_TEST(Why(platform, platform.fake) ==
             std::string("hip: found ") + platform.fake + " (" + platform.fake_version +
                 ") and a device that fails the map-write-read probe: a mapped address reads 0xfedcba9876543210 "
                 "where 0x123456789abcdef was written; needed: " +
                 platform.needed);
  BOOST_TEST(fake.live() == 0);
}

BOOST_DATA_TEST_CASE(a_good_driver_passes_and_the_probe_leaves_nothing_behind, Platforms(), platform) {
  Fake fake(platform);
  BOOST_TEST(Why(platform, platform.fake) == "available");
  BOOST_TEST(fake.live() == 0);
}

BOOST_DATA_TEST_CASE(what_it_is_stands_in_its_info, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.devices = 2});
  BOOST_TEST(backend->info().name == "hip");
  BOOST_TEST(backend->info().identity.front().second == platform.name);
  BOOST_TEST(backend->capabilities().minimum_granularity == 65536u);
  BOOST_TEST(backend->capabilities().recommended_granularity == 131072u);
  BOOST_TEST(backend->capabilities().readback_depth == 0u);
  BOOST_TEST(!platform.make({.granularity = 4096}, platform.fake).has_value());
}

BOOST_DATA_TEST_CASE(every_launch_reads_and_leaves_the_tags_of_what_is_mapped, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  {
    Rig rig(*backend, 3);
    rig.Launch();
    BOOST_TEST(rig.Tags() == (Values{1, 2, 3}), kPerElement);
    rig.Launch();
    BOOST_TEST(rig.Tags() == (Values{NextTag(1), NextTag(2), NextTag(3)}), kPerElement);
    BOOST_TEST(rig.Tags(1) == (Values{1, 2, 3}), kPerElement);
    Require(backend->Wait(rig.event));
    rig.Remap(1, rig.second[1]);
    rig.Launch();
    BOOST_TEST(rig.Tags() == (Values{NextTag(NextTag(1)), 102, NextTag(NextTag(3))}), kPerElement);
    BOOST_TEST(backend->ReadTag(rig.first[1]).value() == NextTag(NextTag(2)));
    BOOST_TEST(backend->ReadTag(rig.second[1]).value() == NextTag(102));
    Require(backend->DestroyCommandBuffer(rig.command_buffer));
    Require(backend->Unmap(rig.base, 3 * rig.granule));
    Require(backend->AddressFree(rig.base, 3 * rig.granule));
    Require(backend->DestroyEvent(rig.event));
  }
  Require(backend->Synchronize());
  BOOST_TEST(backend->outstanding().empty());
  backend.reset();
  BOOST_TEST(fake.live() == 0);
}

BOOST_DATA_TEST_CASE(read_only_slots_are_not_written, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  Rig rig(*backend, 2, Access::kRead);
  rig.Launch();
  rig.Launch();
  BOOST_TEST(rig.Tags() == (Values{1, 2}), kPerElement);
}

BOOST_DATA_TEST_CASE(two_slots_with_one_backing_read_the_same_tag, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  Rig rig(*backend, 2);
  rig.Remap(1, rig.first[0]);
  rig.Launch();
  BOOST_TEST(rig.Tags() == (Values{1, 1}), kPerElement);
  rig.Launch();
  BOOST_TEST(rig.Tags() == (Values{NextTag(1), NextTag(1)}), kPerElement);
}

BOOST_DATA_TEST_CASE(a_remap_that_did_not_wait_is_seen, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  Rig rig(*backend, 2);
  rig.Launch(300'000'000);
  rig.Remap(0, rig.second[0]);
  // The launch, enqueued over the first backing, found the second or nothing at all.
  std::vector<LaunchTag> tags;
  const Status read = backend->ReadTags(0, tags);
  BOOST_TEST((!read.has_value() || tags[0].value != 1));
}

BOOST_DATA_TEST_CASE(a_launch_over_nothing_is_kept_from_the_device, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  Rig rig(*backend, 3);
  Require(backend->Unmap(rig.baked[1].address, rig.granule));
  rig.Launch();
  BOOST_TEST(rig.Tags() == (Values{1, 0, 3}), kPerElement);
  Require(backend->Map(rig.baked[1].address, rig.granule, rig.second[1].handle));
  rig.Launch();  // still no access
  BOOST_TEST(rig.Tags() == (Values{NextTag(1), 0, NextTag(3)}), kPerElement);
  Require(backend->SetAccess(rig.baked[1].address, rig.granule, 0));
  rig.Launch();
  BOOST_TEST(rig.Tags() == (Values{NextTag(NextTag(1)), 102, NextTag(NextTag(3))}), kPerElement);

  auto unchecked = Make(platform);
  Rig other(*unchecked, 1);
  Require(unchecked->Unmap(other.base, other.granule));
  BOOST_TEST(!unchecked->Launch({.command_buffer = other.command_buffer}).has_value());
}

BOOST_DATA_TEST_CASE(a_launch_without_a_command_buffer_touches_each_bindings_own_address, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  Rig rig(*backend, 2);
  const std::vector<Binding> bindings = {
      {.backing = 7, .memory = rig.second[0]}, {}, {.backing = 8, .memory = rig.second[1]}};
  Require(backend->Launch({.bindings = bindings}));
  std::vector<LaunchTag> tags;
  Require(backend->ReadTags(0, tags));
  BOOST_REQUIRE(tags.size() == 2u);
  BOOST_TEST(tags[1].slot == 2u);
  BOOST_TEST(tags[1].value == 102u);
  BOOST_TEST(backend->ReadTag(rig.second[0]).value() == NextTag(101));
}

BOOST_DATA_TEST_CASE(an_update_changes_addresses_in_place, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  Rig rig(*backend, 2);
  for (const long refuse : {0, 1}) {
    fake.Set("refuse_update", refuse);  // then the graph is built again
    const Memory& memory = rig.second[static_cast<size_t>(refuse)];
    const std::vector<BakedSlot> changed = {{1, memory.address, rig.granule, Access::kBoth}};
    Require(backend->Update(rig.command_buffer, changed, 40));
    rig.Launch();
    BOOST_TEST(rig.Tags()[1] == 101u + static_cast<uint64_t>(refuse));
  }
  const std::vector<BakedSlot> unknown = {{9, rig.first[0].address, rig.granule, Access::kBoth}};
  BOOST_TEST(!backend->Update(rig.command_buffer, unknown, 40).has_value());
}

BOOST_DATA_TEST_CASE(small_shadows_carry_their_tags_through_launches, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  const Memory memory = backend->Create(65536, 0, 0, 0x1122334455667788).value();
  for (const uint64_t size : {1, 3, 8}) {
    const Address shadow = backend->ShadowAlloc(size, 0, 0).value();
    const uint64_t before = backend->ReadTag(memory).value();
    const CommandBufferId buffer = backend->Capture(std::vector{BakedSlot{0, shadow, size, Access::kBoth}}, 0).value();
    Require(backend->Copy(shadow, memory.address, size));
    Require(backend->Launch({.command_buffer = buffer}));
    Require(backend->Copy(memory.address, shadow, size));
    std::vector<LaunchTag> tags;
    Require(backend->ReadTags(0, tags));
    BOOST_TEST(tags[0].value == (size == 8 ? before : before & ((uint64_t{1} << 8 * size) - 1)));
    BOOST_TEST(backend->ReadTag(memory).value() == NextTag(before));
    Require(backend->DestroyCommandBuffer(buffer));
    Require(backend->ShadowFree(shadow, size));
  }
  Require(backend->Release(memory));
}

BOOST_DATA_TEST_CASE(memory_released_under_a_running_launch_stays_until_it_is_done, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  const Memory memory = backend->Create(65536, 0, 0, 5).value();
  const CommandBufferId buffer =
      backend->Capture(std::vector{BakedSlot{0, memory.address, 65536, Access::kRead}}, 0).value();
  Require(backend->Launch({.command_buffer = buffer, .gpu_ns = 50'000'000}));
  Require(backend->Release(memory));
  BOOST_TEST(!backend->Release(memory).has_value());
  std::vector<LaunchTag> tags;
  Require(backend->ReadTags(0, tags));
  BOOST_TEST(tags[0].value == 5u);
  Require(backend->DestroyCommandBuffer(buffer));
  Require(backend->Synchronize());
  BOOST_TEST(backend->outstanding().empty());
  backend.reset();
  BOOST_TEST(fake.live() == 0);
}

BOOST_DATA_TEST_CASE(out_of_memory_is_an_error_that_leaves_everything_usable, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull});
  fake.Set("memory", 4 * 65536);
  std::vector<Memory> all;
  for (int i = 0; i < 4; ++i) all.push_back(backend->Create(65536, 0, 0, 1).value());
  auto refused = backend->Create(65536, 0, 0, 1);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST((refused.error().code() == ErrorCode::kOutOfMemory));
  BOOST_TEST(refused.error().message() == "create(0x0, 65536): hipMemCreate says FAKE_OUT_OF_MEMORY (2)");
  for (const Memory& memory : all) Require(backend->Release(memory));
  BOOST_TEST(backend->Create(65536, 0, 0, 1).has_value());
}

BOOST_DATA_TEST_CASE(a_device_that_disappears_makes_errors_and_no_hang, Platforms(), platform) {
  Fake fake(platform);
  {
    auto backend = Make(platform, {.touch = Touch::kFull});
    Rig rig(*backend, 2);
    Require(backend->BeginStep(1));
    rig.Launch(1'000'000);
    Require(backend->EndStep(1, true));
    fake.Set("dead", 1);
    BOOST_TEST(!backend->Launch({.command_buffer = rig.command_buffer}).has_value());
    BOOST_TEST(!backend->Wait(rig.event).has_value());
    BOOST_TEST(!backend->Map(rig.base, rig.granule, rig.first[0].handle).has_value());
    BOOST_TEST(!backend->BeginStep(3).has_value());
    std::vector<StepEnd> ends;
    BOOST_TEST(!backend->TakeStepEnds(ends).has_value());
    const Status synchronized = backend->Synchronize();
    BOOST_REQUIRE(!synchronized.has_value());
    BOOST_TEST(synchronized.error().message() ==
               "synchronize(0x0, 0): hipStreamSynchronize says FAKE_DEVICE_LOST (719)");
  }
}

BOOST_DATA_TEST_CASE(step_ends_come_in_order_and_only_for_launched_steps, Platforms(), platform) {
  Fake fake(platform);
  auto backend = Make(platform, {.touch = Touch::kFull, .run_ahead = 1});
  Rig rig(*backend, 1);
  std::vector<StepEnd> ends;
  for (uint64_t step = 1; step <= 6; ++step) {
    Require(backend->BeginStep(step));
    Require(backend->TakeStepEnds(ends));
    BOOST_TEST(ends.size() + (step > 5 ? 1 : 0) + 2 >= step);
    rig.Launch(1'000'000);
    Require(backend->EndStep(step, step != 4));
  }
  Require(backend->Synchronize());
  Require(backend->TakeStepEnds(ends));
  std::vector<uint64_t> steps;
  for (size_t i = 0; i < ends.size(); ++i) {
    steps.push_back(ends[i].step);
    BOOST_TEST((i == 0 || ends[i].end_ns >= ends[i - 1].end_ns));
  }
  BOOST_TEST(steps == (Values{1, 2, 3, 5, 6}), kPerElement);
}

BOOST_DATA_TEST_CASE(what_is_left_when_it_is_destroyed_is_given_back, Platforms(), platform) {
  Fake fake(platform);
  {
    auto backend = Make(platform, {.devices = 2, .touch = Touch::kFull});
    const Address base = backend->Reserve(4 * 65536, 0).value();
    const Memory memory = backend->Create(65536, 0, 0, 1).value();
    Require(backend->Map(base, 65536, memory.handle));
    Require(backend->SetAccess(base, 65536, 1));
    const Memory released = backend->Create(65536, 1, 0, 1).value();
    Require(backend->Map(base + 65536, 65536, released.handle));
    Require(backend->Release(released));
    static_cast<void>(backend->ShadowAlloc(10, 0, 0).value());
    static_cast<void>(backend->CreateEvent().value());
    static_cast<void>(backend->Capture(std::vector{BakedSlot{0, memory.address, 8, Access::kRead}}, 9).value());
    Require(backend->BeginStep(1));
    Require(backend->Launch({.gpu_ns = 1000}));
    Require(backend->EndStep(1, true));
  }
  BOOST_TEST(fake.live() == 0);
}

#if defined(REMAPLAB_TEST_amd)
bool DebianHipIsHere() { return dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL) != nullptr; }
boost::test_tools::assertion_result DebianHip(boost::unit_test::test_unit_id) {
  if (DebianHipIsHere()) return true;
  BOOST_TEST_MESSAGE("libamdhip64-5 is not installed: its refusal was not tried");
  return false;
}

BOOST_AUTO_TEST_CASE(debians_own_hip_is_refused_by_its_version, *boost::unit_test::precondition(DebianHip)) {
  BOOST_TEST(hip_amd::Unavailable("libamdhip64.so.5").value_or("available") ==
             "hip: found libamdhip64.so.5 (HIP 5.2.21153); needed: HIP 6.2 (ROCm 6.2) or later");
}

BOOST_AUTO_TEST_CASE(one_unmap_takes_one_mapping_before_hip_7) {
  const Platform& amd = Platforms()[0];
  Fake fake(amd);
  fake.Set("version", 60241134);
  auto backend = Make(amd);
  BOOST_TEST(!backend->capabilities().multi_mapping_unmap);
  BOOST_TEST(backend->info().driver_profile == "rocm-6.2");
  Rig rig(*backend, 2);
  BOOST_TEST(!backend->Unmap(rig.base, 2 * rig.granule).has_value());
  Require(backend->Unmap(rig.base, rig.granule));
}
#endif
#endif

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
