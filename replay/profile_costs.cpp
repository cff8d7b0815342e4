#include "replay/profile_costs.h"

namespace remaplab {

int64_t ProfileCosts::CallNs(const CallShape& shape) const {
  CallQuantities quantities;
  quantities.bytes = shape.bytes;
  quantities.chunks = shape.chunks;
  quantities.unchanged_chunks = shape.unchanged_chunks;
  quantities.chunk_devices = static_cast<uint64_t>(shape.chunks) * shape.devices;
  quantities.devices = shape.devices;
  quantities.commands = shape.commands;
  quantities.changed_slots = shape.changed;
  quantities.contended = shape.contended;
  return table_.CallNs(shape.kind, quantities);
}

}  // namespace remaplab
