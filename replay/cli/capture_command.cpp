// remaplab capture: turns what a run logged into a trace.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>

#include "base/parse.h"
#include "base/version.h"
#include "replay/cli/commands.h"
#include "traces/importers/line_feeder.h"
#include "traces/importers/xla/log_importer.h"

namespace remaplab::cli {
namespace {

void Declare(po::options_description_easy_init& add) {
  add("log,l", po::value<std::string>(), "what the run printed: plain, .gz or .zst; - for standard input");
  add("assignment,a", po::value<std::vector<std::string>>(),
      "XLA's buffer assignment dump of a module (plain, .gz, .zst): kinds, sizes and memory spaces of its slots, and "
      "what a "
      "cut address table hides; may be repeated");
  add("module,m", po::value<std::string>(), "only programs whose module matches this regular expression");
  add("device,d", po::value<std::string>(), "only programs on this device");
  add("granularity", po::value<std::string>(), "what the allocator rounds sizes to, when the log does not say it");
  add("partial", po::bool_switch(), "take a log that ends while XLA was still compiling");
  add("output,o", po::value<std::string>(), "the trace to write; compressed when it ends in .zst");
}

// Whether a module's name matches, asked once per name.
Result<std::function<bool(std::string_view)>> ModuleFilter(const std::string& pattern) {
  try {
    auto regex = std::make_shared<std::regex>(pattern, std::regex::ECMAScript | std::regex::optimize);
    auto known = std::make_shared<std::map<std::string, bool, std::less<>>>();
    return [regex, known](std::string_view module) {
      const auto found = known->find(module);
      if (found != known->end()) {
        return found->second;
      }
      const bool matches = std::regex_search(module.begin(), module.end(), *regex);
      known->emplace(module, matches);
      return matches;
    };
  } catch (const std::regex_error& error) {
    return Fail(ErrorCode::kUsage, fmt::format("--module: '{}' is no regular expression: {}", pattern, error.what()));
  }
}

Result<xla::XlaLogOptions> Options(const Arguments& arguments) {
  xla::XlaLogOptions options;
  options.tool = fmt::format("remaplab {}", build_info().version);
  options.partial = arguments.On("partial");
  for (const std::string& path : arguments.GetAll("assignment")) {
    REMAPLAB_ASSIGN(auto assignment, xla::LoadAssignment(path));
    options.assignments.push_back(std::move(assignment));
  }
  if (arguments.Has("module")) {
    options.wanted_modules = arguments.Get("module");
    REMAPLAB_ASSIGN(options.wants_module, ModuleFilter(options.wanted_modules));
  }
  if (arguments.Has("device")) {
    REMAPLAB_ASSIGN(const uint64_t device, ParseUInt(arguments.Get("device"), "--device"));
    options.device = static_cast<int32_t>(std::min<uint64_t>(device, INT32_MAX));
  }
  if (arguments.Has("granularity")) {
    REMAPLAB_ASSIGN(options.granularity, ParseBytes(arguments.Get("granularity"), "--granularity"));
    if (options.granularity == 0 || options.granularity > (uint64_t{1} << 40)) {
      return Fail(ErrorCode::kUsage, "--granularity: must be between 1 byte and 1 TiB");
    }
  }
  return options;
}

void PrintReport(const std::string& output, const ImportReport& report) {
  fmt::print(stderr, "{}: {} steps of {} program{}\n", output, report.steps, report.programs.size(),
             report.programs.size() == 1 ? "" : "s");
  for (const ImportReport::Program& program : report.programs) {
    fmt::print(stderr, "  {:>4}  {} on device {}: {} slots, {} steps{}\n", program.id, program.module, program.device,
               program.slots, program.steps, program.assigned ? "" : ", kinds unknown");
  }
  if (report.identity == TraceIdentity::kAddress) {
    fmt::print(stderr,
               "  identity: address (this log does not prove that memory which came back at an address was the same "
               "memory)\n");
  }
  for (const std::string& note : report.notes) {
    fmt::print(stderr, "  note: {}\n", note);
  }
}

Result<int> CaptureLog(const Arguments& arguments) {
  const std::string& log = arguments.Get("log");
  const std::string& output = arguments.Get("output");
  REMAPLAB_ASSIGN(xla::XlaLogOptions options, Options(arguments));
  options.log_name = log == "-" ? "standard input" : std::filesystem::path(log).filename().string();
  xla::XlaLogImporter importer(std::move(options),
                               [&](const TraceHeader& header) { return TraceWriter::Create(output, header); });
  bool truncated = false;
  REMAPLAB_TRY(FeedFile(
      log, [&](std::string_view line) { return importer.Line(line); }, truncated));
  auto report = importer.Finish();
  if (!report) {
    return Fail(std::move(report).error().WithContext(log));
  }
  if (truncated) {
    report->notes.push_back("the compressed log ends in the middle: what came before was captured");
  }
  PrintReport(output, *report);
  return kOk;
}

Result<int> Run(const Arguments& arguments) {
  if (!arguments.Has("log")) {
    return Fail(ErrorCode::kUsage, "--log is missing: the file that the run's standard error went to");
  }
  if (!arguments.Has("output")) {
    return Fail(ErrorCode::kUsage, "-o is missing: the trace to write");
  }
  return CaptureLog(arguments);
}

}  // namespace

const Command kCaptureCommand = {
    .name = "capture",
    .summary = "turn the log of a JAX, MaxText or other XLA run into a trace",
    .positional = "",
    .example =
        "  remaplab capture --log run.log.gz --assignment module_0042.jit_train_step.buffer-assignment.txt \\\n"
        "      --module '^jit_train_step$' -o run.remaptrace.zst\n"
        "  the training step of a recorded run; without --module, every program of the run",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli
