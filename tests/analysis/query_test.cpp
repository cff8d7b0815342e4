#include "analysis/query.h"

#include "tests/analysis/support.h"

namespace remaplab {
namespace {

using namespace test;

struct Rows {
  std::vector<std::string> columns;
  std::vector<std::vector<QueryValue>> rows;
};

Status Run(Store& store, std::string_view sql, Rows& out) {
  return RunQuery(store, sql,
                  {.on_columns =
                       [&](std::vector<std::string> columns) {
                         out.columns = std::move(columns);
                         return Status();
                       },
                   .on_row =
                       [&](std::span<const QueryValue> row) {
                         out.rows.emplace_back(row.begin(), row.end());
                         return Status();
                       }});
}

struct Fixture {
  Fixture() {
    Store writer = Must(Store::OpenForWriting(path));
    const RunId run = Must(writer.BeginRun(ExampleInfo()));
    CallRow call;
    call.step = 2;
    call.kind = CallKind::kReserve;
    call.address = 0x7f0000000000;
    call.size = 4096;
    call.end = 900;
    call.predicted_ns = 800;
    Must(writer.AppendCalls(run, std::span(&call, 1)));
    Must(writer.FinishRun(run, ExampleSummary()));
    Must(writer.Close());
  }
  Store Open() const { return Must(Store::OpenForReading(path)); }

  TemporaryDirectory directory;
  std::string path = directory.File("r.sqlite");
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(QueryTest, Fixture)

BOOST_AUTO_TEST_CASE(every_promised_view_can_be_read_by_name) {
  Store store = Open();
  for (const std::string_view view : PromisedViews()) {
    Rows rows;
    const Status status = Run(store, view, rows);
    BOOST_TEST(status.has_value(), view);
    BOOST_TEST(rows.columns.size() > 2u, view);
  }
}

BOOST_AUTO_TEST_CASE(values_keep_their_types) {
  Store store = Open();
  Rows rows;
  Must(Run(store, "SELECT 1 AS i, 0.5 AS r, 'x' AS t, NULL AS n", rows));
  BOOST_TEST((rows.columns == std::vector<std::string>{"i", "r", "t", "n"}));
  BOOST_TEST((rows.rows[0] == std::vector<QueryValue>{int64_t{1}, 0.5, std::string("x"), std::monostate()}));
}

BOOST_AUTO_TEST_CASE(nothing_but_reading_is_possible) {
  Store store = Open();
  for (const char* sql : {"DELETE FROM run", "INSERT INTO meta VALUES ('a', 'b')", "DROP VIEW v_run", "VACUUM;",
                          "ATTACH 'other.sqlite' AS other", "CREATE TABLE t (x)", "VACUUM INTO 'copy.sqlite'", "BEGIN;",
                          "REPLACE INTO meta VALUES ('a', 'b')"}) {
    Rows rows;
    const Status status = Run(store, sql, rows);
    BOOST_REQUIRE_MESSAGE(!status, sql);
    BOOST_TEST(status.error().message().find("a query only reads") != std::string::npos, status.error().message());
  }
}

BOOST_AUTO_TEST_CASE(bad_sql_and_a_second_statement_are_refused) {
  Store store = Open();
  Rows rows;
  BOOST_TEST(!Run(store, "SELEKT", rows));
  BOOST_TEST(!Run(store, "no_such_view", rows));
  BOOST_TEST(!Run(store, "", rows));
  const Status two = Run(store, "SELECT 1; SELECT 2", rows);
  BOOST_REQUIRE(!two);
  BOOST_TEST(two.error().message().find("one statement") != std::string::npos);
  Must(Run(store, "SELECT 1;  ", rows));
}

// A query written for the ROCm profiler's database, without a change.
BOOST_AUTO_TEST_CASE(regions_answer_a_query_written_for_rocpd) {
  Store store = Open();
  Rows rows;
  Must(Run(store, "SELECT name, count(*), sum(duration) FROM regions WHERE name LIKE 'hipMem%' GROUP BY name", rows));
  BOOST_REQUIRE_EQUAL(rows.rows.size(), 1u);
  BOOST_TEST((rows.rows[0] == std::vector<QueryValue>{std::string("hipMemAddressReserve"), int64_t{1}, int64_t{900}}));
  Rows memory;
  Must(Run(store, "SELECT type, level, address, size FROM memory_allocations", memory));
  BOOST_TEST((memory.rows[0] == std::vector<QueryValue>{std::string("ALLOC"), std::string("VIRTUAL"),
                                                        int64_t{0x7f0000000000}, int64_t{4096}}));
}

BOOST_AUTO_TEST_CASE(residuals_come_from_profiles_calibration_and_pairs_of_simulated_and_measured_runs) {
  {
    Store writer = Must(Store::OpenForWriting(path));
    RunInfo sim = ExampleInfo();
    sim.cost_profile.json = R"({"residuals":[{"what":"2 MiB","kind":"map","predicted_ns":100,"measured_ns":110}]})";
    AddRun(writer, sim, ExampleSummary(30, 1'000'000));
    RunInfo real = ExampleInfo();
    real.backend = "hip";
    real.measured = true;
    real.cost_profile = {};
    const RunId measured = AddRun(writer, real, ExampleSummary(30, 1'100'000));
    const ResidualRow row[] = {{"unmap", 4096, 10, 1000, 1500}};
    Must(writer.AppendResiduals(measured, row));
    Must(writer.Close());
  }
  Store store = Open();
  Rows rows;
  Must(Run(store,
           "SELECT source, metric, round(error, 3) FROM v_residual WHERE source <> 'pair' OR metric = 'step' "
           "ORDER BY source, metric, model_run_id",
           rows));
  const std::vector<std::vector<QueryValue>> expected = {{std::string("calibration"), std::string("unmap"), 0.5},
                                                         {std::string("pair"), std::string("step"), 0.1},
                                                         {std::string("pair"), std::string("step"), 0.1},
                                                         {std::string("profile"), std::string("map"), 0.1}};
  BOOST_TEST((rows.rows == expected));
}

BOOST_AUTO_TEST_CASE(v_compare_sets_strategies_of_one_configuration_side_by_side) {
  {
    Store writer = Must(Store::OpenForWriting(path));
    AddRun(writer, ExampleInfo("full_remap"), ExampleSummary(30, 2'000'000));
    RunInfo elsewhere = ExampleInfo("full_remap");
    elsewhere.granularity = 4096;
    AddRun(writer, elsewhere, ExampleSummary());
    Must(writer.Close());
  }
  Store store = Open();
  Rows rows;
  Must(
      Run(store,
          "SELECT cand_strategy, speedup, saved_ns_total, base_calls FROM v_compare WHERE base_strategy = 'full_remap'",
          rows));
  BOOST_REQUIRE_EQUAL(rows.rows.size(), 1u);
  BOOST_TEST(
      (rows.rows[0] == std::vector<QueryValue>{std::string("skip_remap"), 2.0, int64_t{29'000'000}, int64_t{121}}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace remaplab
