#include "replay/host_identity.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace remaplab {
namespace {

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      const size_t colon = line.find(": ");
      return colon == std::string::npos ? std::string() : line.substr(colon + 2);
    }
  }
  return {};
}

KeyValues ReadIdentity() {
  KeyValues values;
  const auto add = [&values](std::string_view key, std::string value) {
    if (!value.empty()) {
      values.emplace_back(key, std::move(value));
    }
  };
  utsname names{};
  if (uname(&names) == 0) {
    add("kernel", names.release);
    add("machine", names.machine);
  }
  add("cpu", CpuModel());
  add("cores", fmt::format("{}", sysconf(_SC_NPROCESSORS_ONLN)));
  std::ifstream governor("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string name;
  std::getline(governor, name);
  add("governor", name);
  return values;
}

}  // namespace

const KeyValues& HostIdentity() {
  static const KeyValues values = ReadIdentity();
  return values;
}

}  // namespace remaplab
