// How log lines become programs, steps and backings, on logs small enough to be read here.
#include <boost/test/unit_test.hpp>

#include "tests/importers/importer_testing.h"
#include "tests/importers/log_text.h"

namespace remaplab {
namespace {

constexpr uint64_t kMiB2 = uint64_t{2} << 20;
constexpr uint64_t kA = 0x302000000;
constexpr uint64_t kB = 0x304000000;
constexpr uint64_t kC = 0x306000000;
constexpr uint64_t kD = 0x308000000;

Imported Import(const LogText& log, xla::XlaLogOptions options = {}) {
  auto imported = ImportText(log.text(), std::move(options));
  BOOST_REQUIRE_MESSAGE(imported, WhyNot(imported));
  return std::move(*imported);
}

std::string ErrorOf(const std::string& text, xla::XlaLogOptions options = {}) {
  const auto imported = ImportText(text, std::move(options));
  BOOST_REQUIRE(!imported);
  BOOST_TEST((imported.error().code() == ErrorCode::kInput));
  return imported.error().message();
}

xla::XlaLogOptions WithAssignment(std::string_view text) {
  xla::XlaLogOptions options;
  auto assignment = xla::ParseAssignment(text, "dump");
  BOOST_REQUIRE_MESSAGE(assignment, WhyNot(assignment));
  options.assignments.push_back(std::move(*assignment));
  return options;
}

// Slots of each step that changed, as indexes; the first step binds all.
std::vector<std::vector<uint32_t>> Changes(const Trace& trace) {
  std::vector<std::vector<uint32_t>> steps;
  for (size_t step = 0; step < trace.steps(); ++step) {
    steps.emplace_back();
    for (const uint32_t slot : trace.BoundSlots(step)) {
      steps.back().push_back(trace.programs[trace.step_program[step]].slots[slot].index);
    }
  }
  return steps;
}

using Indexes = std::vector<uint32_t>;

// Parameters 0 and 1 (the second donated), output 2, a constant, a thread-local, temp 5.
constexpr std::string_view kDump =
    "BufferAssignment:\n"
    "allocation 0: size 64, page 0, parameter 0, shape |f32[16]| at ShapeIndex {}:\n"
    " value: <1 p0 @0> (size=64,offset=0): f32[16]{0}\n"
    "allocation 1: size 64, page 0, parameter 1, shape |f32[16]| at ShapeIndex {}, maybe-live-out:\n"
    "allocation 2: size 16, page 0, output shape is |(f32[16], f32[])|, maybe-live-out:\n"
    "allocation 3: size 4, page 0, constant:\n"
    "allocation 4: size 2, page 0, thread-local:\n"
    "allocation 5: size 4096, color 2, page 0, preallocated-temp:\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(programs)

BOOST_AUTO_TEST_CASE(a_table_belongs_to_the_module_that_its_thread_starts_next) {
  LogText log;
  log.Table({{kA, 4}}, 1).Table({{kB, 4}, {kC, 8}}, 2).Run("two", 2).Run("one", 1);
  const Imported imported = Import(log);
  BOOST_REQUIRE(imported.trace.programs.size() == 2U);
  BOOST_TEST(imported.trace.programs[0].module == "two");
  BOOST_TEST(imported.trace.programs[0].slots.size() == 2U);
  BOOST_TEST(imported.trace.programs[1].module == "one");
}

BOOST_AUTO_TEST_CASE(a_table_belongs_to_the_module_whose_run_its_thread_has_started) {
  LogText log;
  log.Entry("pjrt_stream_executor_client.cc", "Start calling RunAsync for one, device=cuda:0, run_id=-5", 1)
      .Entry("pjrt_stream_executor_client.cc", "Start calling RunAsync for two, device=cuda:0, run_id=6", 2)
      .Table({{kA, 4}}, 2)
      .Table({{kB, 8}}, 1)
      .Entry("pjrt_stream_executor_client.cc", "Finish calling RunAsync for two, device=cuda:0, run_id=6, completed", 2)
      .Entry("pjrt_stream_executor_client.cc", "Finish calling RunAsync for one, device=cuda:0, run_id=-5, completed",
             1);
  const Imported imported = Import(log);
  BOOST_REQUIRE(imported.trace.programs.size() == 2U);
  BOOST_TEST(imported.trace.programs[0].module == "two");
  BOOST_TEST(imported.trace.programs[0].slots[0].size == 4U);
  BOOST_TEST(imported.trace.programs[1].module == "one");
}

BOOST_AUTO_TEST_CASE(a_module_on_two_devices_is_two_programs) {
  LogText log;
  log.Table({{kA, 4}}, 1, 0).Table({{kA, 4}}, 2, 1).Start("m", 2, 1).Start("m", 1, 0).End("m", 1, 0).End("m", 2, 1);
  const Imported imported = Import(log);
  BOOST_REQUIRE(imported.trace.programs.size() == 2U);
  BOOST_TEST(imported.trace.programs[0].device == 0);
  BOOST_TEST(imported.trace.programs[1].device == 1);
  BOOST_TEST(imported.trace.backings() == 2U);
}

BOOST_AUTO_TEST_CASE(the_device_option_leaves_other_devices_out) {
  LogText log;
  log.Step("m", {{kA, 4}}, 1, 0).Step("m", {{kA, 4}}, 2, 1);
  xla::XlaLogOptions options;
  options.device = 1;
  const Imported imported = Import(log, std::move(options));
  BOOST_REQUIRE(imported.trace.programs.size() == 1U);
  BOOST_TEST(imported.trace.programs[0].device == 1);
}

BOOST_AUTO_TEST_CASE(executables_of_one_name_with_other_tables_are_programs_of_their_own) {
  LogText log;
  for (int i = 0; i < 3; ++i) {
    log.Step("m", {{kA, 4}, {kB, 8}}).Step("m", {{kA, 4}, {kB, 16}}).Step("m", {{kA, 4}});
  }
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.programs.size() == 3U);
  BOOST_TEST(imported.trace.steps() == 9U);
  BOOST_TEST(imported.report.programs[0].steps == 3U);
  const auto changes = Changes(imported.trace);
  BOOST_TEST(changes[3].empty());
  BOOST_TEST(changes[5].empty());
}

BOOST_AUTO_TEST_CASE(a_buffer_printed_with_its_rounded_size_is_the_same_slot) {
  LogText log;
  log.Client().Step("m", {{kA, 64}, {kB, kMiB2 + 5}}).Step("m", {{kA, 64}, {kC, 2 * kMiB2}});
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.programs.size() == 1U);
  BOOST_TEST(imported.trace.programs[0].slots[1].size == kMiB2 + 5);
  BOOST_TEST(Changes(imported.trace)[1] == Indexes{1});
}

