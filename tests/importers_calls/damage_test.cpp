// Whatever happens to a file's bytes: a recording or an error that names the file, never a crash.
#include <fmt/format.h>

#include "tests/importers_calls/recordings.h"

namespace remaplab {
namespace {

std::string RocpdBytes(const TemporaryFolder& folder) {
  RocpdRows rows("_d", "g");
  for (int i = 0; i < 20; ++i) {
    rows.Region("hipMemMap", 100 * i, 100 * i + 10,
                {fmt::format("{:#x}", 0x10000 + 0x1000 * i), "4096", "0", "0x1", "0"});
  }
  const std::string path = folder.File("whole.db");
  RunSql(path, RocpdSchema("_d", "g") + rows.sql());
  return ReadBytes(path);
}

std::string LogBytes() {
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += fmt::format(":3:hip_vm.cpp :1 : {} us: [pid:1 tid:0x{}] \x1b[32m hipMemUnmap ( 0x1000, 4096 ) \x1b[0m\n", i,
                        i % 2);
    text +=
        fmt::format(":3:hip_vm.cpp :1 : {} us: [pid:1 tid:0x{}] hipMemUnmap: Returned hipSuccess : \n", i + 9, i % 2);
  }
  return text;
}

std::string CsvBytes() {
  std::string text = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n";
  for (int i = 0; i < 4; ++i) {
    text += fmt::format("\"HIP_RUNTIME_API\",\"hipMemMap\",1,2,{},{},{}\n", i, i * 10, i * 10 + 5);
  }
  return text;
}

// Reads `bytes`; an error must name the file.
void Survives(const std::string& path, std::string_view bytes) {
  WriteBytes(path, bytes);
  const Result<CallRecording> recording = ImportCalls(path);
  if (!recording) {
    BOOST_TEST(Contains(recording.error().message(), path));
  } else {
    (void)Summarize(*recording);
    (void)GroupByLaunch(*recording);
    (void)MeasuredCosts(*recording);
  }
}

void SurvivesEveryCut(const std::string& path, const std::string& bytes, size_t stride) {
  for (size_t length = 0; length < bytes.size(); length += stride) {
    Survives(path, std::string_view(bytes).substr(0, length));
  }
}

// Each byte in turn becomes something else, from a fixed sequence.
void SurvivesChangedBytes(const std::string& path, std::string bytes, size_t stride) {
  uint32_t state = 12345;
  for (size_t at = 0; at < bytes.size(); at += stride) {
    state = state * 1664525 + 1013904223;
    const char before = std::exchange(bytes[at], static_cast<char>(state >> 24));
    Survives(path, bytes);
    bytes[at] = before;
  }
}

BOOST_AUTO_TEST_SUITE(damage)

BOOST_AUTO_TEST_CASE(a_log_may_be_cut_or_changed_anywhere) {
  const TemporaryFolder folder;
  SurvivesEveryCut(folder.File("x"), LogBytes(), 1);
  SurvivesChangedBytes(folder.File("x"), LogBytes(), 1);
}

BOOST_AUTO_TEST_CASE(csv_may_be_cut_or_changed_anywhere) {
  const TemporaryFolder folder;
  SurvivesEveryCut(folder.File("x"), CsvBytes(), 1);
  SurvivesChangedBytes(folder.File("x"), CsvBytes(), 1);
}

BOOST_AUTO_TEST_CASE(a_database_may_be_cut_or_changed_anywhere) {
  const TemporaryFolder folder;
  const std::string bytes = RocpdBytes(folder);
  SurvivesEveryCut(folder.File("x"), bytes, 509);
  SurvivesChangedBytes(folder.File("x"), bytes, 97);
}

BOOST_AUTO_TEST_CASE(a_database_cut_in_half_is_called_damaged) {
  const TemporaryFolder folder;
  const std::string bytes = RocpdBytes(folder);
  const std::string path = folder.File("half.db");
  WriteBytes(path, std::string_view(bytes).substr(0, bytes.size() / 2));
  BOOST_TEST(Contains(ErrorOf(path), path + ": is damaged or was cut off"));
}

BOOST_AUTO_TEST_CASE(a_text_with_a_database_header_is_no_database) {
  const TemporaryFolder folder;
  const std::string path = folder.File("x.db");
  WriteBytes(path, std::string("SQLite format 3\0", 16) + std::string(200, 'x'));
  const Result<CallRecording> recording = ImportCalls(path);
  BOOST_REQUIRE(!recording.has_value());
  BOOST_TEST((recording.error().code() == ErrorCode::kInput));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
