// What machine this is, for a run's row: processor, cores, kernel, frequency governor where the system tells.
#pragma once

#include "analysis/rows.h"

namespace remaplab {

const KeyValues& HostIdentity();

}  // namespace remaplab
