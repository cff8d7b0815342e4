#include "replay/replay_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/parse.h"

namespace remaplab {
namespace {

constexpr auto kAny = ReplayFlag::Scope::kAnyBackend;
constexpr auto kSim = ReplayFlag::Scope::kSim;

constexpr std::array kFlags = {
    ReplayFlag{"backend", "backend,b", "sim", "sim, null, host or hip (remaplab list --backends)"},
    ReplayFlag{"cost-profile", "cost-profile", "h200", "what calls cost on sim: a name, or a profile file", kSim},
    ReplayFlag{"driver-profile", "driver-profile", "cuda", "what the driver accepts on sim", kSim},
    ReplayFlag{"what-if", "what-if", nullptr, "replace a cost term, e.g. unmap.fixed=10us; may be repeated", kSim,
               true},
    ReplayFlag{"granularity", "granularity", nullptr,
               "bytes that sizes are rounded up to; default: the trace's, else the driver's"},
    ReplayFlag{"devices", "devices", "1", "how many devices get access to a mapping: owner and peers"},
    ReplayFlag{"slots", "slots", "all", "all, or command-buffer: only slots known to be used by it"},
    ReplayFlag{"scale-sizes", "scale-sizes", "1", "multiply all sizes by this ratio, e.g. 1/8"},
    ReplayFlag{"gpu-step", "gpu-step", nullptr, "GPU time of a step, e.g. 552ms; default: from the trace"},
    ReplayFlag{"host-step", "host-step", "0", "CPU work of a step outside the calls"},
    ReplayFlag{"run-ahead", "run-ahead", "1", "steps that the CPU may be ahead of the GPU"},
    ReplayFlag{"warmup", "warmup", "1", "leading steps that total, median and p99 leave out"},
    ReplayFlag{"verify", "verify", "off", "off, sample or full: check what each launch reads"},
    ReplayFlag{"inject-faults", "inject-faults", nullptr,
               "make calls fail, e.g. unmap:call=7 or map:rate=0.01,seed=3; may be repeated", kAny, true},
    ReplayFlag{"jitter", "jitter", "0", "relative spread of simulated call costs", kSim},
    ReplayFlag{"seed", "seed", "1", "of the jitter", kSim},
    ReplayFlag{"detail", "detail", "steps", "what the store keeps: steps, or calls (a row per call)"},
};

// One flag's text among those given.
class Reader {
 public:
  explicit Reader(const ReplayFlags& flags) : flags_(flags) {}

  std::span<const std::string> All(std::string_view name) const {
    const auto found = flags_.find(name);
    return found == flags_.end() ? std::span<const std::string>() : found->second;
  }
  bool Has(std::string_view name) const { return !All(name).empty(); }
  std::string_view Text(std::string_view name) const {
    if (Has(name)) {
      return All(name).back();
    }
    const auto flag = std::find_if(kFlags.begin(), kFlags.end(), [&](const ReplayFlag& f) { return f.name == name; });
    return flag->unset;
  }
  // A whole number of at most `most`.
  Result<uint64_t> Number(std::string_view name, uint64_t least, uint64_t most) const {
    REMAPLAB_ASSIGN(const uint64_t value, ParseUInt(Text(name), fmt::format("--{}", name)));
    if (value < least || value > most) {
      return Fail(ErrorCode::kUsage, fmt::format("--{} {} is not between {} and {}", name, value, least, most));
    }
    return value;
  }
  Result<int64_t> Duration(std::string_view name) const { return ParseDuration(Text(name), fmt::format("--{}", name)); }
  // Which of the words it is.
  Result<size_t> Choice(std::string_view name, std::span<const std::string_view> words) const {
    const auto found = std::find(words.begin(), words.end(), Text(name));
    if (found == words.end()) {
      return Fail(ErrorCode::kUsage, fmt::format("--{} {} is not one of {}", name, Text(name), fmt::join(words, ", ")));
    }
    return static_cast<size_t>(found - words.begin());
  }

 private:
  const ReplayFlags& flags_;
};

Status ParseBackendFlags(const Reader& reader, ReplayOptions& options) {
  BackendOptions& backend = options.backend_options;
  options.backend = reader.Text("backend");
  backend.cost_profile = reader.Text("cost-profile");
  backend.driver_profile = reader.Text("driver-profile");
  backend.what_if.assign(reader.All("what-if").begin(), reader.All("what-if").end());
  REMAPLAB_ASSIGN(const uint64_t devices, reader.Number("devices", 1, 1024));
  backend.devices = static_cast<uint32_t>(devices);
  REMAPLAB_ASSIGN(backend.host_step_ns, reader.Duration("host-step"));
  REMAPLAB_ASSIGN(const uint64_t ahead, reader.Number("run-ahead", 0, 1000));
  backend.run_ahead = static_cast<uint32_t>(ahead);
  REMAPLAB_ASSIGN(backend.jitter, ParseDouble(reader.Text("jitter"), "--jitter"));
  if (backend.jitter < 0 || backend.jitter >= 1) {
    return Fail(ErrorCode::kUsage, "--jitter is a ratio of at least 0 and below 1");
  }
  REMAPLAB_ASSIGN(backend.seed, reader.Number("seed", 0, std::numeric_limits<uint64_t>::max()));
  return {};
}

}  // namespace

std::span<const ReplayFlag> ReplayFlagTable() { return kFlags; }

Result<ReplayOptions> ParseReplayFlags(const ReplayFlags& flags) {
  const Reader reader(flags);
  ReplayOptions options;
  REMAPLAB_TRY(ParseBackendFlags(reader, options));
  if (reader.Has("granularity")) {
    REMAPLAB_ASSIGN(options.granularity, ParseBytes(reader.Text("granularity"), "--granularity"));
    if (options.granularity == 0) {
      return Fail(ErrorCode::kUsage, "--granularity 0 means nothing");
    }
  }
  REMAPLAB_ASSIGN(options.scale, ParseRatio(reader.Text("scale-sizes"), "--scale-sizes"));
  constexpr std::array<std::string_view, 2> kSlots = {"all", "command-buffer"};
  REMAPLAB_ASSIGN(const size_t slots, reader.Choice("slots", kSlots));
  options.command_buffer_slots_only = slots == 1;
  if (reader.Has("gpu-step")) {
    REMAPLAB_ASSIGN(options.gpu_step_ns, reader.Duration("gpu-step"));
  }
  REMAPLAB_ASSIGN(options.warmup, reader.Number("warmup", 0, std::numeric_limits<uint64_t>::max()));
  constexpr std::array<std::string_view, 3> kVerify = {"off", "sample", "full"};
  REMAPLAB_ASSIGN(const size_t verify, reader.Choice("verify", kVerify));
  options.verify = static_cast<VerifyMode>(verify);
  for (const std::string& spec : reader.All("inject-faults")) {
    REMAPLAB_ASSIGN(options.faults.emplace_back(), ParseFaultSpec(spec));
  }
  constexpr std::array<std::string_view, 2> kDetail = {"steps", "calls"};
  REMAPLAB_ASSIGN(const size_t detail, reader.Choice("detail", kDetail));
  options.detail_calls = detail == 1;
  return options;
}

}  // namespace remaplab
