// remaplab: finds the subcommand, parses its options, prints what went wrong, and turns results into exit codes.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <sstream>

#include "base/version.h"
#include "replay/cli/command.h"

namespace remaplab::cli {
namespace {

std::string Overview() {
  std::string text =
      "remaplab: a test bed for GPU virtual-address remapping\n\n"
      "usage: remaplab COMMAND [OPTIONS]   (remaplab COMMAND --help explains one)\n\ncommands:\n";
  for (const Command* command : Commands()) {
    text += fmt::format("  {:<11} {}\n", command->name, command->summary);
  }
  return text +
         "\nexit codes: 0 fine, 1 a check said no, 2 usage or input or output, 3 ambiguous, 4 invalid comparison\n";
}

std::string VersionText() {
  const BuildInfo& build = build_info();
  return fmt::format("remaplab {} ({}{}, {}, {})\n", build.version, build.git_revision,
                     build.git_dirty ? ", changed since" : "", build.compiler, build.build_type);
}

std::string HelpText(const Command& command, const po::options_description& options) {
  std::ostringstream out;
  out << "remaplab " << command.name << ": " << command.summary << "\n\nusage: remaplab " << command.name
      << (command.positional.empty() ? "" : " ") << command.positional << " [OPTIONS]\n\n"
      << options << "\nexample:\n"
      << command.example << "\n";
  return out.str();
}

// How many positional arguments the usage words allow.
struct Arity {
  size_t least = 0;
  size_t most = 0;
};

Arity ArityOf(std::string_view positional) {
  Arity arity;
  std::istringstream words{std::string(positional.substr(0, positional.find("[--")))};
  for (std::string word; words >> word;) {
    arity.least += word.starts_with('[') ? 0 : 1;
    arity.most = word.find("...") != std::string::npos ? SIZE_MAX : arity.most == SIZE_MAX ? SIZE_MAX : arity.most + 1;
  }
  return arity;
}

Status CheckPositional(const Command& command, const Arguments& arguments) {
  const Arity arity = ArityOf(command.positional);
  const size_t given = arguments.positional.size();
  if (given < arity.least) {
    return Fail(ErrorCode::kUsage, fmt::format("{} is missing", command.positional));
  }
  if (given > arity.most) {
    return Fail(ErrorCode::kUsage, fmt::format("'{}' is one argument too many", arguments.positional[arity.most]));
  }
  if (!arguments.rest.empty() && command.positional.find("[--") == std::string_view::npos) {
    return Fail(ErrorCode::kUsage, "nothing may follow '--' here");
  }
  return {};
}

Result<int> RunCommand(const Command& command, std::vector<std::string> words, std::string command_line) {
  Arguments arguments;
  arguments.command_line = std::move(command_line);
  if (const auto dashes = std::find(words.begin(), words.end(), "--"); dashes != words.end()) {
    arguments.rest.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  po::options_description visible("options", 110, 60);
  auto add = visible.add_options();
  command.declare(add);
  add("help,h", "show this");
  po::options_description all;
  all.add(visible).add_options()("positional", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("positional", -1);
  try {
    using Style = po::command_line_style::style_t;
    po::store(po::command_line_parser(words)
                  .options(all)
                  .positional(positional)
                  .style(Style::unix_style & ~Style::allow_guessing)
                  .run(),
              arguments.options);
    if (arguments.Has("help")) {
      REMAPLAB_TRY(Print(HelpText(command, visible)));
      return kOk;
    }
    po::notify(arguments.options);
  } catch (const po::error& error) {
    return Fail(ErrorCode::kUsage, error.what());
  }
  arguments.positional = arguments.GetAll("positional");
  REMAPLAB_TRY(CheckPositional(command, arguments));
  return command.run(arguments);
}

int ExitCodeOf(const Error& error) {
  const bool check = error.code() == ErrorCode::kVerification || error.code() == ErrorCode::kPoisoned;
  return check ? kCheckFailed : kUsageOrIo;
}

int Main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string first = words.empty() ? "--help" : words[0];
  if (first == "--help" || first == "-h" || first == "help") {
    const Status printed = Print(Overview());
    return words.empty() || !printed ? kUsageOrIo : kOk;
  }
  if (first == "--version") {
    return Print(VersionText()) ? kOk : kUsageOrIo;
  }
  std::string command_line = "remaplab";
  for (const std::string& word : words) {
    command_line += word.find_first_of(" ()'\"*") == std::string::npos ? " " + word : fmt::format(" '{}'", word);
  }
  for (const Command* command : Commands()) {
    if (command->name != first) {
      continue;
    }
    const Result<int> result = RunCommand(*command, {words.begin() + 1, words.end()}, std::move(command_line));
    if (!result) {
      fmt::print(stderr, "remaplab {}: {}\n", first, result.error().message());
      if (result.error().code() == ErrorCode::kUsage) {
        fmt::print(stderr, "remaplab {} --help explains it\n", first);
      }
      return ExitCodeOf(result.error());
    }
    return *result;
  }
  fmt::print(stderr, "remaplab: no command '{}'; remaplab --help lists them\n", first);
  return kUsageOrIo;
}

}  // namespace

Status Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return Fail(ErrorCode::kIo, "cannot write to standard output");
  }
  return {};
}

void Warn(std::string_view text) { fmt::print(stderr, "remaplab: warning: {}\n", text); }

}  // namespace remaplab::cli

int main(int argc, char** argv) { return remaplab::cli::Main(argc, argv); }
