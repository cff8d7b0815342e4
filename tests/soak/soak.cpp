// Replays random traces under random strategies, drivers, costs and faults, with every launch checked, until its time
// is up; then says what it did. Stops at the first thing that is wrong, with the one command that shows it again.
//
//   remaplab_soak [--seconds N] [--seed S] [--rounds N]
//
// Round i uses seed S + i for everything. Without --seed the clock picks S. Exit code 1: something was wrong.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "backends/profiles/cost_profile.h"
#include "backends/sim/driver_profile.h"
#include "base/parse.h"
#include "base/random.h"
#include "replay/replayer.h"
#include "traces/generator/random_trace.h"
#include "traces/reader.h"
#include "traces/writer.h"

namespace remaplab {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMemoryLimit = 512ull << 20;  // of the whole process; rounds need a few MiB each and keep nothing

struct SoakOptions {
  uint64_t seconds = 20;
  uint64_t seed = 0;
  std::optional<uint64_t> rounds;
};

struct Round {
  uint64_t seed = 0;
  std::string strategy;
  ReplayOptions options;
  bool may_be_stale = false;  // compares addresses: reading other memory is what it does wrong, and no fault of ours
};

struct Tally {
  uint64_t rounds = 0;
  uint64_t runs = 0;
  uint64_t steps = 0;
  uint64_t failed_steps = 0;
  uint64_t refused = 0;  // strategies that a driver cannot carry out
  uint64_t host_runs = 0;
};

template <typename T, size_t N>
const T& Pick(Random& random, const T (&choices)[N]) {
  return choices[random.Below(N)];
}

std::string RandomStrategy(Random& random) {
  static const std::string kRemap[] = {"full_remap",
                                       "skip_remap",
                                       "skip_remap(access=run)",
                                       "skip_remap(access=slot)",
                                       "skip_remap(identity=address)",
                                       "no_remap",
                                       "skip_temp",
                                       "skip_profiled(steps=1)",
                                       "skip_profiled(steps=4)",
                                       "two_ranges",
                                       "two_ranges(access=slot)",
                                       "cached_sets(k=1)",
                                       "cached_sets(k=2)",
                                       "cached_sets(k=5)",
                                       "adaptive"};
  static const std::string kShadow[] = {"",
                                        "",
                                        "+copy_shadow(threshold=1)",
                                        "+copy_shadow(threshold=4096)",
                                        "+copy_shadow(threshold=9000,direction=by_access)",
                                        "+copy_shadow(threshold=1GiB)",
                                        "+copy_shadow(threshold=auto)"};
  const std::string remap = Pick(random, kRemap);
  return remap == "adaptive" ? remap : remap + Pick(random, kShadow);
}

FaultSpec RandomFault(Random& random, uint64_t seed) {
  FaultSpec fault;
  fault.kind = static_cast<CallKind>(random.Below(kCallKindCount));
  if (random.Below(2) == 0) {
    fault.call = 1 + random.Below(60);
  } else {
    fault.rate = static_cast<double>(random.Below(20)) / 100;
    fault.seed = seed;
  }
  return fault;
}

Round RandomRound(Random& random, uint64_t seed) {
  Round round;
  round.seed = seed;
  round.strategy = RandomStrategy(random);
  round.may_be_stale = round.strategy.find("identity=address") != std::string::npos;
  ReplayOptions& options = round.options;
  options.verify = VerifyMode::kFull;
  options.granularity = 2 << 20;
  options.gpu_step_ns = static_cast<int64_t>(random.Below(3)) * 200'000;
  if (random.Below(25) == 0) {
    options.backend = "host";
  } else {
    const std::span<const DriverProfile> drivers = DriverProfiles();
    const std::span<const CostProfile> costs = BuiltinCostProfiles();
    options.backend_options.driver_profile = drivers[random.Below(drivers.size())].name;
    options.backend_options.cost_profile = costs[random.Below(costs.size())].name;
    options.backend_options.devices = 1 + static_cast<uint32_t>(random.Below(3));
    options.backend_options.run_ahead = static_cast<uint32_t>(random.Below(4));
    options.backend_options.jitter = random.Below(4) == 0 ? 0.2 : 0;
    options.backend_options.seed = seed;
  }
  for (uint64_t faults = random.Below(2) == 0 ? 0 : 1 + random.Below(3); faults > 0; --faults) {
    options.faults.push_back(RandomFault(random, seed + faults));
  }
  return round;
}

RandomTraceLimits RandomLimits(Random& random) {
  RandomTraceLimits limits;
  limits.slots = 1 + static_cast<uint32_t>(random.Below(40));
  limits.steps = 1 + static_cast<uint32_t>(random.Below(200));
  limits.programs = 1 + static_cast<uint32_t>(random.Below(3));
  limits.redeclare = random.Below(2) == 0;
  limits.unbound_slots = random.Below(2) == 0;
  limits.aliases = random.Below(2) == 0;
  limits.reissued_addresses = random.Below(2) == 0;
  limits.unknown_addresses = random.Below(4) == 0;
  return limits;
}

// What is wrong with the run; nothing when all is well.
std::optional<std::string> Complaint(const Round& round, const ProgramRun& run) {
  for (const DiagnosticRow& diagnostic : run.diagnostics) {
    if (diagnostic.severity == Severity::kError) {
      return diagnostic.text;
    }
  }
  if (run.poisoned) {
    return "cleanup failed although no fault was asked for there";
  }
  if (!round.may_be_stale && run.summary.verification_failures > 0) {
    return fmt::format("{} tags were wrong", run.summary.verification_failures);
  }
  if (!round.may_be_stale && run.summary.stale_mappings > 0) {
    return fmt::format("{} stale mappings", run.summary.stale_mappings);
  }
  return std::nullopt;
}

// The parts that must be the same when a simulated run is done again.
bool SameResult(const RunSummary& a, const RunSummary& b) {
  const auto counts = [](const KindTotals& totals) {
    uint64_t sum = 0;
    for (const KindTotal& total : totals) {
      sum = sum * 31 + total.n * 7 + static_cast<uint64_t>(total.ns);
    }
    return sum;
  };
  return a.step_ns.total == b.step_ns.total && a.step_ns.p99 == b.step_ns.p99 && counts(a.calls) == counts(b.calls) &&
         counts(a.teardown) == counts(b.teardown) && counts(a.cleanup) == counts(b.cleanup);
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::optional<std::string> PlayProgram(const Round& round, const Trace& trace, const ProgramSteps& program, bool twice,
                                       Tally& tally) {
  const Result<ProgramRun> run = ReplayProgram(trace, program, round.strategy, round.options, nullptr);
  if (!run) {
    ++tally.refused;
    return run.error().code() == ErrorCode::kUnsupported ? std::nullopt : std::optional(run.error().message());
  }
  ++tally.runs;
  tally.steps += run->summary.steps;
  tally.failed_steps += run->summary.failed_steps;
  tally.host_runs += round.options.backend == "host" ? 1 : 0;
  if (std::optional<std::string> complaint = Complaint(round, *run)) {
    return complaint;
  }
  if (twice && round.options.backend == "sim") {
    const Result<ProgramRun> again = ReplayProgram(trace, program, round.strategy, round.options, nullptr);
    if (!again || !SameResult(run->summary, again->summary)) {
      return "the same run again has another result";
    }
  }
  return std::nullopt;
}

std::optional<std::string> PlayRound(uint64_t seed, Tally& tally) {
  Random random(seed);
  Trace trace = GenerateRandomTrace(seed, RandomLimits(random));
  const Round round = RandomRound(random, seed);
  // Through the file format, as a user's trace would come.
  Result<Trace> read = ParseTrace(TraceToText(trace), "random");
  if (!read) {
    return read.error().message();
  }
  ++tally.rounds;
  for (const ProgramSteps& program : SplitPrograms(*read)) {
    if (std::optional<std::string> complaint = PlayProgram(round, *read, program, seed % 8 == 0, tally)) {
      std::string faults;
      for (const FaultSpec& fault : round.options.faults) {
        faults +=
            fmt::format(" {}:{}", Name(fault.kind),
                        fault.call != 0 ? fmt::format("call={}", fault.call) : fmt::format("rate={}", fault.rate));
      }
      return fmt::format("{} on {} (driver {}, costs {}), program {}, faults:{}: {}", round.strategy,
                         round.options.backend, round.options.backend_options.driver_profile,
                         round.options.backend_options.cost_profile, program.module, faults, *complaint);
    }
  }
  return std::nullopt;
}

void Report(const Tally& tally, uint64_t seed, Clock::duration elapsed) {
  fmt::print("{} s: {} rounds from seed {}, {} runs ({} on host), {} steps, {} failed on purpose, {} refused, {} MiB\n",
             std::chrono::duration_cast<std::chrono::seconds>(elapsed).count(), tally.rounds, seed, tally.runs,
             tally.host_runs, tally.steps, tally.failed_steps, tally.refused, ResidentBytes() >> 20);
  std::fflush(stdout);
}

int Soak(const SoakOptions& options) {
  fmt::print("seed {}\n", options.seed);
  std::fflush(stdout);
  const Clock::time_point begin = Clock::now();
  Clock::time_point next_report = begin + std::chrono::minutes(1);
  Tally tally;
  for (uint64_t i = 0; !options.rounds || i < *options.rounds; ++i) {
    if (const std::optional<std::string> complaint = PlayRound(options.seed + i, tally)) {
      fmt::print("WRONG: {}\n  again: remaplab_soak --seed {} --rounds 1\n", *complaint, options.seed + i);
      return 1;
    }
    if (ResidentBytes() > kMemoryLimit) {
      fmt::print("WRONG: {} MiB of memory after {} rounds from seed {}\n", ResidentBytes() >> 20, i + 1, options.seed);
      return 1;
    }
    const Clock::time_point now = Clock::now();
    if (now - begin >= std::chrono::seconds(options.seconds)) {
      break;
    }
    if (now >= next_report) {
      Report(tally, options.seed, now - begin);
      next_report += std::chrono::minutes(1);
    }
  }
  Report(tally, options.seed, Clock::now() - begin);
  return 0;
}

Result<SoakOptions> ParseArguments(int argc, char** argv) {
  SoakOptions options;
  options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    REMAPLAB_ASSIGN(const uint64_t value, ParseUInt(i + 1 < argc ? argv[i + 1] : "", name));
    if (name == "--seconds") {
      options.seconds = value;
    } else if (name == "--seed") {
      options.seed = value;
    } else if (name == "--rounds") {
      options.rounds = value;
    } else {
      return Fail(ErrorCode::kUsage, fmt::format("{} is no option", name));
    }
  }
  return options;
}

}  // namespace
}  // namespace remaplab

int main(int argc, char** argv) {
  const remaplab::Result<remaplab::SoakOptions> options = remaplab::ParseArguments(argc, argv);
  if (!options) {
    fmt::print(stderr, "remaplab_soak: {}\n", options.error().message());
    return 2;
  }
  return remaplab::Soak(*options);
}