BOOST_AUTO_TEST_CASE(an_assignment_says_kinds_sizes_and_spaces) {
  LogText log;
  log.Step("m", {{kA, 64}, {kB, 64}, {kC, 16}, {0x100, 64}, {0, 0}, {kD, 4096}});
  const Imported imported = Import(log, WithAssignment(kDump));
  const auto& slots = imported.trace.programs[0].slots;
  BOOST_REQUIRE(slots.size() == 4U);
  BOOST_TEST((slots[0].kind == SlotKind::kParameter));
  BOOST_TEST((slots[0].access == Access::kRead));  // nothing else ever lives in its memory
  BOOST_TEST((slots[1].access == Access::kUnknown));
  BOOST_TEST((slots[1].kind == SlotKind::kParameter));
  BOOST_TEST((slots[2].kind == SlotKind::kOutput));
  BOOST_TEST((slots[3].kind == SlotKind::kTemp));
  BOOST_TEST(slots[3].index == 5U);
  BOOST_TEST(slots[3].space == 2);
}

BOOST_AUTO_TEST_CASE(without_an_assignment_every_allocation_with_an_address_is_a_slot_of_unknown_kind) {
  LogText log;
  log.Step("m", {{kA, 64}, {0, 0}, {kB, 8}, {kC, 0}});
  const Imported imported = Import(log);
  const auto& slots = imported.trace.programs[0].slots;
  BOOST_REQUIRE(slots.size() == 2U);
  BOOST_TEST(slots[1].index == 2U);
  BOOST_TEST((slots[1].kind == SlotKind::kUnknown));
  BOOST_TEST(imported.report.notes[0].find("no assignment") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_slot_without_memory_on_a_step_is_bound_to_null) {
  LogText log;
  log.Step("m", {{kA, 64}, {kB, 8}}).Step("m", {{kA, 64}, {0, 8}});
  const Imported imported = Import(log);
  BOOST_TEST(Changes(imported.trace)[1] == Indexes{1});
  BOOST_TEST(imported.trace.BoundBackings(1)[0] == kUnboundSlot);
}

BOOST_AUTO_TEST_CASE(commands_come_from_the_execution_that_builds_the_command_buffers) {
  LogText log;
  log.Table({{kA, 4}})
      .Entry("command_buffer_thunk.cc", "Initialized command buffer on device #0 in 115 \u03bcs; num_commands=12")
      .Entry("command_buffer_thunk.cc", "Initialized command buffer on device #0 in 5 \u03bcs; num_commands=3")
      .Run("m")
      .Table({{kB, 4}})
      .Start("m")
      .Entry("command_buffer_thunk.cc", "[0] Updated command buffer in 31 \u03bcs; num_commands=12")
      .End("m");
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.programs[0].commands == 15U);
  BOOST_REQUIRE(imported.trace.timings.size() == 3U);
  BOOST_TEST(imported.trace.timings[0].kind == "capture");
  BOOST_TEST(imported.trace.timings[0].ns == 115000);
  BOOST_TEST(imported.trace.timings[2].kind == "update");
  BOOST_TEST(imported.trace.timings[2].ns == 31000);
  BOOST_TEST(imported.trace.timings[2].count == 12U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(memory)

BOOST_AUTO_TEST_CASE(memory_that_comes_back_at_its_address_with_its_rounded_size_is_the_same) {
  LogText log;
  log.Client().Allocated(kA, 8).Step("m", {{kA, 8}}).Freed(kA, 8).Allocated(kA, 16).Step("m", {{kA, 8}});
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.backings() == 1U);
  BOOST_TEST(Changes(imported.trace)[1].empty());
  BOOST_TEST((imported.trace.end.identity == TraceIdentity::kAddress));
}

BOOST_AUTO_TEST_CASE(memory_that_comes_back_with_another_rounded_size_is_another) {
  LogText log;
  log.Client().Allocated(kA, 8).Step("m", {{kA, 8}}).Freed(kA, 8).Allocated(kA, kMiB2 + 1).Step("n", {{kA, kMiB2 + 1}});
  log.Freed(kA, kMiB2 + 1).Allocated(kA, 8).Step("m", {{kA, 8}});
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.backings() == 3U);
  BOOST_TEST(Changes(imported.trace)[2] == Indexes{0});
}

BOOST_AUTO_TEST_CASE(logs_that_tell_reuse_from_fresh_memory_prove_identity) {
  LogText log;
  log.AllocatorFile("vmm_device_address_allocator.cc").Client().Allocated(kA, 8).Step("m", {{kA, 8}});
  log.Freed(kA, 8).Reused(kA, 8).Step("m", {{kA, 8}});
  log.Freed(kA, 8).Completed(kA, 8).Allocated(kA, 8).Step("m", {{kA, 8}});
  const Imported imported = Import(log);
  BOOST_TEST((imported.trace.end.identity == TraceIdentity::kBacking));
  BOOST_TEST(imported.trace.backings() == 2U);
  BOOST_TEST(Changes(imported.trace)[1].empty());
  BOOST_TEST(Changes(imported.trace)[2] == Indexes{0});
}

BOOST_AUTO_TEST_CASE(fresh_memory_at_an_old_address_is_new_though_the_table_did_not_change) {
  LogText log;
  log.AllocatorFile("vmm_device_address_allocator.cc").Client().Allocated(kA, 8).Step("m", {{kA, 8}});
  log.Freed(kA, 8).Allocated(kA, 8).Step("m", {{kA, 8}});
  const Imported imported = Import(log);
  BOOST_TEST(Changes(imported.trace)[1] == Indexes{0});
}

BOOST_AUTO_TEST_CASE(an_arenas_backing_is_the_address_range) {
  LogText log;
  log.Entry("se_gpu_pjrt_client.cc", "Using BFC allocator.");
  log.Step("m", {{kA, 8}}).Step("m", {{kA + 256, 8}}).Step("m", {{kA, 8}});
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.header.allocator == "bfc");
  BOOST_TEST(imported.trace.header.granularity == 0U);
  BOOST_TEST((imported.trace.end.identity == TraceIdentity::kAddress));
  BOOST_TEST(imported.trace.backings() == 2U);
  BOOST_TEST(imported.trace.bind_backing[0] == imported.trace.bind_backing[2]);
}

BOOST_AUTO_TEST_CASE(a_free_of_memory_that_was_never_seen_is_counted_as_lost) {
  LogText log;
  log.Client().Freed(kC, 8).Step("m", {{kA, 8}});
  BOOST_TEST(Import(log).trace.end.lost_events == 1U);
}

