// remaplab calibrate: measure a backend's calls and write a cost profile that sim can use at once.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "backends/registry.h"
#include "base/parse.h"
#include "replay/calibration.h"
#include "replay/cli/command.h"
#include "replay/cli/commands.h"
#include "replay/cli/table.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  add("backend,b", po::value<std::string>()->default_value("hip"), "host or hip");
  add("output,o", po::value<std::string>(), "the profile to write");
  add("name", po::value<std::string>(), "what the profile is called; default: BACKEND-calibrated");
  add("most-bytes", po::value<std::string>(), "largest piece of memory; default 2GiB, 64MiB on host");
  add("most-chunks", po::value<std::string>(), "most mappings in one range; default 1024, 256 on host");
  add("repetitions", po::value<std::string>()->default_value("20"), "of each situation; the slowest have fewer");
  add("format,f", po::value<std::string>()->default_value("table"),
      "of the terms printed: table, json, csv or markdown");
}

Table TermTable(const CostProfile& profile) {
  Table table{{"term", "value", "unit", "source"}, {}};
  for (const NamedTerm& term : NonZeroTerms(profile)) {
    const bool factor = term.term == CostTerm::kContendedFactor;
    table.rows.push_back({term.name, Cell::Number(fmt::format("{:.3f}", static_cast<double>(term.value.value) / 1000)),
                          factor ? "times" : "ns", Name(term.value.source)});
  }
  return table;
}

// Written beside the target and moved into place, so that a killed run leaves no half profile.
Status WriteProfile(const CostProfile& profile, const std::string& path) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << CostProfileToJson(profile);
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return Fail(ErrorCode::kIo, fmt::format("{}: cannot write", path));
  }
  return {};
}

Result<CalibrationOptions> ReadOptions(const Arguments& arguments) {
  CalibrationOptions options;
  if (arguments.Get("backend") == "host") {
    options.most_bytes = 64ull << 20;
    options.most_chunks = 256;
  }
  if (arguments.Has("most-bytes")) {
    REMAPLAB_ASSIGN(options.most_bytes, ParseBytes(arguments.Get("most-bytes"), "--most-bytes"));
  }
  if (arguments.Has("most-chunks")) {
    REMAPLAB_ASSIGN(const uint64_t chunks, ParseUInt(arguments.Get("most-chunks"), "--most-chunks"));
    options.most_chunks = static_cast<uint32_t>(std::min<uint64_t>(chunks, 1u << 20));
  }
  REMAPLAB_ASSIGN(const uint64_t repetitions, ParseUInt(arguments.Get("repetitions"), "--repetitions"));
  if (options.most_chunks < 72 || repetitions == 0 || repetitions > 10'000) {
    return Fail(ErrorCode::kUsage, "a calibration needs at least 72 mappings in a range and 1 to 10000 repetitions");
  }
  options.repetitions = static_cast<uint32_t>(repetitions);
  return options;
}

Result<int> Run(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  REMAPLAB_ASSIGN(const CalibrationOptions options, ReadOptions(arguments));
  const std::string& name = arguments.Get("backend");
  if (name != "host" && name != "hip") {
    return Fail(ErrorCode::kUsage,
                fmt::format("--backend {}: only host and hip have costs of their own to measure", name));
  }
  if (!arguments.Has("output")) {
    return Fail(ErrorCode::kUsage, "-o is missing: the profile to write");
  }
  REMAPLAB_ASSIGN(const std::unique_ptr<Backend> backend, MakeBackend(name, BackendOptions()));
  const auto say = [](std::string_view line) {
    if (isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "{}\n", line);
    }
  };
  REMAPLAB_ASSIGN(const Calibrated calibrated, MeasureCalls(*backend, options, say));
  REMAPLAB_ASSIGN(CostProfile profile, ProfileFrom(calibrated, backend->info()));
  if (arguments.Has("name")) {
    profile.name = arguments.Get("name");
  }
  REMAPLAB_TRY(WriteProfile(profile, arguments.Get("output")));
  REMAPLAB_TRY(Print(TermTable(profile).Render(format)));
  return kOk;
}

}  // namespace

const Command kCalibrateCommand = {
    .name = "calibrate",
    .summary = "measure a backend's calls and write a cost profile",
    .positional = "",
    .example =
        "  remaplab calibrate --backend hip -o h200.json\n"
        "  remaplab replay run.remaptrace.zst --cost-profile ./h200.json --strategy skip_remap\n"
        "  what this machine's driver costs, and a replay that is charged by it",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli
