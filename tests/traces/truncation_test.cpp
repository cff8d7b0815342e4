// A file that ends anywhere: cut off, or a clear error, and what came before the cut is kept.
#include <zlib.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/traces/trace_testing.h"
#include "traces/reader.h"
#include "traces/writer.h"

namespace remaplab {
namespace {

std::string Whole() {
  return WithEnd(Prelude() + R"({"event":"free","backing":10,"deferred":true})"
                             "\n"
                             R"({"event":"mark","name":"caf)"
                             "\xc3\xa9"
                             R"(","t":1})"
                             "\n"
                             R"({"event":"step","program":0,"step":2,"bind":[[1,11]]})"
                             "\n");
}

size_t LinesIn(std::string_view text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

}  // namespace

BOOST_AUTO_TEST_SUITE(TruncationTest)

BOOST_AUTO_TEST_CASE(plain_text_cut_at_any_byte_is_cut_off_and_keeps_its_whole_lines) {
  const std::string text = Whole();
  const size_t header = text.find('\n');
  for (size_t length = 0; length < text.size(); ++length) {
    const std::string_view part = std::string_view(text).substr(0, length);
    const auto trace = ParseTrace(part, "t");
    if (length < header) {
      BOOST_TEST(!trace.has_value(), "length " << length);
      BOOST_TEST(trace.error().message().find("not a remaptrace") != std::string::npos);
      continue;
    }
    BOOST_REQUIRE_MESSAGE(trace.has_value(), length << ": " << (trace ? "" : trace.error().message()));
    // A line that only lacks its line feed is whole.
    const bool whole_line = text[length] == '\n';
    const bool end_line = length + 1 == text.size();
    BOOST_TEST(trace->end.present == end_line);
    const size_t lines = LinesIn(part) + (whole_line ? 1 : 0) - (end_line ? 1 : 0);
    BOOST_TEST(trace->events.size() + 1 == lines, "length " << length);
  }
}

BOOST_AUTO_TEST_CASE(compressed_data_cut_at_any_byte_never_passes_for_whole) {
  const TemporaryFolder folder;
  BOOST_REQUIRE(WriteTrace(ParseTrace(Whole(), "t").value(), folder.File("t.zst")).has_value());
  const std::string text = Whole();
  gzFile gz = gzopen(folder.File("t.gz").c_str(), "wb");
  gzwrite(gz, text.data(), static_cast<unsigned>(text.size()));
  gzclose(gz);
  for (const char* name : {"t.zst", "t.gz"}) {
    const std::string packed = ReadBytes(folder.File(name));
    BOOST_TEST(ParseTrace(packed, "t").value().end.present);
    for (size_t length = 0; length < packed.size(); ++length) {
      const auto reader = ParseTrace(packed.substr(0, length), "t");
      if (!reader) {
        BOOST_TEST(reader.error().message().find("not a remaptrace") != std::string::npos, reader.error().message());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_long_stream_cut_in_the_middle_keeps_what_came_before) {
  const TemporaryFolder folder;
  const std::string path = folder.File("t.remaptrace.zst");
  auto writer = TraceWriter::Create(path, TraceHeader{});
  uint64_t scramble = 1;
  for (uint64_t i = 0; i < 100000; ++i) {
    scramble = scramble * 6364136223846793005u + 1442695040888963407u;
    writer->Alloc({.backing = i, .address = scramble >> 16, .size = 1 + (scramble >> 40)});
  }
  BOOST_REQUIRE(writer->Finish(TraceEnd{}).has_value());
  const std::string packed = ReadBytes(path);
  const auto cut = ParseTrace(packed.substr(0, packed.size() / 2), "t");
  BOOST_REQUIRE(cut.has_value());
  BOOST_TEST(!cut->end.present);
  BOOST_TEST(cut->backings() > 20000u);
  BOOST_TEST(cut->backings() < 80000u);

  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(~damaged[packed.size() / 2]);
  const auto bad = ParseTrace(damaged, "t");
  BOOST_REQUIRE(!bad.has_value());
  BOOST_TEST((bad.error().code() == ErrorCode::kInput));
  BOOST_TEST(bad.error().message().starts_with("t:"));
}

BOOST_AUTO_TEST_CASE(the_reader_says_how_a_file_ends_early) {
  const auto reason = [](std::string_view text) {
    auto reader = TraceReader::FromMemory(text, "t").value();
    while (reader.Next().value() != nullptr) {
    }
    return reader.cut_off();
  };
  const std::string text = Prelude();
  BOOST_TEST(reason(WithEnd(text)) == "");
  BOOST_TEST(reason(text) == "after line 5 there is no end line");
  BOOST_TEST(reason(text.substr(0, text.size() - 5)) == "line 5 is torn");
}

BOOST_AUTO_TEST_CASE(garbage_at_the_end_is_no_cut) {
  BOOST_TEST(!ParseTrace(Prelude() + "garbage", "t").has_value());
  BOOST_TEST(!ParseTrace(Prelude() + R"({"event":"free","backing":99})", "t").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
