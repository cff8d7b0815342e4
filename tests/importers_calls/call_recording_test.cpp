#include "tests/importers_calls/recordings.h"
#include "traces/importers/calls/recording_builder.h"

namespace remaplab {
namespace {

constexpr uint64_t kPage = 0x1000;

// Calls one after another, 10 ns each, on one thread of one process unless said otherwise.
class Calls {
 public:
  Calls& Add(std::string_view name, const std::vector<std::string>& arguments = {},
             std::string_view code = "hipSuccess", uint64_t tid = 1, uint64_t pid = 1) {
    const std::vector<std::string_view> views(arguments.begin(), arguments.end());
    calls::Observed call{.name = name, .start = now_, .end = now_ + 10};
    now_ += 100;
    call.arguments = views;
    call.code = code;
    call.tid = tid;
    call.pid = pid;
    Must(builder_.Add(call));
    return *this;
  }
  Calls& Reserve(uint64_t size) {
    return Add("hipMemAddressReserve", {"0x7ffc", std::to_string(size), "0", "<null>", "0"});
  }
  Calls& AddressFree(uint64_t address, uint64_t size) { return Range("hipMemAddressFree", address, size); }
  Calls& Map(uint64_t address, uint64_t size, std::string_view code = "hipSuccess", uint64_t pid = 1) {
    return Add("hipMemMap", {fmt::format("{:#x}", address), std::to_string(size), "0", "0x5", "0"}, code, 1, pid);
  }
  Calls& Unmap(uint64_t address, uint64_t size) { return Range("hipMemUnmap", address, size); }
  Calls& SetAccess(uint64_t address, uint64_t size, int devices) {
    return Add("hipMemSetAccess",
               {fmt::format("{:#x}", address), std::to_string(size), "0x7ffd", std::to_string(devices)});
  }
  Calls& Range(std::string_view name, uint64_t address, uint64_t size) {
    return Add(name, {fmt::format("{:#x}", address), std::to_string(size)});
  }
  CallRecording Finish() { return builder_.Finish(); }

