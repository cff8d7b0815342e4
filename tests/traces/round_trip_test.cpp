#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <boost/test/unit_test.hpp>

#include "tests/traces/trace_testing.h"
#include "traces/line_reader.h"
#include "traces/reader.h"
#include "traces/writer.h"

namespace remaplab {
namespace {

Trace MustParse(const std::string& text) { return Must(ParseTrace(text, "t")); }

template <typename T>
void CheckSame(const std::vector<T>& a, const std::vector<T>& b) {
  BOOST_CHECK_EQUAL_COLLECTIONS(a.begin(), a.end(), b.begin(), b.end());
}

// Every kind of event and every field, written by the writer.
std::string EveryEvent(const std::string& path) {
  TraceHeader header;
  header.source = "test \"quoted\"";
  header.tool = "tool";
  header.granularity = 4096;
  header.allocator = "vmm";
  header.meta_json = "{\"a\":\n 1}";
  auto writer = TraceWriter::Create(path, header);
  BOOST_REQUIRE(writer.has_value());
  TraceProgram program{7, "jit_step", 2, 985, {}};
  program.slots = {{1, 4096, 0, SlotKind::kTemp, Access::kBoth, Tristate::kYes},
                   {3, 8, 1, SlotKind::kParameter, Access::kRead, Tristate::kNo},
                   {9, 100, 0, SlotKind::kUnknown, Access::kUnknown, Tristate::kUnknown}};
  writer->Program(program, 5);
  writer->Alloc({10, 0x7f0000000000, 4096, 10});
  writer->Alloc({11, kUnknownAddress, 8});
  const std::vector<TraceBind> all = {{1, 10}, {3, 11}, {9, kNullBacking}};
  writer->Step({7, 1, 20, 300, all});
  writer->Mark({"warm-up end", 21});
  writer->DeferredFree(10, 22);
  writer->Alloc({10, 0x7f0000000000, 4000, 23, true});
  const std::vector<TraceBind> some = {{9, 11}};
  writer->Step({7, 2, kUnknownTime, kUnknownTime, some});
  writer->Timing({"update", 1227000, 985}, 30);
  writer->Free(10);
  writer->ProgramEnd(7, 40);
  BOOST_TEST(writer->steps() == 2u);
  TraceEnd end;
  end.identity = TraceIdentity::kAddress;
  end.starts_mid_life = true;
  end.lost_events = 3;
  end.counts_json = "{\"cut_lines\":4}";
  Must(writer->Finish(end));
  return path;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(RoundTripTest)

BOOST_AUTO_TEST_CASE(what_was_written_is_what_is_read) {
  const TemporaryFolder folder;
  const Trace trace = Must(LoadTrace(EveryEvent(folder.File("t.remaptrace"))));
  BOOST_TEST(trace.header.source == "test \"quoted\"");
  BOOST_TEST(trace.header.granularity == 4096u);
  BOOST_TEST(trace.header.allocator == "vmm");
  BOOST_TEST(trace.header.meta_json == R"({"a":1})");
  BOOST_REQUIRE_EQUAL(trace.programs.size(), 1u);
  const TraceProgram& program = trace.programs[0];
  BOOST_TEST(program.id == 7u);
  BOOST_TEST(program.module == "jit_step");
  BOOST_TEST(program.device == 2);
  BOOST_TEST(program.commands == 985u);
  BOOST_REQUIRE_EQUAL(program.slots.size(), 3u);
  BOOST_TEST(program.slots[1].index == 3u);
  BOOST_TEST(program.slots[1].size == 8u);
  BOOST_TEST(program.slots[1].space == 1);
  BOOST_TEST((program.slots[1].kind == SlotKind::kParameter));
  BOOST_TEST((program.slots[1].access == Access::kRead));
  BOOST_TEST((program.slots[0].in_command_buffer == Tristate::kYes));
  BOOST_TEST((program.slots[1].in_command_buffer == Tristate::kNo));
  BOOST_TEST((program.slots[2].in_command_buffer == Tristate::kUnknown));
  CheckSame(trace.backing_id, {10, 11});
  CheckSame(trace.backing_address, {0x7f0000000000, kUnknownAddress});
  CheckSame(trace.backing_size, {4096, 8});
  CheckSame(trace.step_number, {1, 2});
  CheckSame(trace.step_duration, {300, kUnknownTime});
  CheckSame(trace.step_bind_begin, {0, 3, 4});
  CheckSame(trace.bind_slot, {0, 1, 2, 2});
  CheckSame(trace.bind_backing, {0, 1, kUnboundSlot, 1});
  CheckSame(trace.event_t, {5, 10, kUnknownTime, 20, 21, 22, 23, kUnknownTime, 30, kUnknownTime, 40});
  using enum TraceEventType;
  const std::vector<TraceEventType> types = {kProgram, kAlloc, kAlloc,  kStep, kMark,      kDeferredFree,
                                             kAlloc,   kStep,  kTiming, kFree, kProgramEnd};
  BOOST_REQUIRE_EQUAL(trace.events.size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    BOOST_TEST((trace.events[i].type == types[i]), "event " << i);
  }
  BOOST_TEST(trace.marks.at(0).name == "warm-up end");
  BOOST_TEST(trace.timings.at(0).count == 985u);
  BOOST_TEST(trace.end.present);
  BOOST_TEST((trace.end.identity == TraceIdentity::kAddress));
  BOOST_TEST(trace.end.starts_mid_life);
  BOOST_TEST(trace.end.lost_events == 3u);
  BOOST_TEST(trace.end.counts_json == R"({"cut_lines":4})");
}

BOOST_AUTO_TEST_CASE(a_loaded_trace_is_written_with_the_same_bytes) {
  const TemporaryFolder folder;
  const std::string path = EveryEvent(folder.File("t.remaptrace"));
  // The writer keeps a re-issued buffer's own size, the model only the largest: that one number may differ.
  std::string text = ReadBytes(path);
  text.replace(text.find("\"size\":4000"), 11, "\"size\":4096");
  text.replace(text.find("\"meta\":{\"a\":  1}"), 16, "\"meta\":{\"a\":1}");
  const Trace trace = MustParse(text);
  BOOST_TEST(TraceToText(trace) == text);
  BOOST_REQUIRE(WriteTrace(trace, folder.File("copy")).has_value());
  BOOST_TEST(ReadBytes(folder.File("copy")) == text);
}

BOOST_AUTO_TEST_CASE(plain_zst_and_gz_are_told_apart_by_content_and_have_one_hash) {
  const TemporaryFolder folder;
  const std::string plain = EveryEvent(folder.File("plain.zst.not"));
  const std::string text = ReadBytes(plain);
  EveryEvent(folder.File("t.remaptrace.zst"));
  std::filesystem::rename(folder.File("t.remaptrace.zst"), folder.File("packed"));
  BOOST_TEST(ReadBytes(folder.File("packed")).starts_with("\x28\xb5\x2f\xfd"));
  gzFile gz = gzopen(folder.File("gz").c_str(), "wb");
  gzwrite(gz, text.data(), static_cast<unsigned>(text.size()));
  gzclose(gz);
  const std::string hash = LoadTrace(plain).value().xxh3;
  BOOST_TEST(hash.size() == 32u);
  BOOST_TEST(LoadTrace(folder.File("packed")).value().xxh3 == hash);
  BOOST_TEST(LoadTrace(folder.File("gz")).value().xxh3 == hash);
  BOOST_TEST(MustParse(text + "\n").xxh3 != hash);
}

BOOST_AUTO_TEST_CASE(the_hash_is_xxh3_128) {
  // The published value for no bytes at all.
  LineReader lines(ByteSource::FromMemory("").value());
  BOOST_TEST(!lines.Next().value().has_value());
  BOOST_TEST(lines.Xxh3() == "99aa06d3014798d86001c324468d497f");
}

BOOST_AUTO_TEST_CASE(several_frames_and_members_are_one_file) {
  const std::string text = WithEnd(Prelude());
  const auto frame = [](std::string_view part) {
    std::string out(ZSTD_compressBound(part.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), part.data(), part.size(), 1));
    return out;
  };
  BOOST_TEST(MustParse(frame(text.substr(0, 200)) + frame(text.substr(200))).end.present);
  const TemporaryFolder folder;
  for (const char* mode : {"wb", "ab"}) {
    gzFile gz = gzopen(folder.File("gz").c_str(), mode);
    const std::string part = *mode == 'w' ? text.substr(0, 200) : text.substr(200);
    gzwrite(gz, part.data(), static_cast<unsigned>(part.size()));
    gzclose(gz);
  }
  BOOST_TEST(LoadTrace(folder.File("gz")).value().end.present);
}

BOOST_AUTO_TEST_CASE(dash_is_standard_input) {
  const TemporaryFolder folder;
  WriteBytes(folder.File("t"), WithEnd(Prelude()));
  const int saved = dup(STDIN_FILENO);
  const int file = open(folder.File("t").c_str(), O_RDONLY);
  dup2(file, STDIN_FILENO);
  const auto trace = LoadTrace("-");
  dup2(saved, STDIN_FILENO);
  close(saved);
  close(file);
  BOOST_REQUIRE(trace.has_value());
  BOOST_TEST(trace->steps() == 1u);
}

BOOST_AUTO_TEST_CASE(lines_as_python_prints_them_are_read) {
  const Trace trace = MustParse(
      "{\"remaptrace\": 1, \"later_field\": [1, {\"x\": 2}]}\r\n"
      "{\"slots\": [{\"size\": 4096, \"index\": 0, \"colour\": \"red\"}], \"module\": \"m\", \"id\": 4, \"event\": "
      "\"program\"}\n"
      "\n"
      "{\"event\": \"alloc\", \"backing\": 1, \"address\": \"0x1F000\", \"size\": 4096, \"t\": -5, \"why\": "
      "\"\\u00e9\"}\n"
      "{\"event\": \"weather\", \"sun\": true}\n"
      "{\"event\": \"step\", \"program\": 4, \"step\": 1, \"bind\": [[0, 1]], \"duration\": null}\n"
      "{\"bind\": [], \"event\": \"step\", \"program\": 4, \"step\": 2, \"t\": null}\n"
      "{\"event\": \"end\"}");
  BOOST_TEST(trace.backing_address.at(0) == 0x1f000u);
  BOOST_TEST(trace.steps() == 2u);
  BOOST_TEST(trace.event_t.at(1) == -5);
  BOOST_TEST(trace.skipped_events == 1u);
  BOOST_TEST(trace.end.present);
}

BOOST_AUTO_TEST_CASE(only_real_changes_stay_in_a_later_step_and_slots_ascend) {
  const Trace trace = MustParse(WithEnd(Prelude() + R"({"event":"step","program":0,"step":2,"bind":[[3,10],[1,10]]})"
                                                    "\n"
                                                    R"({"event":"step","program":0,"step":3,"bind":[[3,null],[1,11]]})"
                                                    "\n"));
  CheckSame(trace.step_bind_begin, {0, 2, 3, 5});
  CheckSame(trace.bind_slot, {0, 1, 1, 0, 1});
  CheckSame(trace.bind_backing, {0, 1, 0, 1, kUnboundSlot});
}

BOOST_AUTO_TEST_CASE(a_program_that_is_declared_again_has_a_first_step_again) {
  const Trace trace =
      MustParse(WithEnd(Prelude() + R"({"event":"program","id":0,"module":"m","slots":[{"index":1,"size":4096}]})"
                                    "\n"
                                    R"({"event":"step","program":0,"step":2,"bind":[[1,10]]})"
                                    "\n"));
  CheckSame(trace.step_program, {0, 1});
  CheckSame(trace.step_bind_begin, {0, 2, 3});
}

BOOST_AUTO_TEST_CASE(kept_memory_may_be_bound_and_the_largest_size_is_kept) {
  const Trace trace = MustParse(WithEnd(Prelude() + R"({"event":"free","backing":11,"deferred":true})"
                                                    "\n"
                                                    R"({"event":"step","program":0,"step":2,"bind":[[1,11]]})"
                                                    "\n"
                                                    R"({"event":"alloc","backing":11,"address":null,"size":64})"
                                                    "\n"));
  BOOST_TEST(trace.backing_size.at(1) == 64u);
}

BOOST_AUTO_TEST_CASE(the_fast_path_and_the_general_parser_agree) {
  // The unknown field sends the same line through the general parser.
  const auto both = [](std::string line) {
    std::string slow = line;
    slow.insert(1, "\"unknown\":0,");
    const auto text = [](const std::string& l) { return WithEnd(Prelude() + l + "\n"); };
    const auto a = ParseTrace(text(line), "t");
    const auto b = ParseTrace(text(slow), "t");
    BOOST_REQUIRE_MESSAGE(a.has_value() == b.has_value(), line);
    if (a) {
      BOOST_TEST(TraceToText(*a) == TraceToText(*b), line);
    } else {
      BOOST_TEST(a.error().message() == b.error().message(), line);
    }
  };
  for (
      const char* line : {
          R"({"event":"alloc","backing":12,"address":"0xffffffffffff","size":281474976710656,"t":4611686018427387904})",
          R"({"event":"alloc","backing":12,"address":"0xFFFFFFFFFFFFFFFF","size":1})",
          R"({"event":"alloc","backing":12,"address":"0xfffffffffffffffe","size":1})",
          R"({"event":"alloc","backing":12,"address":"0x00000000000000001","size":1})",
          R"({"event":"alloc","backing":12,"address":"0x","size":1})",
          R"({"event":"alloc","backing":12,"address":"0x-1","size":1})",
          R"({"event":"alloc","backing":12,"address":"0x0","size":0})",
          R"({"event":"alloc","backing":12,"address":"0x0","size":281474976710657})",
          R"({"event":"alloc","backing":12,"address":"0x0","size":1,"size":1})",
          R"({"event":"alloc","backing":12,"address":"0x0","size":1,"reused":false})",
          R"({"event":"alloc","backing":12,"address":"0x0","size":1,"reused":true})",
          R"({"event":"alloc","backing":18446744073709551614,"address":null,"size":1})",
          R"({"event":"alloc","backing":18446744073709551615,"address":null,"size":1})",
          R"({"event":"alloc","backing":012,"address":null,"size":1})",
          R"({"event":"alloc","backing":1.0,"address":null,"size":1})",
          R"({"event":"alloc","backing":12,"address":null,"size":1,})",
          R"({"event":"alloc","backing":12,"address":null,"size":1}})",
          R"({"event":"alloc","backing":12,"address":null,"size":1} {})",
          R"({"event":"alloc" "backing":12,"address":null,"size":1})",
          R"({ "event" : "free" , "backing" : 11 })",
          R"({"event":"free","backing":11,"deferred":true,"t":1})",
          R"({"event":"free","backing":11,"deferred":null})",
          R"({"event":"free"})",
          R"({"event":"step","program":0,"step":2,"bind":[]})",
          R"({"event":"step","program":0,"step":2,"bind":[ [1,11] , [3, null] ],"duration":100000000000000})",
          R"({"event":"step","program":0,"step":2,"bind":[],"duration":100000000000001})",
          R"({"event":"step","program":0,"step":2,"bind":[[1,11],]})",
          R"({"event":"step","program":0,"step":2,"bind":[[1,11,3]]})",
          R"({"event":"step","program":0,"step":2,"bind":[[1]]})",
          R"({"event":"step","program":0,"step":2,"bind":[1,11]})",
          R"({"event":"step","program":0,"step":2,"bind":{}})",
          R"({"event":"step","program":0,"step":2,"bind":[[4294967296,11]]})",
          R"({"event":"step","program":0,"step":2})",
          R"({"event":"step","program":0,"step":-2,"bind":[]})",
          R"({"event":"stepp","program":0,"step":2,"bind":[]})",
          R"({"event":"step","program":0,"step":2,"bind":[],"t":4611686018427387905})",
      }) {
    both(line);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