BOOST_AUTO_TEST_CASE(a_log_that_begins_in_the_middle_says_so) {
  LogText log;
  log.Allocated(kB, 8).Step("m", {{kA, 8}, {kB, 8}});
  BOOST_TEST(Import(log).trace.end.starts_mid_life);
  LogText whole;
  whole.Client().Allocated(kA, 8).Step("m", {{kA, 8}});
  BOOST_TEST(!Import(whole).trace.end.starts_mid_life);
}

BOOST_AUTO_TEST_CASE(granularity_is_what_the_log_says_or_what_fits_its_addresses) {
  LogText said;
  said.Client()
      .Step("m", {{kA, 8}})
      .Entry("gpu_executable_va_remap_allocator.cc",
             "[0] VA remapping: reserved range for module m VA=0x900000000 total_size=4096 granularity=65536");
  BOOST_TEST(Import(said).trace.header.granularity == 65536U);
  LogText fits;
  fits.Client().Allocated(0x302001000, 8).Step("m", {{0x302001000, 8}});
  BOOST_TEST(Import(fits).trace.header.granularity == 4096U);
  xla::XlaLogOptions options;
  options.granularity = 8192;
  BOOST_TEST(Import(fits, std::move(options)).trace.header.granularity == 8192U);
}

BOOST_AUTO_TEST_CASE(another_run_in_the_same_file_has_other_memory_and_goes_on_counting_steps) {
  LogText log;
  log.BackTo(60000).Client().Allocated(kA, 8).Step("m", {{kA, 8}}).Step("m", {{kA, 8}});
  log.BackTo(0).Client().Allocated(kA, 8).Step("m", {{kA, 8}});
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.programs.size() == 1U);
  BOOST_TEST(imported.trace.step_number[2] == 3U);
  BOOST_TEST(Changes(imported.trace)[2] == Indexes{0});
  BOOST_TEST(imported.trace.end.counts_json.find("\"runs\":2,") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(time_that_goes_back_is_another_run_only_if_the_client_is_created_again_or_never_was) {
  LogText same;
  same.BackTo(60000).Client().Allocated(kA, 8).Step("m", {{kA, 8}}).BackTo(0).Step("m", {{kA, 8}});
  BOOST_TEST(Changes(Import(same).trace)[1].empty());
  LogText other;
  other.BackTo(60000).Allocated(kA, 8).Step("m", {{kA, 8}}).BackTo(0).Step("m", {{kA, 8}});
  BOOST_TEST(Changes(Import(other).trace)[1] == Indexes{0});
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cut_tables)

constexpr std::string_view kCut = "Buffer 0 -> 0x302000000 (64 B); Buffer 1 -> 0x304000000 (64 B); Buffer 2 -> 0x3060";

LogText& HiddenStep(LogText& log, uint64_t output, uint64_t temp, std::string_view changed) {
  log.Allocated(output, 16).Allocated(temp, 4096).TableOf(kCut);
  if (!changed.empty()) {
    log.Changed("m", changed);
  }
  return log.Run("m").Freed(temp, 4096).Freed(output, 16);
}

BOOST_AUTO_TEST_CASE(what_is_hidden_comes_from_the_allocator_lines) {
  LogText log;
  log.Client().Allocated(kA, 64).Allocated(kB, 64);
  HiddenStep(log, kC, kD, "");
  HiddenStep(log, kC, 0x30a000000, "5:temp");
  const Imported imported = Import(log, WithAssignment(kDump));
  const Trace& trace = imported.trace;
  BOOST_REQUIRE(trace.programs[0].slots.size() == 4U);
  BOOST_TEST(trace.backing_address[trace.bind_backing[2]] == kC);
  BOOST_TEST(trace.backing_address[trace.bind_backing[3]] == kD);
  BOOST_TEST(Changes(trace)[1] == Indexes{5});
  BOOST_TEST(trace.end.lost_events == 0U);
}

BOOST_AUTO_TEST_CASE(allocator_lines_that_do_not_fit_are_not_believed) {
  LogText log;
  log.Client().Allocated(kA, 64).Allocated(kB, 64);
  log.Allocated(kC, 20).Allocated(kD, 4096).TableOf(kCut).Run("m");
  const Imported imported = Import(log, WithAssignment(kDump));
  BOOST_TEST(imported.trace.backing_address[imported.trace.bind_backing[2]] == kUnknownAddress);
  BOOST_TEST(imported.trace.end.counts_json.find("\"misaligned_allocations\":1") != std::string::npos);
  BOOST_TEST(imported.trace.end.lost_events > 0U);
}

constexpr std::string_view kHiddenParameters =
    "BufferAssignment:\n"
    "allocation 0: size 64, page 0, parameter 0, shape |f32[16]| at ShapeIndex {}:\n"
    "allocation 1: size 64, page 0, parameter 1, shape |f32[16]| at ShapeIndex {}:\n"
    "allocation 2: size 64, page 0, parameter 2, shape |f32[16]| at ShapeIndex {}:\n";
constexpr std::string_view kOneShown = "Buffer 0 -> 0x302000000 (64 B); Buffer 1 -> 0x3040";

BOOST_AUTO_TEST_CASE(a_hidden_parameter_that_changed_gets_new_memory_without_address) {
  LogText log;
  log.Client()
      .TableOf(kOneShown)
      .Run("m")
      .TableOf(kOneShown)
      .Changed("m", "2:parameter")
      .Run("m")
      .TableOf(kOneShown)
      .Run("m");
  const Imported imported = Import(log, WithAssignment(kHiddenParameters));
  const auto changes = Changes(imported.trace);
  BOOST_TEST(changes[1] == Indexes{2});
  BOOST_TEST(changes[2].empty());
  BOOST_TEST(imported.trace.backing_address[imported.trace.BoundBackings(1)[0]] == kUnknownAddress);
  BOOST_TEST(imported.trace.end.lost_events == 3U);  // two addresses of the first step, one of the second
}

BOOST_AUTO_TEST_CASE(without_changed_address_lines_a_hidden_parameter_is_assumed_unchanged_and_counted) {
  LogText log;
  log.Client().TableOf(kOneShown).Run("m").TableOf(kOneShown).Run("m");
  const Imported imported = Import(log, WithAssignment(kHiddenParameters));
  BOOST_TEST(Changes(imported.trace)[1].empty());
  BOOST_TEST(imported.trace.end.counts_json.find("\"hidden_assumed_unchanged\":2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(changed_address_lines_of_a_remapped_execution_prove_only_what_stays_dynamic) {
  LogText log;
  auto remapped = [&](std::string_view changed) {
    log.TableOf(kOneShown)
        .Entry("gpu_executable_va_remap_allocator.cc",
               "[0] VA remapping: module m executing with 2 selected command buffer allocation(s)")
        .Changed("m", changed)
        .Run("m");
  };
  log.Client().TableOf(kOneShown).Run("m");
  remapped("0:parameter, 1:parameter, 2:parameter");  // they moved into the reservation; their memory did not change
  remapped("2:parameter");                            // not remapped: it changed
  const Imported imported = Import(log, WithAssignment(kHiddenParameters));
  const auto changes = Changes(imported.trace);
  BOOST_TEST(changes[1].empty());
  BOOST_TEST(changes[2] == Indexes{2});
}

BOOST_AUTO_TEST_CASE(half_an_entry_is_not_believed) {
  for (const std::string_view cut :
       {"Buffer 0 -> 0x302000000 (64 B); Buffer 1 -> 0x35b200000 (", "Buffer 0 -> 0x302000000 (64 B); Buffer 1 -",
        "Buffer 0 -> 0x302000000 (64 B); Buffer 1 -> 0x304000000 (64 B", "Buffer 0 -> 0x302000000 (64 B); "}) {
    LogText log;
    log.TableOf(cut).Run("m");
    const Imported imported = Import(log);
    BOOST_TEST(imported.trace.programs[0].slots.size() == 1U);
    BOOST_TEST(imported.trace.end.counts_json.find("\"cut_tables_without_assignment\":1") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_cut_that_moves_by_some_entries_leaves_the_program_the_same) {
  LogText log;
  log.TableOf("Buffer 0 -> 0x302000000 (64 B); Buffer 1 -> 0x304000000 (64 B); Buffer 2 -> 0x3").Run("m");
  log.TableOf("Buffer 0 -> 0x7f0302000000 (64 B); Buffer 1 -> 0x7f03").Run("m");
  log.TableOf("Buffer 0 -> 0x7f0302000000 (64 B); Buffer 1 -> 0x306000000 (64 B); Buffer 2 -> 0x3").Run("m");
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.programs.size() == 1U);
  const auto changes = Changes(imported.trace);
  BOOST_TEST(changes[1] == Indexes{0});
  BOOST_TEST(changes[2] == Indexes{1});
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(generations)

BOOST_AUTO_TEST_CASE(mapping_lines_alone_make_programs_and_mark_what_the_command_buffer_uses) {
  LogText log;
  log.Client();
  for (const uint64_t moving : {kB, kC}) {
    log.Entry("gpu_executable_buffer_allocator.cc", "[0] VA remapping: module m num_allocations=2")
        .Entry("gpu_executable_buffer_allocator.cc",
               "[0] Mapping allocation 3 physical: 0x302000000 -> VA: 0x900000000 (offset: 0) size: 64")
        .Entry("gpu_executable_buffer_allocator.cc",
               fmt::format("[0] Mapping allocation 8 physical: {:#x} -> VA: 0x900200000 (offset: 2097152) size: 4096",
                           moving))
        .Entry("gpu_executable_buffer_allocator.cc", "[0] VA remapping(skip): module m slots=2 changed=1")
        .Entry("memory_reservation.cc",
               "Remap timing: slices=2 changed=1 range=4194304 unmap_us=150 map_us=10 setaccess_us=97")
        .Entry("gpu_executable_buffer_allocator.cc",
               "[0] VA remapping: Mapped 2 allocations to single VA range at 0x900000000")
        .Entry("gpu_executable_buffer_allocator.cc",
               "[0]   allocation[8] physical: 0x302000000 -> VA: 0x900200000 (offset: 2097152) size: 4096")
        .Run("m");
  }
  const Imported imported = Import(log);
  const auto& slots = imported.trace.programs[0].slots;
  BOOST_REQUIRE(slots.size() == 2U);
  BOOST_TEST(slots[1].index == 8U);
  BOOST_TEST((slots[1].in_command_buffer == Tristate::kYes));
  BOOST_TEST(Changes(imported.trace)[1] == Indexes{8});
  BOOST_REQUIRE(imported.trace.timings.size() == 6U);
  BOOST_TEST(imported.trace.timings[0].kind == "unmap");
  BOOST_TEST(imported.trace.timings[0].ns == 150000);
  BOOST_TEST(imported.trace.timings[2].kind == "set_access");
}

BOOST_AUTO_TEST_CASE(mapping_lines_beside_a_table_say_which_slots_the_command_buffer_uses) {
  LogText log;
  log.Table({{kA, 64}, {kB, 64}})
      .Entry("gpu_executable.cc",
             "[0] Mapping allocation 1 physical: 0x304000000 -> VA: 0x900000000 (offset: 0) size: 64")
      .Run("m");
  const auto slots = Import(log).trace.programs[0].slots;
  BOOST_TEST((slots[0].in_command_buffer == Tristate::kNo));
  BOOST_TEST((slots[1].in_command_buffer == Tristate::kYes));
}

BOOST_AUTO_TEST_CASE(mapping_lines_correct_outputs_that_got_fresh_memory_after_the_table) {
  LogText log;
  log.Table({{kA, 64}, {kB, 64}})
      .Entry(
          "gpu_executable_buffer_allocator.cc",
          "[0] Using copy-protection: aliasing is specified, but the buffer is not donated; allocating a fresh buffer")
      .Entry("gpu_executable_buffer_allocator.cc",
             "[0] Mapping allocation 1 physical: 0x306000000 -> VA: 0x900000000 (offset: 0) size: 64")
      .Run("m");
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.backing_address[imported.trace.bind_backing[1]] == kC);
}

BOOST_AUTO_TEST_CASE(two_range_logs_name_the_module_before_the_mapping_lines) {
  LogText log;
  log.AllocatorFile("vmm_device_address_allocator.cc");
  for (int range = 0; range < 2; ++range) {
    log.Table({{kA, 64}})
        .Entry("gpu_executable.cc", fmt::format("[0] VA remapping: module m va_range_idx={} num_allocations=1", range))
        .Entry("gpu_executable.cc",
               "[0] VA remapping: Reserved single VA range for module m VA: 0x900000000 total_size: 2097152 "
               "granularity: 2097152")
        .Entry("gpu_executable.cc",
               "[0] Mapping allocation 0 physical: 0x302000000 -> VA: 0x900000000 (offset: 0) size: 64")
        .Run("m");
  }
  const Imported imported = Import(log);
  BOOST_TEST(imported.trace.steps() == 2U);
  BOOST_TEST(imported.trace.header.granularity == kMiB2);
  BOOST_TEST(imported.trace.header.allocator == "vmm");
}

BOOST_AUTO_TEST_CASE(logs_before_the_words_buffer_allocations_are_read) {
  LogText log;
  log.Entry("gpu_executable.cc", "[0] Buffer 0 -> 0x302000000 (64 B); Buffer 1 -> 0x304000000 (8 B)").Run("m");
  BOOST_TEST(Import(log).trace.programs[0].slots.size() == 2U);
}

BOOST_AUTO_TEST_CASE(lines_of_the_old_logging_are_read) {
  const std::string log =
      "2025-03-01 10:00:00.000001: I xla/pjrt/gpu/se_gpu_pjrt_client.cc:12] Buffer 0 -> 0x302000000 (64 B)\n"
      "2025-03-01 10:00:00.000500: I xla/service/gpu/gpu_executable.cc:99] Start GpuExecutable::ExecuteOnStream "
      "module: m\n"
      "2025-03-01 10:00:01.000001: I xla/pjrt/gpu/se_gpu_pjrt_client.cc:12] Buffer 0 -> 0x304000000 (64 B)\n"
      "2025-03-01 10:00:01.000500: I xla/service/gpu/gpu_executable.cc:99] Start GpuExecutable::ExecuteOnStream "
      "module: m\n";
  const auto imported = ImportText(log);
  BOOST_REQUIRE_MESSAGE(imported, WhyNot(imported));
  BOOST_TEST(imported->trace.steps() == 2U);
  BOOST_TEST(imported->trace.event_t.back() == 1'000'000'000);
}

BOOST_AUTO_TEST_CASE(allocator_lines_alone_make_steps_with_an_assignment) {
  LogText log;
  log.Client();
  for (const uint64_t output : {kA, kB}) {
    log.Allocated(output, 16).Allocated(kD, 4096).Run("m").Freed(kD, 4096);
  }
  const Imported imported = Import(log, WithAssignment(kDump));
  BOOST_TEST(imported.trace.programs[0].slots.size() == 4U);
  BOOST_TEST(Changes(imported.trace)[1] == Indexes{2});
  BOOST_TEST(imported.trace.end.lost_events > 0U);
  BOOST_TEST(ErrorOf(log.text()).find("se_gpu_pjrt_client=3") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(damage)

const std::string& PlainLog() {
  static const std::string text = [] {
    LogText log;
    log.Client().Allocated(kA, 8).Allocated(kB, 8).Step("m", {{kA, 8}, {kB, 8}});
    log.Freed(kA, 8).Allocated(kC, 8).Step("m", {{kC, 8}, {kB, 8}});
    return log.text();
  }();
  return text;
}

BOOST_AUTO_TEST_CASE(colours_and_carriage_returns_change_nothing) {
  const auto plain = ImportText(PlainLog());
  std::string coloured;
  for (const char c : PlainLog()) {
    coloured += c == 'I' && (coloured.empty() || coloured.back() == '\n') ? "\x1b[32mI\x1b[0m"
                : c == '\n'                                               ? "\x1b[0m\r\n"
                                                                          : std::string(1, c);
  }
  const auto imported = ImportText(coloured);
  BOOST_REQUIRE_MESSAGE(imported, WhyNot(imported));
  BOOST_TEST(imported->trace.xxh3 == plain->trace.xxh3);
}

BOOST_AUTO_TEST_CASE(an_entry_behind_a_progress_bar_is_read) {
  const auto plain = ImportText(PlainLog());
  std::string text = PlainLog();
  text.insert(text.find("I0801", 200), "  3%|#   | 1/30 [00:01<00:30]\r 6%|##  | 2/30");
  const auto imported = ImportText(text);
  BOOST_REQUIRE_MESSAGE(imported, WhyNot(imported));
  BOOST_TEST(imported->trace.xxh3 == plain->trace.xxh3);
}

BOOST_AUTO_TEST_CASE(entries_glued_together_are_both_read) {
  std::string text = PlainLog();
  const size_t feed = text.find("B) on device ordinal 0\n") + 22;
  text.erase(feed, 1);
  const auto imported = ImportText(text);
  BOOST_REQUIRE_MESSAGE(imported, WhyNot(imported));
  BOOST_TEST(imported->trace.xxh3 == ImportText(PlainLog())->trace.xxh3);
}

BOOST_AUTO_TEST_CASE(a_table_that_another_entry_tore_apart_is_put_together) {
  std::string text = PlainLog();
  text.insert(text.find("; Buffer 1") + 9, "I0801 10:00:00.001000       9 other.cc:1] hello\n");
  const auto imported = ImportText(text);
  BOOST_REQUIRE_MESSAGE(imported, WhyNot(imported));
  BOOST_TEST(imported->trace.programs[0].slots.size() == 2U);
  BOOST_TEST(imported->trace.steps() == 2U);
}

BOOST_AUTO_TEST_CASE(an_entry_inside_another_one_of_no_interest_is_read) {
  std::string text = PlainLog();
  const std::string allocated = "I0801 10:00:00.003000       7 device";
  text.insert(text.find(allocated), "I0801 10:00:00.003000       9 other.cc:1] hel");
  const auto imported = ImportText(text);
  BOOST_REQUIRE_MESSAGE(imported, WhyNot(imported));
  BOOST_TEST(imported->trace.xxh3 == ImportText(PlainLog())->trace.xxh3);
}

BOOST_AUTO_TEST_CASE(a_log_cut_anywhere_gives_a_valid_trace_or_a_clear_error) {
  const std::string& text = PlainLog();
  for (size_t size = 0; size < text.size(); ++size) {
    const auto imported = ImportText(std::string_view(text).substr(0, size));
    if (imported) {
      BOOST_TEST(imported->trace.end.present);
      BOOST_TEST(imported->trace.steps() >= 1U);
    } else {
      BOOST_TEST((imported.error().code() == ErrorCode::kInput));
      BOOST_TEST(!imported.error().message().empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(pieces_of_any_size_give_the_same_lines) {
  const std::string text = "a\n\nbc\ndef";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    std::vector<std::string> lines;
    LineFeeder feeder([&](std::string_view line) {
      lines.emplace_back(line);
      return Status();
    });
    for (size_t at = 0; at < text.size(); at += piece) {
      BOOST_REQUIRE(feeder.Feed(std::string_view(text).substr(at, piece)));
    }
    BOOST_REQUIRE(feeder.End());
    BOOST_TEST(lines == (std::vector<std::string>{"a", "", "bc", "def"}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(refusals)

BOOST_AUTO_TEST_CASE(each_kind_of_useless_log_has_an_error_of_its_own) {
  BOOST_TEST(ErrorOf("") == "the log is empty");
  BOOST_TEST(ErrorOf("hello\nworld\n").find("not a log of XLA") != std::string::npos);
  LogText silent;
  silent.Entry("other.cc", "hello");
  BOOST_TEST(ErrorOf(silent.text()).find("TF_CPP_VMODULE") != std::string::npos);
  LogText starting;
  starting.Client().Entry("x.cc",
                          "Command buffer allocation policy: collected 0 constant allocation indices for module m");
  BOOST_TEST(ErrorOf(starting.text()).find("ends early") != std::string::npos);
  LogText nameless;
  nameless.Table({{kA, 8}});
  BOOST_TEST(ErrorOf(nameless.text()).find("gpu_executable=1") != std::string::npos);
  LogText other;
  other.Step("m", {{kA, 8}});
  BOOST_TEST(ErrorOf(other.text(), OnlyModule("train")).find("no step of a module that matches 'train'") !=
             std::string::npos);
  BOOST_TEST(ErrorOf(other.text(), WithAssignment(kDump)).find("belongs to another module") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_log_that_ends_while_xla_compiles_is_taken_only_when_asked_for) {
  LogText log;
  log.Step("m", {{kA, 8}})
      .Entry("x.cc", "Command buffer allocation policy: collected 0 constant allocation indices for module fusion.1");
  BOOST_TEST(ErrorOf(log.text()).find("--partial") != std::string::npos);
  xla::XlaLogOptions options;
  options.partial = true;
  BOOST_TEST(Import(log, std::move(options)).trace.steps() == 1U);
  BOOST_TEST(Import(log, OnlyModule("m")).trace.steps() == 1U);
}

BOOST_AUTO_TEST_CASE(a_damaged_assignment_is_refused_with_its_line) {
  auto error = [](std::string_view text) { return xla::ParseAssignment(text, "dump").error().message(); };
  BOOST_TEST(error("hello\n") == "dump: not a buffer assignment dump: no line 'BufferAssignment:' in it");
  BOOST_TEST(error("BufferAssignment:\nallocation 0: size 8, page").find("dump:2:") == 0U);
  BOOST_TEST(error("BufferAssignment:\nallocation 1: size 8:\nallocation 1: size 8:\n").find("dump:3:") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
