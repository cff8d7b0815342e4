// remaplab capture: turns what a run logged into a trace.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>

#include "base/parse.h"
#include "base/version.h"
#include "replay/cli/capture_report.h"
#include "replay/cli/capture_run.h"
#include "replay/cli/commands.h"
#include "replay/cli/table.h"
#include "traces/importers/line_feeder.h"
#include "traces/importers/registry.h"
#include "traces/importers/xla/log_check.h"
#include "traces/importers/xla/log_importer.h"
#include "traces/importers/xla/log_variables.h"

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
  add("check", po::value<std::string>(), "make no trace: say what this log has and lacks");
  add("format,f", po::value<std::string>()->default_value("table"), "--check: table, json, csv or markdown");
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

// What the log has and lacks, and which variable brings it.
Result<int> CheckLog(const Arguments& arguments) {
  REMAPLAB_ASSIGN(const Format format, ParseFormat(arguments.Get("format")));
  xla::LogCheck check;
  bool truncated = false;
  const auto line = [&](std::string_view text) {
    check.Line(text);
    return Status();
  };
  REMAPLAB_TRY(FeedFile(arguments.Get("check"), line, truncated));
  Table table{{"what a trace is made of", "state", "lines", "what it means"}, {}};
  for (const xla::CheckItem& item : check.Report()) {
    table.rows.push_back({item.what, Name(item.state), item.lines, item.text});
  }
  std::string text = table.Render(format);
  if (format == Format::kTable) {
    text += check.Usable() ? "\ncapture --log makes a trace of this log\n"
                           : "\ncapture --log cannot make a trace of this log; set before Python starts:\n"
                             "  export TF_CPP_MIN_LOG_LEVEL=0\n  export TF_CPP_VMODULE=" +
                                 xla::LogModulesText() + "\n";
  }
  REMAPLAB_TRY(Print(text));
  return check.Usable() ? kOk : kCheckFailed;
}

// What can never become a trace is refused before it is read.
Status RefuseOthers(const std::string& log) {
  if (log == "-" || !std::filesystem::is_regular_file(log)) {
    return {};
  }
  REMAPLAB_ASSIGN(const std::vector<RecordingSource> sources, IdentifyRecording(log));
  const bool others = !sources.empty() &&
                      std::none_of(sources.begin(), sources.end(),
                                   [](const RecordingSource& source) { return source.kind == RecordingKind::kLog; });
  if (!others) {
    return {};
  }
  const RecordingSource& source = sources.front();
  return Fail(ErrorCode::kInput,
              source.kind == RecordingKind::kTrace
                  ? fmt::format("{}: is a trace already; `remaplab trace info` shows it", log)
                  : fmt::format("{}: is a recording of driver calls ({}), which says nothing about programs and slots; "
                                "`remaplab calibrate --from` and `remaplab compare` take it",
                                log, source.description));
}

Result<int> Run(const Arguments& arguments) {
  const int jobs = (arguments.Has("log") ? 1 : 0) + (arguments.Has("check") ? 1 : 0) + (arguments.rest.empty() ? 0 : 1);
  if (jobs != 1) {
    return Fail(ErrorCode::kUsage, jobs == 0
                                       ? "one of --log FILE, --check FILE and -- COMMAND is needed"
                                       : "only one of --log FILE, --check FILE and -- COMMAND can be done at a time");
  }
  if (arguments.Has("check")) {
    return CheckLog(arguments);
  }
  if (!arguments.Has("output")) {
    return Fail(ErrorCode::kUsage, "-o is missing: the trace to write");
  }
  if (!arguments.rest.empty()) {
    REMAPLAB_ASSIGN(xla::XlaLogOptions options, Options(arguments));
    return CaptureRun(std::move(options), arguments.Get("output"), arguments.rest);
  }
  REMAPLAB_TRY(RefuseOthers(arguments.Get("log")));
  return CaptureLog(arguments);
}

}  // namespace

const Command kCaptureCommand = {
    .name = "capture",
    .summary = "turn a JAX, MaxText or other XLA run into a trace: run it, or read its log",
    .positional = "[-- COMMAND...]",
    .example =
        "  remaplab capture -o run.remaptrace.zst -- python3 -m maxtext.trainers.pre_train.train config.yml\n"
        "      sets the log variables, runs the command and reads its log as it streams; with\n"
        "      XLA_FLAGS=--xla_dump_to=DIR it takes kinds and sizes from the dumps there\n"
        "  remaplab capture --log run.log.gz --assignment module_0042.jit_train_step.buffer-assignment.txt \\\n"
        "      --module '^jit_train_step$' -o run.remaptrace.zst\n"
        "      the training step of a recorded run; without --module, every program of the run\n"
        "  remaplab capture --check run.log\n"
        "      what the log tells and what not, and which variable would bring it; exit code 1 when it is not enough",
    .declare = Declare,
    .run = Run,
};

}  // namespace remaplab::cli
