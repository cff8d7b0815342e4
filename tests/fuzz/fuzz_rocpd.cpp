#include "tests/fuzz/fuzz_call_importer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return remaplab::FuzzCallImporter("rocpd", data, size);
}
