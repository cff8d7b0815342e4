#include "backends/registry.h"

#include <fmt/format.h>

#include <array>

#include "backends/hip/hip_backend.h"
#include "backends/host/host_backend.h"
#include "backends/null/null_backend.h"
#include "backends/sim/sim_backend.h"

namespace remaplab {
namespace {

std::optional<std::string> Always() { return std::nullopt; }

constexpr std::array kBackends = {
    BackendEntry{"null", "accepts everything, costs nothing: the floor of the harness", Always, MakeNullBackend},
    BackendEntry{"sim", "simulated driver and clocks, by driver and cost profile", Always, MakeSimBackend},
    BackendEntry{"host", "real memory and page tables of this machine, no GPU needed", HostUnavailable,
                 MakeHostBackend},
    BackendEntry{"hip", "a real GPU's virtual-memory API: ROCm, or the CUDA driver", HipUnavailable, MakeHipBackend},
};

}  // namespace

std::span<const BackendEntry> Backends() { return kBackends; }

Result<std::unique_ptr<Backend>> MakeBackend(std::string_view name, const BackendOptions& options) {
  std::vector<std::string_view> names;
  for (const BackendEntry& entry : kBackends) {
    if (entry.name == name) {
      return entry.make(options);
    }
    names.push_back(entry.name);
  }
  return Fail(ErrorCode::kUsage, fmt::format("unknown backend '{}' ({})", name, fmt::join(names, ", ")));
}

}  // namespace remaplab
