#include "traces/importers/xla/log_variables.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace remaplab::xla {
namespace {

constexpr std::array<LogModule, 9> kModules = {{
    {"se_gpu_pjrt_client", 3, "the address table of every execution"},
    {"pjrt_stream_executor_client", 1, "the module of every execution"},
    {"gpu_executable", 5, "the module of every execution, which addresses changed, and until 0.10 the remap lines"},
    {"gpu_executable_buffer_allocator", 3, "the remap lines of the versions between 0.10 and 0.11"},
    {"gpu_executable_va_remap_allocator", 3, "the remap lines from 0.11 on"},
    {"device_address_vmm_allocator", 3, "allocations and frees from 0.11 on"},
    {"vmm_device_address_allocator", 3, "allocations, reuse and frees until 0.10"},
    {"memory_reservation", 2, "how long the driver calls of a remap took"},
    {"command_buffer_thunk", 3, "the size of command buffers, and how long updates took"},
}};

// The level that `entries` give `name`; -1 when they do not name it.
int LevelOf(std::string_view entries, std::string_view name) {
  int level = -1;
  while (!entries.empty()) {
    const std::string_view entry = entries.substr(0, entries.find(','));
    entries.remove_prefix(std::min(entries.size(), entry.size() + 1));
    const size_t equals = entry.find('=');
    if (equals != std::string_view::npos && entry.substr(0, equals) == name) {
      const std::string_view digits = entry.substr(equals + 1);
      std::from_chars(digits.data(), digits.data() + digits.size(), level);
    }
  }
  return level;
}

}  // namespace

std::span<const LogModule> LogModules() { return kModules; }

std::string LogModulesText() { return WithLogModules(""); }

std::string WithLogModules(std::string_view user) {
  std::string text(user);
  for (const LogModule& module : kModules) {
    if (LevelOf(user, module.name) < module.level) {
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", module.name, module.level);
    }
  }
  return text;
}

}  // namespace remaplab::xla
