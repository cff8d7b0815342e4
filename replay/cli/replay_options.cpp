#include "replay/cli/replay_options.h"

#include <fmt/format.h>

#include "base/parse.h"
#include "replay/cli/interrupt.h"

namespace remaplab::cli {
namespace {

Result<VerifyMode> ParseVerify(std::string_view text) {
  if (text == "off") {
    return VerifyMode::kOff;
  }
  if (text == "sample") {
    return VerifyMode::kSample;
  }
  if (text == "full") {
    return VerifyMode::kFull;
  }
  return Fail(ErrorCode::kUsage, fmt::format("--verify {} is not one of off, sample, full", text));
}

}  // namespace

void DeclareReplayOptions(po::options_description_easy_init& add) {
  const auto text = [] { return po::value<std::string>(); };
  const auto texts = [] { return po::value<std::vector<std::string>>()->composing(); };
  add("backend,b", text()->default_value("sim"), "sim, null, host or hip (remaplab list --backends)");
  add("cost-profile", text()->default_value("h200"), "what calls cost on sim: a name, or a profile file");
  add("driver-profile", text()->default_value("cuda"), "what the driver accepts on sim");
  add("what-if", texts(), "replace a cost term, e.g. unmap.fixed=10us; may be repeated");
  add("granularity", text(), "bytes that sizes are rounded up to; default: the trace's, else the driver's");
  add("devices", text()->default_value("1"), "how many devices get access to a mapping: owner and peers");
  add("slots", text()->default_value("all"), "all, or command-buffer: only slots known to be used by it");
  add("scale-sizes", text()->default_value("1"), "multiply all sizes by this ratio, e.g. 1/8");
  add("gpu-step", text(), "GPU time of a step, e.g. 552ms; default: from the trace");
  add("host-step", text()->default_value("0"), "CPU work of a step outside the calls");
  add("run-ahead", text()->default_value("1"), "steps that the CPU may be ahead of the GPU");
  add("warmup", text()->default_value("1"), "leading steps that total, median and p99 leave out");
  add("verify", text()->default_value("off"), "off, sample or full: check what each launch reads");
  add("inject-faults", texts(), "make calls fail, e.g. unmap:call=7 or map:rate=0.01,seed=3; may be repeated");
  add("jitter", text()->default_value("0"), "relative spread of simulated call costs");
  add("seed", text()->default_value("1"), "of the jitter");
  add("detail", text()->default_value("steps"), "what the store keeps: steps, or calls (a row per call)");
}

Result<ReplayOptions> ReadReplayOptions(const Arguments& arguments) {
  ReplayOptions options;
  BackendOptions& backend = options.backend_options;
  options.backend = arguments.Get("backend");
  backend.cost_profile = arguments.Get("cost-profile");
  backend.driver_profile = arguments.Get("driver-profile");
  backend.what_if = arguments.GetAll("what-if");
  REMAPLAB_ASSIGN(const uint64_t devices, ParseUInt(arguments.Get("devices"), "--devices"));
  if (devices == 0 || devices > 1024) {
    return Fail(ErrorCode::kUsage, fmt::format("--devices {} is not between 1 and 1024", devices));
  }
  backend.devices = static_cast<uint32_t>(devices);
  if (arguments.Has("granularity")) {
    REMAPLAB_ASSIGN(options.granularity, ParseBytes(arguments.Get("granularity"), "--granularity"));
    if (options.granularity == 0) {
      return Fail(ErrorCode::kUsage, "--granularity 0 means nothing");
    }
  }
  REMAPLAB_ASSIGN(options.scale, ParseRatio(arguments.Get("scale-sizes"), "--scale-sizes"));
  const std::string& slots = arguments.Get("slots");
  if (slots != "all" && slots != "command-buffer") {
    return Fail(ErrorCode::kUsage, fmt::format("--slots {} is not one of all, command-buffer", slots));
  }
  options.command_buffer_slots_only = slots == "command-buffer";
  if (arguments.Has("gpu-step")) {
    REMAPLAB_ASSIGN(options.gpu_step_ns, ParseDuration(arguments.Get("gpu-step"), "--gpu-step"));
  }
  REMAPLAB_ASSIGN(backend.host_step_ns, ParseDuration(arguments.Get("host-step"), "--host-step"));
  REMAPLAB_ASSIGN(const uint64_t ahead, ParseUInt(arguments.Get("run-ahead"), "--run-ahead"));
  if (ahead > 1000) {
    return Fail(ErrorCode::kUsage, fmt::format("--run-ahead {} is more than 1000", ahead));
  }
  backend.run_ahead = static_cast<uint32_t>(ahead);
  REMAPLAB_ASSIGN(options.warmup, ParseUInt(arguments.Get("warmup"), "--warmup"));
  REMAPLAB_ASSIGN(options.verify, ParseVerify(arguments.Get("verify")));
  for (const std::string& spec : arguments.GetAll("inject-faults")) {
    REMAPLAB_ASSIGN(options.faults.emplace_back(), ParseFaultSpec(spec));
  }
  REMAPLAB_ASSIGN(backend.jitter, ParseDouble(arguments.Get("jitter"), "--jitter"));
  if (backend.jitter < 0 || backend.jitter >= 1) {
    return Fail(ErrorCode::kUsage, "--jitter is a ratio of at least 0 and below 1");
  }
  REMAPLAB_ASSIGN(backend.seed, ParseUInt(arguments.Get("seed"), "--seed"));
  const std::string& detail = arguments.Get("detail");
  if (detail != "steps" && detail != "calls") {
    return Fail(ErrorCode::kUsage, fmt::format("--detail {} is not one of steps, calls", detail));
  }
  options.detail_calls = detail == "calls";
  options.stop = &InterruptFlag();
  return options;
}

}  // namespace remaplab::cli
