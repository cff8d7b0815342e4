// docs/driver-profiles.md is the table: every misuse in it is committed on every profile, and the outcome compared.
// Then the damage that silent successes do, which `verify` must show, and what drivers wait for by themselves.
#include "backends/sim/driver_profile.h"

#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <map>
#include <regex>

#include "backends/verify.h"
#include "tests/backends/sim_fixture.h"

namespace remaplab {
namespace {

const std::vector<std::string> kProfileNames = {"cuda", "cuda-580", "rocm-6.1", "rocm-6.2", "rocm-7.1", "rocm-dev"};

// The verdicts in the document, by misuse and then by profile, without their remarks and sources.
std::map<std::string, std::vector<std::string>> ReadDocument() {
  std::ifstream file(REMAPLAB_SOURCE_DIR "/docs/driver-profiles.md");
  BOOST_REQUIRE(file.good());
  std::map<std::string, std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::smatch row;
    if (!std::regex_match(line, row, std::regex(R"(\| `(\w+_\w+)` \| [^|]* \|(.*)\|)"))) {
      continue;
    }
    const std::string cells = row[2];
    const std::regex cell(R"( *(does|silent|crashes|unknown|refuses(?: \d+)?)[^|]*\|?)");
    for (auto it = std::sregex_iterator(cells.begin(), cells.end(), cell); it != std::sregex_iterator(); ++it) {
      rows[row[1]].push_back((*it)[1]);
    }
  }
  return rows;
}

// A sim of one profile with two devices and whatever a misuse needs.
struct Scene {
  explicit Scene(const std::string& profile) {
    SimOptions options;
    options.driver_profile = profile;
    options.devices = 2;
    sim = MakeSim(options);
    granularity = sim->capabilities().minimum_granularity;
  }
  Memory Make(uint64_t bytes = kChunk) { return Must(sim->Create(bytes, 0, 0, 1)); }
  // Reserves `chunks` and maps memory of its own at each of `at`.
  void Map(uint64_t chunks, const std::vector<uint64_t>& at) {
    size = chunks * kChunk;
    base = Must(sim->Reserve(size, 0));
    for (const uint64_t chunk : at) {
      memory.push_back(Make());
      Must(sim->Map(base + chunk * kChunk, kChunk, memory.back().handle));
    }
  }
  uint64_t Mappings() const { return sim->outstanding().mappings; }

