// Golden files: what a test prints must be what the file under tests/golden says. After a change that is meant, run the
// tests with REMAPLAB_UPDATE_GOLDEN=1 in the environment and review the difference.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace remaplab {

// Lines that begin with '#' are for people and are not compared. `name` is relative to tests/golden.
inline void CheckGolden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(REMAPLAB_SOURCE_DIR "/tests/golden/") + name;
  std::string comments;
  std::string expected;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    (line.starts_with('#') ? comments : expected) += line + "\n";
  }
  if (std::getenv("REMAPLAB_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << comments << actual;
    return;
  }
  std::istringstream want(expected);
  std::istringstream have(actual);
  std::string wanted;
  std::string got;
  for (int line = 1;; ++line) {
    const bool more_wanted = static_cast<bool>(std::getline(want, wanted));
    const bool more_got = static_cast<bool>(std::getline(have, got));
    if (!more_wanted && !more_got) {
      return;
    }
    BOOST_REQUIRE_MESSAGE(more_wanted == more_got && wanted == got,
                          path << ", line " << line << " without comments: want '" << (more_wanted ? wanted : "nothing")
                               << "', got '" << (more_got ? got : "nothing") << "'");
  }
}

}  // namespace remaplab
