// Synthetic runs for the analysis tests: small, deterministic, written through the store's own interface.
#pragma once

#include <sqlite3.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/store.h"

namespace remaplab::test {

// A directory that vanishes with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "remaplab-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

template <typename T>
T Must(Result<T> result) {
  BOOST_REQUIRE_MESSAGE(result, (result ? "" : result.error().message()));
  return std::move(*result);
}
inline void Must(Status status) { BOOST_REQUIRE_MESSAGE(status, (status ? "" : status.error().message())); }

inline RunInfo ExampleInfo(const std::string& strategy = "skip_remap") {
  RunInfo info;
  info.trace = {.xxh3 = "00112233445566778899aabbccddeeff",
                .name = "tiny.remaptrace.zst",
                .source = "xla-log",
                .identity = "backing",
                .steps = 30,
                .events = 400};
  info.program.id = 7;
  info.program.module = "jit_step_fn";
  for (uint32_t i = 0; i < 4; ++i) {
    info.program.slots.push_back({i, 1024u << i, 0, SlotKind::kParameter, Access::kRead});
  }
  info.strategy = strategy;
  info.backend = "sim";
  info.driver_profile = "cuda";
  info.cost_profile.name = "h200";
  info.cost_profile.quality = "measured";
  info.cost_profile.json = R"({"map":900})";
  info.granularity = 2 << 20;
  info.command_line = "remaplab replay tiny.remaptrace.zst";
  info.host = {{"kernel", "6.1"}, {"cpu", "test"}};
  return info;
}

inline KindTotal& At(KindTotals& totals, CallKind kind) { return totals[static_cast<size_t>(kind)]; }

// A finished run of `steps` steps of `step_ns` each, with some calls.
inline RunSummary ExampleSummary(uint64_t steps = 30, int64_t step_ns = 1'000'000) {
  RunSummary summary;
  summary.steps = steps;
  summary.slots = 4;
  summary.bytes_mapped = 8 << 20;
  summary.changed_slot_steps = 2 * (steps - 1);
  At(summary.calls, CallKind::kMap) = {4 + 2 * (steps - 1), 90'000};
  At(summary.calls, CallKind::kUnmap) = {steps - 1, 50'000};
  At(summary.calls, CallKind::kLaunch) = {steps, 60'000};
  At(summary.teardown, CallKind::kAddressFree) = {1, 700};
  summary.peak_reserved = 8 << 20;
  summary.step_ns = {step_ns, step_ns * static_cast<int64_t>(steps - 1), step_ns, step_ns};
  return summary;
}

inline RunId AddRun(Store& store, const RunInfo& info, const RunSummary& summary) {
  const RunId run = Must(store.BeginRun(info));
  Must(store.FinishRun(run, summary));
  return run;
}

// Rows of a query through SQLite itself, cells joined by '|', as the sqlite3 shell prints them.
inline std::vector<std::string> Query(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  BOOST_REQUIRE_EQUAL(sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
  std::vector<std::string> rows;
  char* message = nullptr;
  const auto add = [](void* out, int n, char** cells, char**) {
    std::string row;
    for (int i = 0; i < n; ++i) {
      row += (i > 0 ? "|" : "") + std::string(cells[i] == nullptr ? "" : cells[i]);
    }
    static_cast<std::vector<std::string>*>(out)->push_back(row);
    return 0;
  };
  const int rc = sqlite3_exec(handle, sql.c_str(), add, &rows, &message);
  BOOST_REQUIRE_MESSAGE(rc == SQLITE_OK, (message == nullptr ? "" : message));
  sqlite3_close(handle);
  return rows;
}

}  // namespace remaplab::test