  std::unique_ptr<Backend> sim;
  uint64_t granularity = 0;
  Address base = kNullAddress;
  uint64_t size = 0;
  std::vector<Memory> memory;
};

// What a call came to, in the document's words; `done` is asked afterwards whether a success did what it says.
template <typename T>
std::string Outcome(
    const Result<T>& result, const std::function<bool()>& done = [] { return true; }) {
  if (result) {
    return done() ? "does" : "silent";
  }
  switch (result.error().code()) {
    case ErrorCode::kWouldCrash:
      return "crashes";
    case ErrorCode::kUnknown:
      return "unknown";
    default:
      break;
  }
  std::smatch code;
  const std::string& message = result.error().message();
  return std::regex_search(message, code, std::regex(R"((?:hipError|CUDA_ERROR_)\w+ \((\d+)\)$)"))
             ? "refuses " + code[1].str()
             : "refuses";
}

// Whether set access reached `at`: then a command buffer can be built over it.
bool Accessible(Backend& sim, Address at) {
  Must(sim.SetAccess(at, kChunk, 1));
  const BakedSlot slot{.slot = 0, .address = at, .size = kChunk, .access = Access::kRead};
  return sim.Capture({&slot, 1}, 1).has_value();
}

using Commit = std::function<std::string(Scene&)>;

const std::map<std::string, Commit>& Commits() {
  static const std::map<std::string, Commit> commits = {
      {"reserve_size", [](Scene& s) { return Outcome(s.sim->Reserve(s.granularity + 1, 0)); }},
      {"reserve_alignment", [](Scene& s) { return Outcome(s.sim->Reserve(kChunk, 3 * s.granularity)); }},
      {"reserve_large_alignment",
       [](Scene& s) {
         const auto base = s.sim->Reserve(kChunk, 1024 * kMiB);
         return Outcome(base, [&] { return base.value_or(1) % (1024 * kMiB) == 0; });
       }},
      {"reserve_uneven_alignment", [](Scene& s) { return Outcome(s.sim->Reserve(kChunk, 2048)); }},
      {"create_zero", [](Scene& s) { return Outcome(s.sim->Create(0, 0, 0, 1)); }},
      {"create_device", [](Scene& s) { return Outcome(s.sim->Create(kChunk, 99, 0, 1)); }},
      {"create_odd_size", [](Scene& s) { return Outcome(s.sim->Create(kChunk + 100, 0, 0, 1)); }},
      {"create_unaligned_size", [](Scene& s) { return Outcome(s.sim->Create(kChunk + 2048, 0, 0, 1)); }},
      {"map_null",
       [](Scene& s) {
         s.Map(1, {});
         return Outcome(s.sim->Map(s.base, kChunk, kNoHandle));
       }},
      {"map_outside",
       [](Scene& s) {
         return Outcome(s.sim->Map(kChunk, kChunk, s.Make().handle), [&] { return s.Mappings() == 1; });
       }},
      {"map_past_end",
       [](Scene& s) {
         s.Map(2, {});
         const Memory memory = s.Make(2 * kChunk);
         const Status status = s.sim->Map(s.base + kChunk, 2 * kChunk, memory.handle);
         return Outcome(status, [&] { return s.Mappings() == 1; });
       }},
      {"map_overlap",
       [](Scene& s) {
         s.Map(1, {0});
         const Memory memory = s.Make();
         return Outcome(s.sim->Map(s.base, kChunk, memory.handle), [&] { return s.Mappings() == 2; });
       }},
      {"map_larger_than_handle",
       [](Scene& s) {
         s.Map(2, {});
         return Outcome(s.sim->Map(s.base, 2 * kChunk, s.Make().handle), [&] { return s.Mappings() == 1; });
       }},
      {"map_prefix",
       [](Scene& s) {
         s.Map(1, {});
         const Memory memory = s.Make(2 * kChunk);
         const Status status = s.sim->Map(s.base, kChunk, memory.handle);
         return Outcome(status, [&] { return s.Mappings() == 1; });
       }},
      {"map_unaligned",
       [](Scene& s) {
         s.Map(2, {});
         const Memory memory = s.Make();
         return Outcome(s.sim->Map(s.base + 100, kChunk, memory.handle), [&] { return s.Mappings() == 1; });
       }},
      {"map_released",
       [](Scene& s) {
         s.Map(1, {});
         const Memory memory = s.Make();
         Must(s.sim->Release(memory));
         return Outcome(s.sim->Map(s.base, kChunk, memory.handle), [&] { return s.Mappings() == 1; });
       }},
      {"map_released_alive",
       [](Scene& s) {
         s.Map(1, {0});
         const Address other = Must(s.sim->Reserve(kChunk, 0));
         Must(s.sim->Release(s.memory[0]));
         const Status status = s.sim->Map(other, kChunk, s.memory[0].handle);
         return Outcome(status, [&] { return s.Mappings() == 2; });
       }},
      {"access_null",
       [](Scene& s) {
         s.Map(1, {0});
         return Outcome(s.sim->SetAccess(s.base, 0, 0));
       }},
      {"access_device",
       [](Scene& s) {
         s.Map(1, {0});
         return Outcome(s.sim->SetAccess(s.base, kChunk, 2));
       }},
      {"access_unmapped",
       [](Scene& s) {
         s.Map(1, {});
         return Outcome(s.sim->SetAccess(s.base, kChunk, 0));
       }},
      {"access_part_of_chunk",
       [](Scene& s) {
         s.Map(1, {0});
         const Status status = s.sim->SetAccess(s.base, kChunk / 2, 0);
         return Outcome(status, [&] { return Accessible(*s.sim, s.base); });
       }},
      {"access_hole",
       [](Scene& s) {
         s.Map(3, {0, 2});
         return Outcome(s.sim->SetAccess(s.base, 3 * kChunk, 0));
       }},
      {"access_hole_at_end",
       [](Scene& s) {
         s.Map(3, {0});
         return Outcome(s.sim->SetAccess(s.base, 3 * kChunk, 0));
       }},
      {"access_tail",
       [](Scene& s) {
         s.Map(2, {0, 1});
         return Outcome(s.sim->SetAccess(s.base + kChunk, kChunk, 0));
       }},
      {"access_part_for_peer",
       [](Scene& s) {
         s.Map(2, {0, 1});
         return Outcome(s.sim->SetAccess(s.base, kChunk, 1));
       }},
      {"unmap_null", [](Scene& s) { return Outcome(s.sim->Unmap(kNullAddress, kChunk)); }},
      {"unmap_zero",
       [](Scene& s) {
         s.Map(1, {0});
         return Outcome(s.sim->Unmap(s.base, 0));
       }},
      {"unmap_unmapped",
       [](Scene& s) {
         s.Map(1, {});
         return Outcome(s.sim->Unmap(s.base, kChunk));
       }},
      {"unmap_part",
       [](Scene& s) {
         s.Map(1, {0});
         const Status status = s.sim->Unmap(s.base, kChunk / 2);
         // cuda-580 "does" what lies inside, which is nothing.
         return Outcome(status, [&] { return s.Mappings() == (s.sim->info().driver_profile == "cuda-580" ? 1u : 0u); });
       }},
      {"unmap_inside",
       [](Scene& s) {
         s.Map(1, {0});
         const Status status = s.sim->Unmap(s.base + kChunk / 2, kChunk / 2);
         return Outcome(status, [&] { return s.Mappings() == (s.sim->info().driver_profile == "cuda-580" ? 1u : 0u); });
       }},
      {"unmap_several",
       [](Scene& s) {
         s.Map(3, {0, 1, 2});
         return Outcome(s.sim->Unmap(s.base, s.size), [&] { return s.Mappings() == 0; });
       }},
      {"unmap_hole",
       [](Scene& s) {
         s.Map(3, {0, 2});
         return Outcome(s.sim->Unmap(s.base, s.size), [&] { return s.Mappings() == 0; });
       }},
      {"free_null", [](Scene& s) { return Outcome(s.sim->AddressFree(kNullAddress, kChunk)); }},
      {"free_wrong_size",
       [](Scene& s) {
         s.Map(2, {});
         const Status status = s.sim->AddressFree(s.base, kChunk);
         return Outcome(status, [&] { return s.sim->outstanding().reservations == 0; });
       }},
      {"free_mapped",
       [](Scene& s) {
         s.Map(1, {0});
         const Status status = s.sim->AddressFree(s.base, s.size);
         return Outcome(status, [&] { return s.sim->outstanding().reservations == 0; });
       }},
      {"free_unknown", [](Scene& s) { return Outcome(s.sim->AddressFree(kChunk, kChunk)); }},
      {"release_null", [](Scene& s) { return Outcome(s.sim->Release(Memory{})); }},
      {"release_mapped",
       [](Scene& s) {
         s.Map(1, {0});
         const Status status = s.sim->Release(s.memory[0]);
         return Outcome(status, [&] { return s.sim->outstanding().handles == 1; });
       }},
      {"release_twice",
       [](Scene& s) {
         const Memory memory = s.Make();
         Must(s.sim->Release(memory));
         return Outcome(s.sim->Release(memory));
       }},
  };
  return commits;
}

// rocm-6.1 maps whole reservations, so a reservation with two mappings cannot be set up there.
bool NeedsSeveralMappings(const std::string& misuse) {
  for (const char* name : {"access_hole", "access_hole_at_end", "access_tail", "access_part_for_peer", "unmap_several",
                           "unmap_hole", "map_larger_than_handle"}) {
    if (misuse == name) {
      return true;
    }
  }
  return false;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(DriverProfileTest)

BOOST_AUTO_TEST_CASE(every_profile_does_with_every_misuse_what_the_document_says) {
  const auto document = ReadDocument();
  BOOST_TEST(document.size() == kMisuseCount);
  for (size_t i = 0; i < kMisuseCount; ++i) {
    const std::string misuse(Name(static_cast<Misuse>(i)));
    BOOST_REQUIRE_MESSAGE(document.count(misuse) == 1 && Commits().count(misuse) == 1, misuse);
    const std::vector<std::string>& cells = document.at(misuse);
    BOOST_REQUIRE_MESSAGE(cells.size() == kProfileNames.size(), misuse << " has " << cells.size() << " cells");
    for (size_t p = 0; p < kProfileNames.size(); ++p) {
      BOOST_TEST_CONTEXT(misuse << " on " << kProfileNames[p]) {
        if (kProfileNames[p] == "rocm-6.1" && NeedsSeveralMappings(misuse)) {
          const DriverVerdict verdict = Must(FindDriverProfile(kProfileNames[p]))->On(static_cast<Misuse>(i));
          BOOST_TEST((verdict.kind == VerdictKind::kUnknown) == (cells[p] == "unknown"));
          continue;
        }
        Scene scene(kProfileNames[p]);
        BOOST_TEST(Commits().at(misuse)(scene) == cells[p]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_profiles_are_those_of_the_document_and_cuda_is_the_default) {
  std::vector<std::string> names;
  for (const DriverProfile& profile : DriverProfiles()) {
    names.emplace_back(profile.name);
  }
  BOOST_TEST(names == kProfileNames, boost::test_tools::per_element());
  BOOST_TEST(BackendOptions().driver_profile == "cuda");
  BOOST_TEST((FindDriverProfile("rocm").error().code() == ErrorCode::kUsage));
}

BOOST_AUTO_TEST_CASE(capabilities_follow_the_profile) {
  const auto capabilities = [](const char* profile) {
    SimOptions options;
    options.driver_profile = profile;
    return MakeSim(options)->capabilities();
  };
  using Partial = Capabilities::PartialAccess;
  BOOST_TEST(capabilities("cuda").minimum_granularity == 2 * kMiB);
  BOOST_TEST(capabilities("rocm-6.2").recommended_granularity == 4096u);
  BOOST_TEST(capabilities("rocm-dev").minimum_granularity == 4096u);
  BOOST_TEST(capabilities("rocm-dev").recommended_granularity == 2 * kMiB);
  BOOST_TEST(capabilities("cuda").multi_mapping_unmap);
  BOOST_TEST(!capabilities("rocm-6.1").multi_mapping_unmap);
  BOOST_TEST(!capabilities("rocm-6.2").multi_mapping_unmap);
  BOOST_TEST(capabilities("rocm-7.1").multi_mapping_unmap);
  BOOST_TEST(!capabilities("rocm-6.1").sub_range_mapping);
  BOOST_TEST(capabilities("rocm-6.2").sub_range_mapping);
  BOOST_TEST((capabilities("cuda").partial_access == Partial::kAny));
  BOOST_TEST((capabilities("rocm-6.2").partial_access == Partial::kOwnerOnly));
  BOOST_TEST((capabilities("rocm-7.1").partial_access == Partial::kNone));
}

BOOST_AUTO_TEST_CASE(rocm_6_1_maps_and_unmaps_the_whole_reservation_whatever_is_asked) {
  Scene scene("rocm-6.1");
  const Memory memory = scene.Make(2 * kChunk);
  const Address base = Must(scene.sim->Reserve(2 * kChunk, 0));
  Must(scene.sim->Map(base + kChunk, kChunk, memory.handle));
  Must(scene.sim->SetAccess(base, 2 * kChunk, 0));
  Must(scene.sim->SetAccess(base, 2 * kChunk, 1));
  const BakedSlot slot{.slot = 0, .address = base, .size = 2 * kChunk, .access = Access::kRead};
  BOOST_TEST(scene.sim->Capture({&slot, 1}, 1).has_value());
  Must(scene.sim->Unmap(base + kChunk, kChunk));
  BOOST_TEST(scene.Mappings() == 0u);
  Must(scene.sim->AddressFree(base, 2 * kChunk));
}

// A remap that goes wrong without an error, and what verify says about it.
std::vector<Mismatch> Damage(const char* profile,
                             const std::function<void(Backend&, const MappedRange&, const Memory&)>& remap) {
  SimOptions options;
  options.driver_profile = profile;
  options.touch = Touch::kFull;
  const auto sim = MakeSim(options);
  Verify verify(*sim, Touch::kFull);
  MappedRange range(verify, 2);
  auto bindings = range.Bindings();
  const auto baked = range.Baked();
  const CommandBufferId command_buffer = Must(verify.Capture(baked, 2));
  Must(verify.BeginStep(1));
  Must(verify.Launch({.command_buffer = command_buffer, .bindings = bindings}));
  Must(verify.EndStep(1, true));
  const Memory other = Must(verify.Create(kChunk, 0, 0, 7000));
  bindings[1] = {.backing = 9, .memory = other};
  remap(verify, range, other);
  Must(verify.BeginStep(2));
  Must(verify.Launch({.command_buffer = command_buffer, .bindings = bindings}));
  Must(verify.EndStep(2, true));
  Must(verify.Finish());
  return verify.mismatches();
}

BOOST_AUTO_TEST_CASE(verify_shows_a_map_over_a_mapping_that_was_silently_ignored) {
  for (const char* profile : {"rocm-6.2", "rocm-7.1"}) {
    const auto damage = Damage(profile, [](Backend& sim, const MappedRange& range, const Memory& other) {
      Must(sim.Map(range.base + kChunk, kChunk, other.handle));
    });
    BOOST_REQUIRE(damage.size() == 1u);
    BOOST_TEST(damage[0].step == 2u);
    BOOST_TEST(damage[0].slot == 1u);
  }
}

BOOST_AUTO_TEST_CASE(verify_shows_an_unmap_of_several_that_was_silently_ignored) {
  const auto damage = Damage("rocm-6.2", [](Backend& sim, const MappedRange& range, const Memory& other) {
    Must(sim.Unmap(range.base, range.size));
    Must(sim.Map(range.base, kChunk, range.memory[0].handle));
    Must(sim.Map(range.base + kChunk, kChunk, other.handle));
  });
  BOOST_REQUIRE(damage.size() == 1u);
  BOOST_TEST(damage[0].slot == 1u);
}

BOOST_AUTO_TEST_CASE(verify_shows_an_unmap_of_a_part_that_did_nothing_on_cuda_580) {
  const auto damage = Damage("cuda-580", [](Backend& sim, const MappedRange& range, const Memory& other) {
    Must(sim.Unmap(range.base + kChunk, kChunk / 2));
    static_cast<void>(sim.Map(range.base + kChunk, kChunk, other.handle));  // refused: still mapped
  });
  BOOST_REQUIRE(damage.size() == 1u);
  BOOST_TEST(damage[0].slot == 1u);
}

BOOST_AUTO_TEST_CASE(what_a_runtime_forgot_it_cannot_give_back) {
  Scene scene("rocm-6.2");
  scene.Map(2, {0, 1});
  Must(scene.sim->Unmap(scene.base, scene.size));  // "success"
  BOOST_TEST(scene.Mappings() == 2u);
  BOOST_TEST((CodeOf(scene.sim->Unmap(scene.base, kChunk)) == ErrorCode::kWouldCrash));  // forgotten
  Must(scene.sim->Unmap(scene.base + kChunk, kChunk));                                   // the second one is not
  Must(scene.sim->AddressFree(scene.base, scene.size));  // "success", and the driver still holds it
  BOOST_TEST(scene.sim->outstanding().reservations == 1u);
  BOOST_TEST((CodeOf(scene.sim->AddressFree(scene.base, scene.size)) == ErrorCode::kWouldCrash));
}

BOOST_AUTO_TEST_CASE(an_ignored_map_leaks_its_reference) {
  Scene scene("rocm-6.2");
  scene.Map(1, {0});
  const Memory memory = scene.Make();
  Must(scene.sim->Map(scene.base, kChunk, memory.handle));
  Must(scene.sim->Release(memory));
  Must(scene.sim->Unmap(scene.base, kChunk));
  Must(scene.sim->Release(scene.memory[0]));
  BOOST_TEST(scene.sim->outstanding().handles == 1u);
}

// Sync models (hip-vmm 2.3): the GPU is busy until 1000 when the call comes at `begins`.
int64_t AfterCall(const char* profile, bool unmap, int64_t begins) {
  SimOptions options;
  options.driver_profile = profile;
  options.Cost("unmap.fixed=10").Cost("map.fixed=10").Cost("shadow_alloc.fixed=" + std::to_string(begins));
  options.Cost("unmap.contended_factor=2").Cost("map.contended_factor=2");
  const auto sim = MakeSim(options);
  const Memory memory = Must(sim->Create(kChunk, 0, 0, 1));
  const Address base = Must(sim->Reserve(kChunk, 0));
  if (unmap) {
    Must(sim->Map(base, kChunk, memory.handle));
    Must(sim->SetAccess(base, kChunk, 0));
  }
  const int64_t start = sim->now();
  Must(sim->Launch({.gpu_ns = 1000}));
  Must(sim->ShadowAlloc(8, 0, 0));  // to pass the time
  Must(unmap ? sim->Unmap(base, kChunk) : sim->Map(base, kChunk, memory.handle));
  return sim->now() - start;
}

BOOST_AUTO_TEST_CASE(drivers_that_synchronise_wait_for_the_stream_and_others_do_not) {
  for (const int64_t begins : {999, 1000}) {
    const int64_t busy = begins < 1000 ? 20 : 10;
    for (const char* profile : {"rocm-6.1", "rocm-6.2", "rocm-7.1"}) {
      BOOST_TEST(AfterCall(profile, true, begins) == 1000 + 10);  // waits, and is not contended any more
      BOOST_TEST(AfterCall(profile, false, begins) == 1000 + 10);
    }
    BOOST_TEST(AfterCall("rocm-dev", true, begins) == 1000 + 10);
    BOOST_TEST(AfterCall("rocm-dev", false, begins) == begins + busy);
    BOOST_TEST(AfterCall("cuda", true, begins) == begins + busy);
    BOOST_TEST(AfterCall("cuda", false, begins) == begins + busy);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
