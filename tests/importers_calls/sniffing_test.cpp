#include <fcntl.h>
#include <unistd.h>

#include "tests/importers_calls/recordings.h"

namespace remaplab {
namespace {

struct Sniffing {
  TemporaryFolder folder;
  std::string path = folder.File("input");
};

// Of the importers, those that say that the file is theirs.
std::vector<std::string_view> Claims(const std::string& path) {
  std::vector<std::string_view> names;
  const std::string head = ReadBytes(path).substr(0, kSniffBytes);
  for (const CallImporter& importer : CallImporters()) {
    if (importer.sniff(head, path)) {
      names.push_back(importer.name);
    }
  }
  return names;
}

constexpr std::string_view kLog =
    ":3:hip_vm.cpp :1 : 10 us: [pid:1 tid:0x1]  hipMemUnmap ( 0x1000, 4096 ) \n"
    ":3:hip_vm.cpp :1 : 12 us: [pid:1 tid:0x1] hipMemUnmap: Returned hipSuccess : \n";

BOOST_FIXTURE_TEST_SUITE(sniffing, Sniffing)

BOOST_AUTO_TEST_CASE(each_source_is_claimed_by_its_importer_alone) {
  const auto check = [&](std::string_view expected) {
    const std::vector<std::string_view> names = Claims(path);
    BOOST_REQUIRE_EQUAL(names.size(), 1);
    BOOST_TEST(names[0] == expected);
    for (const CallImporter& importer : CallImporters()) {
      if (importer.name == expected) {
        BOOST_TEST(Must(importer.import(path)).source == expected);
      }
    }
    std::filesystem::remove(path);
  };
  RocpdRows rows("_u", "g");
  rows.Region("hipMemMap", 1, 2);
  RunSql(path, RocpdSchema("_u", "g") + rows.sql());
  check("rocpd");
  RunSql(path,
         "CREATE TABLE StringIds (id INTEGER, value TEXT);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId INTEGER);");
  check("nsys");
  WriteBytes(path, "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n");
  check("rocprofv3-csv");
  WriteBytes(path, kLog);
  check("amd-log");
}

BOOST_AUTO_TEST_CASE(a_foreign_database_is_refused_with_its_tables) {
  RunSql(path, "CREATE TABLE run (id INTEGER); CREATE TABLE step (id INTEGER);");
  BOOST_TEST(Claims(path).empty());
  const std::string error = ErrorOf(path);
  BOOST_TEST(Contains(error, "neither rocpd nor nsys"));
  BOOST_TEST(Contains(error, "the tables run, step"));
}

BOOST_AUTO_TEST_CASE(an_empty_database_is_refused) {
  RunSql(path, "CREATE TABLE t (a); DROP TABLE t;");
  BOOST_TEST(Contains(ErrorOf(path), "it has no tables"));
}

BOOST_AUTO_TEST_CASE(views_and_virtual_tables_are_not_taken_for_tables) {
  RunSql(path,
         "CREATE VIEW rocpd_region AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT * FROM c;"
         "CREATE TABLE other (a);");
  BOOST_TEST(Contains(ErrorOf(path), "neither rocpd nor nsys"));
}

BOOST_AUTO_TEST_CASE(an_empty_file_and_an_unknown_text_say_what_can_be_read) {
  WriteBytes(path, "");
  BOOST_TEST(Contains(ErrorOf(path), path + ": is empty"));
  WriteBytes(path, "hello\nworld\n");
  const std::string error = ErrorOf(path);
  BOOST_TEST(Contains(error, "holds no driver calls"));
  BOOST_TEST(Contains(error, "AMD_LOG_LEVEL"));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there_is_an_io_error) {
  const Result<CallRecording> recording = ImportCalls(path);
  BOOST_REQUIRE(!recording.has_value());
  BOOST_TEST((recording.error().code() == ErrorCode::kIo));
  BOOST_TEST(Contains(recording.error().message(), path));
}

BOOST_AUTO_TEST_CASE(standard_input_is_read_as_text) {
  WriteBytes(path, kLog);
  const int saved = dup(STDIN_FILENO);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  dup2(file, STDIN_FILENO);
  const Result<CallRecording> recording = ImportCalls("-");
  dup2(saved, STDIN_FILENO);
  close(saved);
  close(file);
  BOOST_TEST(Must(recording).calls.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_log_whose_first_call_comes_late_is_read_from_its_first_line) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "some output of the program\n";
  }
  WriteBytes(path, text + std::string(kLog));
  BOOST_TEST(Must(ImportCalls(path)).calls.at(0).duration() == 2000);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
