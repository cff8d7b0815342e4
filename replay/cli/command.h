// Subcommands: each lives in replay/cli/<name>_command.cpp and declares one Command, which replay/cli/commands.cpp
// lists. main.cpp finds it, parses its options, prints its help, and turns what it returns into an exit code.
#pragma once

#include <boost/program_options.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace remaplab::cli {

namespace po = boost::program_options;

// Exit codes (design.md section 6). An Error returned by a command becomes kUsageOrIo, or kCheckFailed for
// kVerification and kPoisoned.
inline constexpr int kOk = 0;
inline constexpr int kCheckFailed = 1;
inline constexpr int kUsageOrIo = 2;
inline constexpr int kAmbiguous = 3;
inline constexpr int kInvalidComparison = 4;

struct Arguments {
  po::variables_map options;
  std::vector<std::string> positional;
  std::vector<std::string> rest;  // what followed "--", untouched
  std::string command_line;       // the whole of it, for the store

  // Options take text (po::value<std::string>, or vector<std::string> when they may be repeated); numbers are parsed by
  // base/parse.h, strictly. Switches are po::bool_switch().
  bool Has(const std::string& name) const { return options.count(name) > 0; }
  bool On(const std::string& name) const { return options[name].as<bool>(); }
  // The option's value; only for options that are given or have a default.
  const std::string& Get(const std::string& name) const { return options[name].as<std::string>(); }
  std::vector<std::string> GetAll(const std::string& name) const {
    return Has(name) ? options[name].as<std::vector<std::string>>() : std::vector<std::string>();
  }
};

struct Command {
  std::string_view name;
  std::string_view summary;  // one line for `remaplab --help`
  // Words of the usage line, which also say how many are taken: "TRACE", "BASE CAND", "[FILE]" (may be left out),
  // "STORE..." (one or more), "[-- COMMAND...]" (what follows "--"). Empty: none.
  std::string_view positional;
  std::string_view example;  // worked example, command and what it is for, shown by --help
  void (*declare)(po::options_description_easy_init& add);
  Result<int> (*run)(const Arguments& arguments);  // the exit code
};

std::span<const Command* const> Commands();

// Prints to standard output; error kIo when that fails (a closed pipe, a full disk).
Status Print(std::string_view text);
// "remaplab: warning: ..." on standard error.
void Warn(std::string_view text);

}  // namespace remaplab::cli
