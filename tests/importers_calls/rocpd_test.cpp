#include "tests/importers_calls/recordings.h"

namespace remaplab {
namespace {

constexpr uint64_t kMiB = 1 << 20;

struct Rocpd {
  TemporaryFolder folder;
  std::string path = folder.File("run.db");

  CallRecording Import(const std::string& sql) {
    RunSql(path, sql);
    return Must(ImportCalls(path));
  }
};

BOOST_FIXTURE_TEST_SUITE(rocpd, Rocpd)

BOOST_AUTO_TEST_CASE(calls_have_times_threads_and_arguments_by_position) {
  RocpdRows rows("_0a1b", "g1");
  rows.Region("hipMemMap", 1000, 1500, {"0x7f0000000000", "2097152", "0", "0x55", "0"});
  rows.Region("hipMemSetAccess", 1600, 2600, {"0x7f0000000000", "2097152", "0x7ffc", "8"}, 9);
  const CallRecording recording = Import(RocpdSchema("_0a1b", "g1") + rows.sql());
  BOOST_TEST(recording.source == "rocpd");
  BOOST_TEST(recording.source_version == "3");
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  const DriverCall& map = recording.calls[0];
  BOOST_TEST((map.kind == CallKind::kMap));
  BOOST_TEST(map.start == 1000);
  BOOST_TEST(map.duration() == 500);
  BOOST_TEST(map.address == 0x7f0000000000u);
  BOOST_TEST(map.size == 2 * kMiB);
  BOOST_TEST(map.object == 0x55u);
  BOOST_TEST((map.outcome == CallOutcome::kUnknown));
  const DriverCall& access = recording.calls[1];
  BOOST_TEST((access.kind == CallKind::kSetAccess));
  BOOST_TEST(access.devices == 8u);
  BOOST_TEST(access.chunks == 1u);
  BOOST_TEST(recording.threads[map.thread].pid == 4711u);
  BOOST_TEST(recording.threads[map.thread].tid == 4712u);
  BOOST_TEST(recording.threads[access.thread].tid == 4713u);
}

BOOST_AUTO_TEST_CASE(rows_of_guids_that_share_ids_are_not_mixed_up) {
  RocpdRows first("_m", "g1");
  RocpdRows second("_m", "g2");
  first.Region("hipMemMap", 100, 110, {"0x1000", "4096", "0", "0x1", "0"});
  second.Region("hipMemUnmap", 200, 230, {"0x2000", "8192"});
  const CallRecording recording = Import(RocpdSchema("_m", "g1") + first.sql() + second.sql());
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST((recording.calls[0].kind == CallKind::kMap));
  BOOST_TEST(recording.calls[0].address == 0x1000u);
  BOOST_TEST((recording.calls[1].kind == CallKind::kUnmap));
  BOOST_TEST(recording.calls[1].address == 0x2000u);
  BOOST_TEST(recording.calls[1].size == 8192u);
}

BOOST_AUTO_TEST_CASE(every_set_of_tables_in_the_file_is_read) {
  RocpdRows first("_a", "g1");
  RocpdRows second("_b", "g2");
  first.Region("hipMemMap", 100, 110);
  second.Region("hipMemMap", 50, 55);
  const CallRecording recording =
      Import(RocpdSchema("_a", "g1") + first.sql() + RocpdSchema("_b", "g2") + second.sql());
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST(recording.calls[0].start == 50);
}

BOOST_AUTO_TEST_CASE(tables_without_suffix_are_read_too) {
  RocpdRows rows("", "g");
  rows.Region("hipMemUnmap", 1, 2);
  std::string schema = RocpdSchema("", "g");
  for (size_t view = schema.find("CREATE VIEW"); view != std::string::npos; view = schema.find("CREATE VIEW")) {
    schema.erase(view, schema.find('\n', view) - view);
  }
  BOOST_TEST(Import(schema + rows.sql()).calls.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_call_within_one_tick_is_a_sample) {
  RocpdRows rows("_s", "g");
  rows.Sample("hipEventRecord", 300, {"0x9"});
  rows.Sample("HIP_RUNTIME_API_EXT", 400);
  const CallRecording recording = Import(RocpdSchema("_s", "g") + rows.sql());
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 1);
  BOOST_TEST((recording.calls[0].kind == CallKind::kRecord));
  BOOST_TEST(recording.calls[0].duration() == 0);
  BOOST_TEST(recording.calls[0].object == 9u);
  BOOST_TEST(HasLoss(recording, "within one tick and last 0 ns", 1));
  BOOST_TEST(HasLoss(recording, "have no function name", 1));
}

BOOST_AUTO_TEST_CASE(markers_and_hsa_calls_are_no_driver_calls) {
  RocpdRows rows("_x", "g");
  rows.Marker("hipMemMap", 0, 10);
  rows.Region("hsa_amd_vmem_map", 1, 5);
  rows.Region("hipMemMap", 0, 10);
  rows.Region("hipLaunchKernel", 20, 29);
  const CallRecording recording = Import(RocpdSchema("_x", "g") + rows.sql());
  BOOST_TEST(recording.calls.size() == 1u);
  BOOST_TEST(HasLoss(recording, "HSA calls", 1));
  BOOST_TEST(HasLoss(recording, "markers", 1));
  BOOST_REQUIRE_EQUAL(recording.others.size(), 1);
  BOOST_TEST(recording.others[0].name == "hipLaunchKernel");
  BOOST_TEST(recording.others[0].ns == 9);
}

BOOST_AUTO_TEST_CASE(an_allocation_trace_alone_has_creates_and_releases) {
  RocpdRows rows("_h", "g");
  rows.Handle("ALLOC", "VIRTUAL", 10, 30, 2 * kMiB);
  rows.Handle("FREE", "VIRTUAL", 40, 45, 0);
  rows.Handle("ALLOC", "REAL", 50, 60, 64);
  const CallRecording recording = Import(RocpdSchema("_h", "g") + rows.sql());
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 2);
  BOOST_TEST((recording.calls[0].kind == CallKind::kCreate));
  BOOST_TEST(recording.calls[0].size == 2 * kMiB);
  BOOST_TEST((recording.calls[1].kind == CallKind::kRelease));
  BOOST_TEST(recording.calls[1].size == DriverCall::kUnknown);
}

BOOST_AUTO_TEST_CASE(handles_are_not_counted_beside_the_calls_that_made_them) {
  RocpdRows rows("_h", "g");
  rows.Region("hipMemCreate", 5, 40, {"0x7ffc", "2097152", "0x7ffd", "0"});
  rows.Handle("ALLOC", "VIRTUAL", 10, 30, 2 * kMiB);
  const CallRecording recording = Import(RocpdSchema("_h", "g") + rows.sql());
  BOOST_REQUIRE_EQUAL(recording.calls.size(), 1);
  BOOST_TEST(recording.calls[0].size == 2 * kMiB);
}

BOOST_AUTO_TEST_CASE(a_newer_schema_is_refused_with_both_numbers) {
  RunSql(path, RocpdSchema("_n", "g", "4.0.0"));
  const std::string error = ErrorOf(path);
  BOOST_TEST(Contains(error, path));
  BOOST_TEST(Contains(error, "schema 4.0.0 is newer than schema 3"));
}

BOOST_AUTO_TEST_CASE(an_older_schema_is_refused) {
  RunSql(path, RocpdSchema("_n", "g", "2"));
  BOOST_TEST(Contains(ErrorOf(path), "schema 2 is older than schema 3"));
}

BOOST_AUTO_TEST_CASE(a_schema_version_must_be_there_and_be_a_number) {
  RunSql(path, RocpdSchema("_n", "g", "three"));
  BOOST_TEST(Contains(ErrorOf(path), "'three', which is no number"));
  RunSql(path, "DELETE FROM rocpd_metadata_n");
  BOOST_TEST(Contains(ErrorOf(path), "rocpd_metadata_n has no schema_version"));
}

BOOST_AUTO_TEST_CASE(minor_versions_of_schema_3_are_read) {
  RocpdRows rows("_n", "g");
  rows.Region("hipMemMap", 1, 2);
  BOOST_TEST(Import(RocpdSchema("_n", "g", "3.1.0") + rows.sql()).source_version == "3.1.0");
}

BOOST_AUTO_TEST_CASE(a_missing_table_or_column_is_named) {
  RunSql(path, RocpdSchema("_t", "g") + "DROP TABLE rocpd_string_t;");
  BOOST_TEST(Contains(ErrorOf(path), "the table rocpd_string_t is missing"));
  std::filesystem::remove(path);
  // How a later layout keeps times: in a table of their own.
  RunSql(path, RocpdSchema("_t", "g") +
                   "DROP VIEW rocpd_region; ALTER TABLE rocpd_region_t RENAME COLUMN start TO start_id;");
  BOOST_TEST(Contains(ErrorOf(path), "the table rocpd_region_t has no column start"));
}

BOOST_AUTO_TEST_CASE(a_call_that_ends_before_it_starts_is_an_error_that_names_the_row) {
  RocpdRows rows("_t", "g");
  rows.Region("hipMemMap", 20, 10);
  RunSql(path, RocpdSchema("_t", "g") + rows.sql());
  const std::string error = ErrorOf(path);
  BOOST_TEST(Contains(error, "the table rocpd_region_t, id 1"));
  BOOST_TEST(Contains(error, "before it starts"));
}

BOOST_AUTO_TEST_CASE(a_time_that_is_no_number_is_an_error) {
  RocpdRows rows("_t", "g");
  rows.Region("hipMemMap", 10, 20);
  RunSql(path, RocpdSchema("_t", "g") + rows.sql() + "UPDATE rocpd_region_t SET start = 'soon';");
  BOOST_TEST(Contains(ErrorOf(path), "not both whole numbers"));
}

BOOST_AUTO_TEST_CASE(regions_without_a_name_are_counted_as_lost) {
  RocpdRows rows("_t", "g");
  rows.Region("hipMemMap", 10, 20);
  const CallRecording recording =
      Import(RocpdSchema("_t", "g") + rows.sql() + "UPDATE rocpd_region_t SET name_id = 999;");
  BOOST_TEST(recording.calls.empty());
  BOOST_TEST(HasLoss(recording, "have no name", 1));
}

BOOST_AUTO_TEST_CASE(reading_leaves_nothing_beside_the_file) {
  RocpdRows rows("_t", "g");
  rows.Region("hipMemMap", 10, 20);
  Import("PRAGMA journal_mode = WAL;" + RocpdSchema("_t", "g") + rows.sql());
  BOOST_TEST(!std::filesystem::exists(path + "-wal"));
  BOOST_TEST(!std::filesystem::exists(path + "-shm"));
}

BOOST_AUTO_TEST_CASE(a_path_with_characters_that_uris_reserve_is_read) {
  path = folder.File("50% of #1?.db");
  RocpdRows rows("_t", "g");
  rows.Region("hipMemMap", 10, 20);
  BOOST_TEST(Import(RocpdSchema("_t", "g") + rows.sql()).calls.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace remaplab
