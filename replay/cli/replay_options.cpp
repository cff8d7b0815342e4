#include "replay/cli/replay_options.h"

#include <string>
#include <vector>

#include "replay/cli/interrupt.h"
#include "replay/replay_flags.h"

namespace remaplab::cli {

void DeclareReplayOptions(po::options_description_easy_init& add) {
  for (const ReplayFlag& flag : ReplayFlagTable()) {
    const std::string spelling(flag.spelling);
    const std::string help(flag.help);
    if (flag.list) {
      add(spelling.c_str(), po::value<std::vector<std::string>>()->composing(), help.c_str());
    } else if (flag.unset == nullptr) {
      add(spelling.c_str(), po::value<std::string>(), help.c_str());
    } else {
      add(spelling.c_str(), po::value<std::string>()->default_value(flag.unset), help.c_str());
    }
  }
}

Result<ReplayOptions> ReadReplayOptions(const Arguments& arguments) {
  ReplayFlags flags;
  for (const ReplayFlag& flag : ReplayFlagTable()) {
    const std::string name(flag.name);
    if (arguments.Has(name)) {
      flags[name] = flag.list ? arguments.GetAll(name) : std::vector{arguments.Get(name)};
    }
  }
  REMAPLAB_ASSIGN(ReplayOptions options, ParseReplayFlags(flags));
  options.stop = &InterruptFlag();
  return options;
}

}  // namespace remaplab::cli
