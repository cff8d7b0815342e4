// remaplab_benchmarks [--store FILE] [--quick] [Google Benchmark's options]
//
// --store adds the results to a store; --quick makes the large inputs small, for a test that everything runs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/bench/benchmark_store.h"
#include "tests/bench/churn_trace.h"

namespace remaplab::bench {
namespace {

int Complain(const Error& error) {
  fmt::print(stderr, "remaplab_benchmarks: {}\n", error.message());
  return 2;
}

int RunIntoStore(const char* path, const std::string& command_line) {
  Result<Store> store = Store::OpenForWriting(path);
  if (!store) {
    return Complain(store.error());
  }
  StoreReporter reporter(*store, command_line);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  const Status closed = store->Close();
  if (!reporter.status()) {
    return Complain(reporter.status().error());
  }
  return closed ? 0 : Complain(closed.error());
}

int Main(int argc, char** argv) {
  std::string command_line = "remaplab_benchmarks";
  const char* store = nullptr;
  std::vector<char*> rest = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    command_line += fmt::format(" {}", argv[i]);
    if (std::strcmp(argv[i], "--store") == 0 && i + 1 < argc) {
      store = argv[++i];
    } else if (std::strcmp(argv[i], "--quick") == 0) {
      SetQuick(true);
    } else {
      rest.push_back(argv[i]);
    }
  }
  int count = static_cast<int>(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) {
    return 2;
  }
  if (store != nullptr) {
    return RunIntoStore(store, command_line);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace remaplab::bench

int main(int argc, char** argv) { return remaplab::bench::Main(argc, argv); }
