// The options of a replay as text: one table from which `replay` and `sweep` make their flags, and plan files their
// words.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replay/replayer.h"

namespace remaplab {

struct ReplayFlag {
  std::string_view name;      // "cost-profile"
  std::string_view spelling;  // with its short form: "backend,b"
  const char* unset;          // what holds when nobody says anything; nullptr: nothing
  std::string_view help;
  enum class Scope : uint8_t { kAnyBackend, kSim } scope = Scope::kAnyBackend;
  bool list = false;  // all values given hold at once; otherwise there is one
};

std::span<const ReplayFlag> ReplayFlagTable();

// Values by flag; a flag that is not there has its `unset` value.
using ReplayFlags = std::map<std::string, std::vector<std::string>, std::less<>>;

// Error kUsage naming flag and value. ReplayOptions::stop is left alone.
Result<ReplayOptions> ParseReplayFlags(const ReplayFlags& flags);

}  // namespace remaplab
