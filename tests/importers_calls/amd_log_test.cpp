#include <zlib.h>

#include "tests/importers_calls/recordings.h"
#include "traces/importers/amd_log/log_line.h"

namespace remaplab {
namespace {

constexpr int kThreadA = 0xaaa0;
constexpr int kThreadB = 0xbbb0;

// A line in the prefix of ROCm 5.6 to 6.2, and of level 4 after that.
std::string Said(int64_t us, int thread, std::string_view message) {
  return fmt::format(":3:hip_vm.cpp               :123 : {:10} us: [pid:4711 tid:{:#x}] {}\n", us, thread, message);
}
std::string Entered(int64_t us, int thread, std::string_view call) {
  return Said(us, thread, fmt::format("\x1b[32m {} \x1b[0m", call));
}
std::string Returned(int64_t us, int thread, std::string_view function, std::string_view what = "hipSuccess : ") {
  return Said(us, thread, fmt::format("{}: Returned {}", function, what));
}
std::string Bare(int64_t us, std::string_view message) {
  return fmt::format(":3:hip_vm.cpp               :123 : {:10} us:  {}\n", us, message);
}

struct AmdLog {
  TemporaryFolder folder;
  std::string path = folder.File("run.log");

  CallRecording Import(const std::string& text) {
    WriteBytes(path, text);
    return Must(ImportCalls(path));
  }
};

BOOST_FIXTURE_TEST_SUITE(amd_log, AmdLog)

BOOST_AUTO_TEST_CASE(a_call_is_an_entry_and_a_return_of_one_thread) {
  const CallRecording recording =
      Import(Entered(1000, kThreadA, "hipMemMap ( 0x7f0000000000, 2097152, 0, 0x55d0, 0 )") +
             Returned(1042, kThreadA, "hipMemMap"));
  BOOST_TEST(recording.source == "amd-log");
  BOOST_TEST(recording.resolution_ns == 1000);
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 1);
  const DriverCall& call = recording.calls[0];
  BOOST_TEST((call.kind == CallKind::kMap));
  BOOST_TEST(call.start == 1'000'000);
  BOOST_TEST(call.duration() == 42'000);
  BOOST_TEST(call.address == 0x7f0000000000u);
  BOOST_TEST(call.size == 2097152u);
  BOOST_TEST(call.object == 0x55d0u);
  BOOST_TEST((call.outcome == CallOutcome::kOk));
  BOOST_TEST(recording.texts[call.code] == "hipSuccess");
  BOOST_TEST(recording.threads[call.thread].pid == 4711u);
  BOOST_TEST(recording.threads[call.thread].tid == uint64_t{kThreadA});
}

BOOST_AUTO_TEST_CASE(the_prefix_of_every_release_is_read) {
  std::vector<calls::LogEntry> entries;
  const auto only = [&](std::string_view line) {
    calls::FindEntries(line, entries);
    BOOST_REQUIRE_MESSAGE(entries.size() == 1, line);
    return entries[0];
  };
  // ROCm 5.2, also as some builds space it.
  for (const std::string_view line :
       {":3:hip_vm.cpp :562 : 99442500051 us: 350457: [tid:0x7f02e57efc00]  hipFree ( 1 )",
        ":3:hip_vm.cpp :663 : 99442500051 us: 350457 : [tid:0x7f02e57efc00] hipFree ( 1 )"}) {
    const calls::LogEntry entry = only(line);
    BOOST_TEST((entry.form == calls::LogForm::kPidThenTid));
    BOOST_TEST(entry.us == 99442500051);
    BOOST_TEST(entry.pid == 350457u);
    BOOST_TEST(entry.tid == 0x7f02e57efc00u);
    BOOST_TEST(entry.message == "hipFree ( 1 )");
  }
  // ROCm 5.6 to 6.2; later ones with a blank and without 0x; and one with a stray letter behind the time.
  for (const std::string_view line :
       {":3:hip_error.cpp            :36  : 7270505913 us: [pid:21983 tid:0x7f316f4006c0]  hipFree ( 1 ) ",
        ":3:hip_error.cpp            :36  : 7270505913 us: [pid:21983 tid: 0x7f316f4006c0]  hipFree ( 1 ) ",
        ":3:hip_error.cpp            :36  : 7270505913d us: [pid:21983 tid: 7f316f4006c0]  hipFree ( 1 ) "}) {
    const calls::LogEntry entry = only(line);
    BOOST_TEST((entry.form == calls::LogForm::kPidTid));
    BOOST_TEST(entry.us == 7270505913);
    BOOST_TEST(entry.pid == 21983u);
    BOOST_TEST(entry.tid == 0x7f316f4006c0u);
    BOOST_TEST(entry.message == "hipFree ( 1 )");
  }
  const calls::LogEntry bare = only(":3:hip_vm.cpp               :87  : 2893843511 us:  hipFree ( 1 )");
  BOOST_TEST((bare.form == calls::LogForm::kBare));
  BOOST_TEST(bare.message == "hipFree ( 1 )");
}

BOOST_AUTO_TEST_CASE(text_that_only_resembles_a_prefix_is_none) {
  std::vector<calls::LogEntry> entries;
  for (const std::string_view line :
       {"took 12 us: fine", ":3:x.cpp :12 : us: hipFree", ":33:x.cpp :12 : 5 us: hipFree ( 1 )",
        ":3::12 : 5 us: hipFree ( 1 )", ":3:x.cpp :12 : 5 us", ":3:x.cpp :12 : 99999999999999999999 us: a",
        ":3:x.cpp :12 : 5 us: [pid:1 tid:zz] a", ":3:x.cpp :12 : 5 us: [pid:1", ":3:x.cpp :12 : 5 us: 17: nothing"}) {
    calls::FindEntries(line, entries);
    BOOST_TEST_CONTEXT(line) { BOOST_TEST(entries.empty()); }
  }
}

BOOST_AUTO_TEST_CASE(rocm_52_pairs_calls_by_thread_too) {
  const auto said = [](int64_t us, int tid, std::string_view message) {
    return fmt::format(":3:hip_vm.cpp :12  : {} us: 4711: [tid:{:#x}] {}\n", us, tid, message);
  };
  const CallRecording recording =
      Import(said(10, 1, " hipMemUnmap ( 0x1000, 4096 ) ") + said(11, 2, " hipMemUnmap ( 0x2000, 4096 ) ") +
             said(15, 1, "hipMemUnmap: Returned hipSuccess : ") + said(19, 2, "hipMemUnmap: Returned hipSuccess : "));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST(recording.calls[0].duration() == 5000);
  BOOST_TEST(recording.calls[1].duration() == 8000);
  BOOST_TEST(recording.threads[1].pid == 4711u);
}

BOOST_AUTO_TEST_CASE(interleaved_threads_are_paired_by_thread) {
  const CallRecording recording = Import(Entered(10, kThreadA, "hipMemMap ( 0x1000, 4096, 0, 0x1, 0 )") +
                                         Entered(11, kThreadB, "hipMemMap ( 0x9000, 8192, 0, 0x2, 0 )") +
                                         Returned(12, kThreadB, "hipMemMap") + Returned(30, kThreadA, "hipMemMap"));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST(recording.calls[0].size == 4096u);
  BOOST_TEST(recording.calls[0].duration() == 20'000);
  BOOST_TEST(recording.calls[1].size == 8192u);
  BOOST_TEST(recording.calls[1].duration() == 1000);
}

BOOST_AUTO_TEST_CASE(nested_calls_return_inside_out) {
  const CallRecording recording = Import(
      Entered(10, kThreadA, "hipGraphLaunch ( 0x77, stream:0x88 )") + Entered(12, kThreadA, "hipGetDevice ( 0x1 )") +
      Returned(13, kThreadA, "hipGetDevice") + Returned(20, kThreadA, "hipGraphLaunch"));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 1);
  BOOST_TEST(recording.calls[0].duration() == 10'000);
  BOOST_TEST(recording.calls[0].object == 0x77u);
  BOOST_TEST(recording.others.at(0).ns == 1000);
}

BOOST_AUTO_TEST_CASE(a_duration_that_the_log_says_is_taken) {
  const CallRecording recording = Import(Entered(100, kThreadA, "hipGraphLaunch ( 0x1, stream:<null> )") +
                                         Returned(190, kThreadA, "hipGraphLaunch", "hipSuccess : : duration: 86 us "));
  BOOST_TEST(recording.calls.at(0).duration() == 86'000);
}

BOOST_AUTO_TEST_CASE(a_failed_call_keeps_what_it_returned) {
  const CallRecording recording = Import(Entered(1, kThreadA, "hipMemUnmap ( 0x1000, 4096 )") +
                                         Returned(2, kThreadA, "hipMemUnmap", "hipErrorInvalidValue : "));
  BOOST_TEST((recording.calls.at(0).outcome == CallOutcome::kFailed));
  BOOST_TEST(recording.texts[recording.calls[0].code] == "hipErrorInvalidValue");
}

BOOST_AUTO_TEST_CASE(a_call_without_return_counts_but_has_no_duration) {
  const CallRecording recording =
      Import(Entered(1, kThreadA, "hipMemMap ( 0x1000, 4096, 0, 0x1, 0 )") +
             Entered(5, kThreadA, "hipMemUnmap ( 0x1000, 4096 )") + Returned(9, kThreadA, "hipMemUnmap") +
             Entered(20, kThreadA, "hipEventSynchronize ( event:0x3 )"));
  BOOST_TEST(TotalOf(recording, CallKind::kMap).n == 1u);
  BOOST_TEST(TotalOf(recording, CallKind::kMap).timed == 0u);
  BOOST_TEST(TotalOf(recording, CallKind::kUnmap).ns == 4000);
  BOOST_TEST(TotalOf(recording, CallKind::kWait).timed == 0u);
  BOOST_TEST(HasLoss(recording, "have no return", 2));
}

BOOST_AUTO_TEST_CASE(a_return_without_call_counts_but_has_no_duration) {
  const CallRecording recording = Import(Returned(9, kThreadA, "hipMemUnmap"));
  BOOST_TEST(TotalOf(recording, CallKind::kUnmap).n == 1u);
  BOOST_TEST(TotalOf(recording, CallKind::kUnmap).timed == 0u);
  BOOST_TEST(HasLoss(recording, "have no call", 1));
}

BOOST_AUTO_TEST_CASE(lines_that_writers_share_are_taken_apart) {
  std::string entered = Entered(10, kThreadA, "hipMemUnmap ( 0x1000, 4096 )");
  entered.pop_back();
  const CallRecording recording =
      Import("step 12/100: " + entered + Entered(11, kThreadB, "hipMemUnmap ( 0x2000, 4096 )") +
             "loss 3.4 :" + Returned(14, kThreadA, "hipMemUnmap") + Returned(15, kThreadB, "hipMemUnmap"));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST(recording.calls[0].address == 0x1000u);
  BOOST_TEST(recording.calls[0].duration() == 4000);
  BOOST_TEST(recording.calls[1].address == 0x2000u);
  BOOST_TEST(HasLoss(recording, "shared by several writers", 2));
}

BOOST_AUTO_TEST_CASE(a_torn_line_loses_arguments_but_not_the_call) {
  const CallRecording recording =
      Import(Said(10, kThreadA, " hipMemMap ( 0x7f00, 20") + Returned(14, kThreadA, "hipMemMap"));
  BOOST_TEST(recording.calls.at(0).duration() == 4000);
  BOOST_TEST(recording.calls[0].address == DriverCall::kUnknown);
  BOOST_TEST(HasLoss(recording, "are torn", 1));
}

BOOST_AUTO_TEST_CASE(a_return_before_its_call_gives_no_duration) {
  const CallRecording recording =
      Import(Entered(100, kThreadA, "hipMemUnmap ( 0x1000, 4096 )") + Returned(90, kThreadA, "hipMemUnmap"));
  BOOST_TEST(!recording.calls.at(0).timed);
  BOOST_TEST(HasLoss(recording, "earlier than their calls", 1));
}

BOOST_AUTO_TEST_CASE(without_threads_only_calls_that_were_alone_have_durations) {
  const CallRecording recording = Import(
      Bare(10, " hipMemMap ( 0x1000, 4096, 0, 0x1, 0 ) ") + Bare(15, "hipMemMap: Returned hipSuccess : ") +
      Bare(20, " hipMemUnmap ( 0x1000, 4096 ) ") + Bare(21, " hipMemUnmap ( 0x2000, 4096 ) ") +
      Bare(29, "hipMemUnmap: Returned hipSuccess : ") + Bare(30, "hipMemUnmap: Returned hipErrorInvalidValue : "));
  BOOST_TEST(!recording.threads_known);
  BOOST_TEST(TotalOf(recording, CallKind::kMap).ns == 5000);
  BOOST_TEST(TotalOf(recording, CallKind::kUnmap).n == 2u);
  BOOST_TEST(TotalOf(recording, CallKind::kUnmap).timed == 0u);
  BOOST_TEST((recording.calls[1].outcome == CallOutcome::kUnknown));
  BOOST_TEST(HasLoss(recording, "could be of several calls", 2));
  BOOST_TEST(HasLoss(recording, "lines say no thread"));
  BOOST_TEST(GroupByLaunch(recording).why_none == "the recording does not tell threads apart");
}

BOOST_AUTO_TEST_CASE(other_messages_and_other_output_in_between_do_not_matter) {
  const CallRecording recording =
      Import("Initialising...\n" + Entered(10, kThreadA, "hipMemUnmap ( 0x1000, 4096 )") +
             Said(11, kThreadA, "Unmap hsa memory 0x1000, size 0x1000") +
             "I0000 00:00:1 1 foo.cc:1] waited 5 us: ok\n" + Returned(12, kThreadA, "hipMemUnmap"));
  BOOST_TEST(recording.calls.size() == 1u);
  BOOST_TEST(recording.calls[0].duration() == 2000);
}

BOOST_AUTO_TEST_CASE(windows_line_ends_and_compression_are_read) {
  std::string text = Entered(10, kThreadA, "hipMemUnmap ( 0x1000, 4096 )");
  text.insert(text.size() - 1, "\r");
  text += Returned(12, kThreadA, "hipMemUnmap");
  path = folder.File("run.log.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  BOOST_REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) > 0);
  gzclose(file);
  BOOST_TEST(Must(ImportCalls(path)).calls.at(0).duration() == 2000);
}

BOOST_AUTO_TEST_CASE(the_current_device_follows_hipSetDevice_of_the_same_thread) {
  const auto call = [](int64_t us, int thread, std::string_view function, std::string_view arguments) {
    return Entered(us, thread, fmt::format("{} ( {} )", function, arguments)) + Returned(us + 1, thread, function);
  };
  const CallRecording recording =
      Import(call(1, kThreadA, "hipMemUnmap", "0x1000, 4096") + call(3, kThreadA, "hipSetDevice", "3") +
             call(5, kThreadA, "hipMemUnmap", "0x2000, 4096") + call(7, kThreadB, "hipMemUnmap", "0x3000, 4096") +
             call(9, kThreadA, "hipCtxSetCurrent", "0x99") + call(11, kThreadA, "hipMemUnmap", "0x4000, 4096"));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 4);
  BOOST_TEST(recording.calls[0].device == DriverCall::kUnknownDevice);
  BOOST_TEST(recording.calls[1].device == 3);
  BOOST_TEST(recording.calls[2].device == DriverCall::kUnknownDevice);
  BOOST_TEST(recording.calls[3].device == DriverCall::kUnknownDevice);
}

BOOST_AUTO_TEST_CASE(a_reservation_has_the_address_that_the_newest_runtime_prints) {
  const CallRecording recording =
      Import(Entered(1, kThreadA, "hipMemAddressReserve ( 0x7ffc0010, 4194304, 0, <null>, 0 )") +
             Returned(2, kThreadA, "hipMemAddressReserve", "hipSuccess : 0x7f1200000000"));
  BOOST_TEST(recording.calls.at(0).address == 0x7f1200000000u);
  BOOST_TEST(!recording.calls[0].address_presumed);
}

BOOST_AUTO_TEST_CASE(copies_count_when_they_are_from_device_to_device) {
  const auto call = [](int64_t us, std::string_view arguments) {
    return Entered(us, kThreadA, fmt::format("hipMemcpyAsync ( {} )", arguments)) +
           Returned(us + 1, kThreadA, "hipMemcpyAsync");
  };
  const CallRecording recording = Import(call(1, "0x1000, 0x2000, 256, hipMemcpyDeviceToDevice, stream:0x1") +
                                         call(3, "0x1000, 0x2000, 256, hipMemcpyHostToDevice, stream:0x1") +
                                         call(5, "0x1000, 0x2000, 256, hipMemcpyDefault, stream:0x1"));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 1);
  BOOST_TEST(recording.calls[0].size == 256u);
  BOOST_TEST(HasLoss(recording, "do not say their direction", 1));
}

BOOST_AUTO_TEST_CASE(a_call_of_very_many_open_ones_does_not_grow_without_bound) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += Entered(i, kThreadA, "hipMemUnmap ( 0x1000, 4096 )");
  }
  BOOST_TEST(TotalOf(Import(text), CallKind::kUnmap).n == 2000u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
