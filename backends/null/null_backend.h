// Accepts everything, costs nothing, checks nothing: the floor of the harness, against which everything else is
// measured. Its clock stands still.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/registry.h"

namespace remaplab {

Result<std::unique_ptr<Backend>> MakeNullBackend(const BackendOptions& options);

}  // namespace remaplab
