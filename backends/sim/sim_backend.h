// A simulated GPU: a driver that accepts and refuses what the driver profile says (address_space.h), on the two clocks
// of definitions.md section 3, with the costs of a cost profile. Deterministic to the nanosecond: integers throughout,
// and jitter, when asked for, comes from the seed.
//
// What it adds to the contract in backends/backend.h:
// - A call that is refused takes no time. Create and Release move now() but no clock of the step.
// - Every launch reads tags when it is enqueued, which is right because nothing else writes; a range that is unmapped,
//   or a shadow that is freed, while a launch that uses it is still running makes that launch's tag unreachable: on
//   real hardware it would have faulted. ReadTags and ReadTag take no time, so that checking changes no result.
// - A slot counts as reachable when all devices of BackendOptions have access to it, not just the owner.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/registry.h"

namespace remaplab {

Result<std::unique_ptr<Backend>> MakeSimBackend(const BackendOptions& options);

}  // namespace remaplab