 private:
  calls::RecordingBuilder builder_;
  int64_t now_ = 0;
};

BOOST_AUTO_TEST_SUITE(chunks)

BOOST_AUTO_TEST_CASE(unmap_and_set_access_know_how_many_mappings_they_cover) {
  const CallRecording recording = Calls()
                                      .Map(0x10000, kPage)
                                      .Map(0x11000, 2 * kPage)
                                      .Map(0x13000, kPage)
                                      .SetAccess(0x10000, 4 * kPage, 2)
                                      .Unmap(0x11000, 2 * kPage)
                                      .Unmap(0x10000, kPage)
                                      .Finish();
  BOOST_TEST(recording.calls[0].chunks == 1u);
  BOOST_TEST(recording.calls[3].chunks == 3u);
  BOOST_TEST(recording.calls[3].devices == 2u);
  BOOST_TEST(recording.calls[4].chunks == 1u);
  BOOST_TEST(recording.calls[4].devices == 2u);
}

BOOST_AUTO_TEST_CASE(ranges_that_began_before_the_recording_stay_unknown) {
  const CallRecording recording =
      Calls().Map(0x11000, kPage).SetAccess(0x10000, 2 * kPage, 1).Unmap(0x10000, 2 * kPage).Finish();
  BOOST_TEST(recording.calls[1].chunks == 0u);
  BOOST_TEST(recording.calls[2].chunks == 0u);
}

BOOST_AUTO_TEST_CASE(a_hole_stays_unknown) {
  const CallRecording recording =
      Calls().Map(0x10000, kPage).Map(0x12000, kPage).SetAccess(0x10000, 3 * kPage, 1).Finish();
  BOOST_TEST(recording.calls[2].chunks == 0u);
}

BOOST_AUTO_TEST_CASE(what_was_unmapped_is_gone) {
  const CallRecording recording =
      Calls().Map(0x10000, kPage).Unmap(0x10000, kPage).SetAccess(0x10000, kPage, 1).Finish();
  BOOST_TEST(recording.calls[2].chunks == 0u);
}

BOOST_AUTO_TEST_CASE(a_map_that_failed_maps_nothing) {
  const CallRecording recording =
      Calls().Map(0x10000, kPage, "hipErrorInvalidValue").SetAccess(0x10000, kPage, 1).Finish();
  BOOST_TEST(recording.calls[1].chunks == 0u);
}

BOOST_AUTO_TEST_CASE(a_map_over_another_means_that_an_unmap_was_not_seen) {
  const CallRecording recording = Calls()
                                      .Map(0x10000, 4 * kPage)
                                      .Map(0x11000, kPage)
                                      .SetAccess(0x11000, kPage, 1)
                                      .SetAccess(0x10000, 4 * kPage, 1)
                                      .Finish();
  BOOST_TEST(recording.calls[2].chunks == 1u);
  BOOST_TEST(recording.calls[3].chunks == 0u);
}

BOOST_AUTO_TEST_CASE(processes_have_address_spaces_of_their_own) {
  const CallRecording recording = Calls().Map(0x10000, kPage, "hipSuccess", 2).SetAccess(0x10000, kPage, 1).Finish();
  BOOST_TEST(recording.calls[1].chunks == 0u);
}

BOOST_AUTO_TEST_CASE(ranges_at_the_end_of_the_address_space_do_no_harm) {
  const CallRecording recording =
      Calls().Map(0xfffffffffffff000, 2 * kPage).Unmap(0xfffffffffffff000, 2 * kPage).SetAccess(0x1000, 0, 1).Finish();
  BOOST_TEST(recording.calls[1].chunks == 0u);
  BOOST_TEST(recording.calls[2].chunks == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(reservations)

BOOST_AUTO_TEST_CASE(an_address_free_proves_the_address) {
  const CallRecording recording =
      Calls().Reserve(4 * kPage).Map(0x21000, kPage).Unmap(0x21000, kPage).AddressFree(0x20000, 4 * kPage).Finish();
  BOOST_TEST(recording.calls[0].address == 0x20000u);
  BOOST_TEST(!recording.calls[0].address_presumed);
}

BOOST_AUTO_TEST_CASE(the_first_map_in_it_is_presumed_to_be_the_address) {
  const CallRecording recording = Calls().Reserve(4 * kPage).Map(0x21000, kPage).Map(0x20000, kPage).Finish();
  BOOST_TEST(recording.calls[0].address == 0x20000u);  // the lower one
  BOOST_TEST(recording.calls[0].address_presumed);
  BOOST_TEST(HasLoss(recording, "those of the first map", 1));
}

BOOST_AUTO_TEST_CASE(a_map_that_could_be_in_several_reservations_proves_nothing) {
  const CallRecording recording = Calls().Reserve(4 * kPage).Reserve(8 * kPage).Map(0x20000, kPage).Finish();
  BOOST_TEST(recording.calls[0].address == DriverCall::kUnknown);
  BOOST_TEST(recording.calls[1].address == DriverCall::kUnknown);
  BOOST_TEST(HasLoss(recording, "have no known address", 2));
}

BOOST_AUTO_TEST_CASE(a_map_larger_than_the_others_is_in_the_large_one) {
  const CallRecording recording = Calls().Reserve(kPage).Reserve(8 * kPage).Map(0x20000, 8 * kPage).Finish();
  BOOST_TEST(recording.calls[0].address == DriverCall::kUnknown);
  BOOST_TEST(recording.calls[1].address == 0x20000u);
}

BOOST_AUTO_TEST_CASE(an_address_free_without_map_is_matched_by_a_size_that_only_one_has) {
  const CallRecording one = Calls().Reserve(4 * kPage).Reserve(8 * kPage).AddressFree(0x20000, 8 * kPage).Finish();
  BOOST_TEST(one.calls[1].address == 0x20000u);
  const CallRecording two = Calls().Reserve(8 * kPage).Reserve(8 * kPage).AddressFree(0x20000, 8 * kPage).Finish();
  BOOST_TEST(two.calls[0].address == DriverCall::kUnknown);
}

BOOST_AUTO_TEST_CASE(a_second_reservation_at_a_freed_address_is_told_from_the_first) {
  const CallRecording recording = Calls()
                                      .Reserve(4 * kPage)
                                      .Map(0x20000, kPage)
                                      .Unmap(0x20000, kPage)
                                      .AddressFree(0x20000, 4 * kPage)
                                      .Reserve(4 * kPage)
                                      .Map(0x20000, kPage)
                                      .Finish();
  BOOST_TEST(!recording.calls[0].address_presumed);
  BOOST_TEST(recording.calls[4].address == 0x20000u);
  BOOST_TEST(recording.calls[4].address_presumed);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(summaries)

CallRecording Durations(const std::vector<int64_t>& durations) {
  CallRecording recording;
  recording.texts = {""};
  recording.threads = {{1, 1}};
  for (const int64_t ns : durations) {
    DriverCall call;
    call.kind = CallKind::kMap;
    call.end = ns;
    call.size = 10;
    recording.calls.push_back(call);
  }
  return recording;
}

BOOST_AUTO_TEST_CASE(medians_are_lower_middles_and_p99_is_a_nearest_rank) {
  std::vector<int64_t> durations;
  for (int64_t ns = 200; ns >= 1; --ns) {
    durations.push_back(ns);
  }
  const CallSummary summary = Summarize(Durations(durations))[static_cast<size_t>(CallKind::kMap)];
  BOOST_TEST(summary.calls == 200u);
  BOOST_TEST(summary.median == 100);
  BOOST_TEST(summary.p99 == 198);
  BOOST_TEST(summary.max == 200);
  BOOST_TEST(summary.total == 20100);
  BOOST_TEST(summary.bytes == 2000u);
}

BOOST_AUTO_TEST_CASE(sums_of_absurd_durations_stop_at_the_largest_value) {
  const CallRecording recording = Durations({INT64_MAX, INT64_MAX});
  BOOST_TEST(TotalsByKind(recording)[static_cast<size_t>(CallKind::kMap)].ns == INT64_MAX);
  BOOST_TEST(Summarize(recording)[static_cast<size_t>(CallKind::kMap)].total == INT64_MAX);
}

BOOST_AUTO_TEST_CASE(totals_count_failed_and_untimed_calls) {
  CallRecording recording = Durations({5, 7});
  recording.calls[0].timed = false;
  recording.calls[1].outcome = CallOutcome::kFailed;
  const CallTotal total = TotalsByKind(recording)[static_cast<size_t>(CallKind::kMap)];
  BOOST_TEST(total.n == 2u);
  BOOST_TEST(total.timed == 1u);
  BOOST_TEST(total.ns == 7);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(launch_groups)

BOOST_AUTO_TEST_CASE(a_group_is_what_a_thread_does_up_to_its_launch) {
  const CallRecording recording = Calls()
                                      .Map(0x1000, kPage)
                                      .Add("hipMemUnmap", {"0x9000", "4096"}, "hipSuccess", 2)
                                      .Add("hipGraphLaunch", {"0xa", "stream:0x1"})
                                      .Map(0x2000, kPage)
                                      .Map(0x3000, kPage)
                                      .Add("hipGraphLaunch", {"0xb", "stream:0x1"})
                                      .Add("hipEventRecord", {"0x1", "stream:0x1"})
                                      .Finish();
  const LaunchGroups groups = GroupByLaunch(recording);
  BOOST_REQUIRE_EQUAL(groups.groups.size(), 2);
  BOOST_TEST(groups.groups[0].executable == 0xau);
  BOOST_TEST(groups.groups[0].totals[static_cast<size_t>(CallKind::kMap)].n == 1u);
  BOOST_TEST(groups.groups[0].totals[static_cast<size_t>(CallKind::kUnmap)].n == 0u);
  BOOST_TEST(groups.groups[1].executable == 0xbu);
  BOOST_TEST(groups.groups[1].totals[static_cast<size_t>(CallKind::kMap)].n == 2u);
  BOOST_TEST(groups.groups[1].totals[static_cast<size_t>(CallKind::kLaunch)].n == 1u);
  BOOST_TEST(groups.outside[static_cast<size_t>(CallKind::kUnmap)].n == 1u);
  BOOST_TEST(groups.outside[static_cast<size_t>(CallKind::kRecord)].n == 1u);
  BOOST_TEST(groups.why_none.empty());
}

BOOST_AUTO_TEST_CASE(a_recording_without_launches_says_so) {
  const LaunchGroups groups = GroupByLaunch(Calls().Map(0x1000, kPage).Finish());
  BOOST_TEST(groups.groups.empty());
  BOOST_TEST(groups.why_none == "no command buffer was launched");
  BOOST_TEST(groups.outside[static_cast<size_t>(CallKind::kMap)].n == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(cost_points)

BOOST_AUTO_TEST_CASE(a_point_has_the_bytes_chunks_and_devices_of_its_call) {
  const CostPoints costs = MeasuredCosts(
      Calls().Map(0x1000, kPage).Map(0x2000, kPage).SetAccess(0x1000, 2 * kPage, 4).Unmap(0x1000, 2 * kPage).Finish());
  BOOST_REQUIRE_EQUAL(costs.points.size(), 4);
  BOOST_TEST(costs.points[2].bytes == 2 * kPage);
  BOOST_TEST(costs.points[2].chunks == 2u);
  BOOST_TEST(costs.points[2].devices == 4u);
  BOOST_TEST(costs.points[2].ns == 10);
  BOOST_TEST(costs.points[3].chunks == 2u);
}

BOOST_AUTO_TEST_CASE(calls_of_unknown_size_give_no_point_and_are_counted) {
  const CostPoints costs =
      MeasuredCosts(Calls().Add("hipMemMap").Add("hipMemCreate").Add("hipGraphLaunch").Unmap(0x1000, kPage).Finish());
  BOOST_REQUIRE_EQUAL(costs.points.size(), 1);  // a launch has no size
  BOOST_TEST((costs.points[0].kind == CallKind::kLaunch));
  BOOST_TEST(costs.left_out[static_cast<size_t>(CallKind::kMap)] == 1u);
  BOOST_TEST(costs.left_out[static_cast<size_t>(CallKind::kCreate)] == 1u);
  BOOST_TEST(costs.left_out[static_cast<size_t>(CallKind::kUnmap)] == 1u);
}

BOOST_AUTO_TEST_CASE(failed_calls_and_waits_are_no_measurements) {
  const CostPoints costs =
      MeasuredCosts(Calls().Map(0x1000, kPage, "hipErrorInvalidValue").Add("hipEventSynchronize", {"0x1"}).Finish());
  BOOST_TEST(costs.points.empty());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(functions)

BOOST_AUTO_TEST_CASE(every_api_spells_the_same_calls_its_way) {
  using calls::FindFunction;
  using calls::Role;
  const auto kind = [](std::string_view name) {
    const calls::Function function = FindFunction(name);
    return function.role == Role::kCall ? Name(function.kind) : std::string_view("none");
  };
  BOOST_TEST(kind("hipMemAddressReserve") == "reserve");
  BOOST_TEST(kind("cuMemAddressFree") == "address_free");
  BOOST_TEST(kind("cuMemCreate") == "create");
  BOOST_TEST(kind("hipMemRelease") == "release");
  BOOST_TEST(kind("cudaEventRecord_ptsz") == "record");
  BOOST_TEST(kind("cuEventRecord") == "record");
  BOOST_TEST(kind("hipEventSynchronize") == "wait");
  BOOST_TEST(kind("cuGraphInstantiateWithFlags") == "capture");
  BOOST_TEST(kind("hipGraphExecKernelNodeSetParams") == "update");
  BOOST_TEST(kind("cuGraphExecUpdate_v2") == "update");
  BOOST_TEST(kind("cudaGraphLaunch_v10000") == "launch");
  BOOST_TEST(kind("hipGraphLaunch_spt") == "launch");
  BOOST_TEST(kind("hipMalloc") == "none");
  BOOST_TEST(kind("hipMemMapArrayAsync") == "none");
  BOOST_TEST(kind("MemMap") == "none");
  BOOST_TEST(kind("cudamemmap") == "none");
  BOOST_TEST((FindFunction("hsa_amd_vmem_map").role == Role::kNested));
}

BOOST_AUTO_TEST_CASE(argument_values_are_numbers_or_nothing) {
  using calls::ArgumentValue;
  BOOST_TEST(ArgumentValue("4096").value() == 4096u);
  BOOST_TEST(ArgumentValue("0x7f00").value() == 0x7f00u);
  BOOST_TEST(ArgumentValue("stream:0x10").value() == 0x10u);
  BOOST_TEST(!ArgumentValue("<null>"));
  BOOST_TEST(!ArgumentValue("stream:<null>"));
  BOOST_TEST(!ArgumentValue(""));
  BOOST_TEST(!ArgumentValue("-1"));
  BOOST_TEST(!ArgumentValue("{1,2,3}"));
}

BOOST_AUTO_TEST_CASE(times_out_of_range_are_refused) {
  calls::RecordingBuilder builder;
  BOOST_TEST(!builder.Add({.name = "hipMemMap", .start = INT64_MIN, .end = 0}).has_value());
  BOOST_TEST(!builder.Add({.name = "hipMemMap", .start = 0, .end = INT64_MAX}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
