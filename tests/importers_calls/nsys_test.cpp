#include "tests/importers_calls/recordings.h"

namespace remaplab {
namespace {

constexpr const char* kSchema =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.13.7');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER, eventClass INTEGER NOT NULL,"
    " globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,"
    " callchainId INTEGER);"
    "INSERT INTO StringIds VALUES (1, 'cuMemMap'), (2, 'cuMemSetAccess'), (3, 'cudaGraphLaunch_v10000'),"
    " (4, 'cudaMemcpyAsync_v3020'), (5, 'cuMemCreate'), (6, 'cuLaunchKernel'), (7, 'cuEventSynchronize'),"
    " (8, 'cuMemcpyDtoDAsync_v2');";

// As Nsight packs them; what is above the process is the machine.
int64_t GlobalTid(int64_t pid, int64_t tid) { return (int64_t{3} << 48) | (pid << 24) | tid; }

std::string Call(int64_t start, int64_t end, int64_t correlation, int name, int returned = 0, int64_t pid = 4711) {
  return fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, 1, {}, {}, {}, {}, NULL);", start, end,
                     GlobalTid(pid, 4712), correlation, name, returned);
}

struct Nsys {
  TemporaryFolder folder;
  std::string path = folder.File("report.sqlite");

  CallRecording Import(const std::string& sql) {
    RunSql(path, kSchema + sql);
    return Must(ImportCalls(path));
  }
};

BOOST_FIXTURE_TEST_SUITE(nsys, Nsys)

BOOST_AUTO_TEST_CASE(driver_calls_have_times_results_and_unpacked_threads) {
  const CallRecording recording = Import(Call(100, 160, 1, 1) + Call(170, 190, 2, 2, 1));
  BOOST_TEST(recording.source == "nsys");
  BOOST_TEST(recording.source_version == "3.13.7");
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST((recording.calls[0].kind == CallKind::kMap));
  BOOST_TEST((recording.calls[0].outcome == CallOutcome::kOk));
  BOOST_TEST((recording.calls[1].kind == CallKind::kSetAccess));
  BOOST_TEST((recording.calls[1].outcome == CallOutcome::kFailed));
  BOOST_TEST(recording.texts[recording.calls[1].code] == "1");
  BOOST_TEST(recording.threads[0].pid == 4711u);
  BOOST_TEST(recording.threads[0].tid == 4712u);
}

BOOST_AUTO_TEST_CASE(what_the_gpu_did_says_size_device_and_direction) {
  const CallRecording recording = Import(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, correlationId INTEGER,"
      " globalPid INTEGER, bytes INTEGER, copyKind INTEGER);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, correlationId "
      "INTEGER,"
      " globalPid INTEGER);" +
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 1, 2, 11, {0}, 256, 8), (0, 1, 2, 12, {0}, 99, 1);"
                  "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (0, 1, 3, 13, {0});",
                  GlobalTid(4711, 0)) +
      Call(1, 2, 11, 4) + Call(3, 4, 12, 4) + Call(5, 6, 13, 3));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST((recording.calls[0].kind == CallKind::kCopy));
  BOOST_TEST(recording.calls[0].size == 256u);
  BOOST_TEST(recording.calls[0].device == 2);
  BOOST_TEST((recording.calls[1].kind == CallKind::kLaunch));
  BOOST_TEST(recording.calls[1].device == 3);
  BOOST_REQUIRE_EQUAL(recording.others.size(), 1);  // the copy from the host
  BOOST_TEST(recording.others[0].calls == 1u);
}

BOOST_AUTO_TEST_CASE(correlations_of_two_processes_are_kept_apart) {
  const CallRecording recording = Import(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (deviceId INTEGER, correlationId INTEGER, globalPid INTEGER);" +
      fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 5, {}), (2, 5, {});", GlobalTid(10, 0),
                  GlobalTid(20, 0)) +
      Call(1, 2, 5, 3, 0, 10) + Call(3, 4, 5, 3, 0, 20));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST(recording.calls[0].device == 1);
  BOOST_TEST(recording.calls[1].device == 2);
}

BOOST_AUTO_TEST_CASE(memory_usage_says_what_a_create_made) {
  const CallRecording recording = Import(
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,"
      " address INTEGER, bytes INTEGER, memoryOperationType INTEGER, correlationId INTEGER);" +
      fmt::format("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, {}, 4, 0, 2097152, 0, 21);",
                  GlobalTid(4711, 0)) +
      Call(1, 9, 21, 5));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 1);
  BOOST_TEST(recording.calls[0].size == 2097152u);
  BOOST_TEST(recording.calls[0].device == 4);
}

BOOST_AUTO_TEST_CASE(versioned_names_are_the_same_functions) {
  const CallRecording recording = Import(Call(1, 2, 1, 3) + Call(3, 4, 2, 8) + Call(5, 9, 3, 6));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST((recording.calls[0].kind == CallKind::kLaunch));
  BOOST_TEST((recording.calls[1].kind == CallKind::kCopy));
  BOOST_TEST(recording.others[0].name == "cuLaunchKernel");
}

BOOST_AUTO_TEST_CASE(a_call_without_end_counts_but_has_no_duration) {
  const CallRecording recording =
      Import(Call(100, 160, 1, 7) +
             fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (200, NULL, 1, {}, 2, 7, 0, NULL);",
                         GlobalTid(1, 2)));
  BOOST_TEST(TotalOf(recording, CallKind::kWait).n == 2u);
  BOOST_TEST(TotalOf(recording, CallKind::kWait).timed == 1u);
  BOOST_TEST(TotalOf(recording, CallKind::kWait).ns == 60);
  BOOST_TEST(HasLoss(recording, "had not ended", 1));
}

BOOST_AUTO_TEST_CASE(an_export_without_cuda_calls_says_how_to_record_them) {
  RunSql(path, "CREATE TABLE StringIds (id INTEGER, value TEXT); CREATE TABLE TARGET_INFO_GPU (id INTEGER);");
  const std::string error = ErrorOf(path);
  BOOST_TEST(Contains(error, "CUPTI_ACTIVITY_KIND_RUNTIME is missing"));
  BOOST_TEST(Contains(error, "--trace=cuda"));
}

BOOST_AUTO_TEST_CASE(a_missing_column_is_named) {
  RunSql(path,
         "CREATE TABLE StringIds (id INTEGER, value TEXT);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, nameId INTEGER);");
  BOOST_TEST(Contains(ErrorOf(path), "the table CUPTI_ACTIVITY_KIND_RUNTIME has no column end"));
}

BOOST_AUTO_TEST_CASE(old_exports_with_few_columns_are_read) {
  RunSql(path,
         "CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds VALUES (1, 'cuMemUnmap');"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId INTEGER);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 9, 1);");
  const CallRecording recording = Must(ImportCalls(path));
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 1);
  BOOST_TEST((recording.calls[0].outcome == CallOutcome::kUnknown));
}

BOOST_AUTO_TEST_CASE(a_row_with_impossible_times_is_named) {
  RunSql(path, kSchema + Call(10, 5, 1, 1));
  BOOST_TEST(Contains(ErrorOf(path), "the table CUPTI_ACTIVITY_KIND_RUNTIME, row 1"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
