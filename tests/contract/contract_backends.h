// The backends that the contract suite runs on, and what its cases share. A case is written once, with
// CONTRACT_CASE(name), and runs on each of them.
#pragma once

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/registry.h"

namespace remaplab::contract {

struct BackendCase {
  std::string_view name;
  std::string_view backend;
  std::string_view driver_profile;
  // Whether a launch whose memory was pulled away is reported by its tags; false where it kills the context.
  bool survives_faults = true;
  // Whether memory may be mapped in part; false where the driver maps whole handles only (CUDA 580).
  bool maps_parts = true;
  // Of gpu_ns, how much a launch certainly takes: hip's filler copies are only about as long as asked.
  int percent_of_gpu_ns = 100;
  // How it is made when it is not one of the registry's; then `backend` does not matter.
  Result<std::unique_ptr<Backend>> (*make)(const BackendOptions& options) = nullptr;

  int64_t AtLeast(int64_t gpu_ns) const { return gpu_ns * percent_of_gpu_ns / 100; }
};
std::ostream& operator<<(std::ostream& out, const BackendCase& backend);

// Those that can run here; says which cannot, and why.
const std::vector<BackendCase>& BackendCases();

struct Wishes {
  Touch touch = Touch::kFull;
  uint32_t devices = 1;
  uint32_t run_ahead = 1;
};

// One backend under test.
class Rig {
 public:
  explicit Rig(const BackendCase& backend, Wishes wishes = {});

  Backend* operator->() { return backend_.get(); }
  Backend& operator*() { return *backend_; }
  uint64_t chunk() const { return chunk_; }
  uint32_t devices() const { return devices_; }

 private:
  std::unique_ptr<Backend> backend_;
  uint64_t chunk_;
  uint32_t devices_;
};

template <typename T>
T Must(Result<T> result) {
  BOOST_REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().message()));
  return std::move(*result);
}
inline void Must(const Status& status) {
  BOOST_REQUIRE_MESSAGE(status.has_value(), (status ? "" : status.error().message()));
}

// That the call was refused as the contract says: with kDriver or kOutOfMemory and a message that names it.
template <typename T>
void MustRefuse(const Result<T>& result, std::string_view call) {
  BOOST_REQUIRE_MESSAGE(!result.has_value(), call << " was accepted");
  const ErrorCode code = result.error().code();
  BOOST_TEST((code == ErrorCode::kDriver || code == ErrorCode::kOutOfMemory), result.error().message());
  BOOST_TEST(result.error().message().find(call) != std::string::npos,
             "'" << result.error().message() << "' does not name " << call);
}

// A reservation of `count` chunks with memory behind the first `mapped` of them, accessible to every device.
struct Range {
  Range(Rig& rig, size_t count, size_t mapped);
  Range(Rig& rig, size_t count) : Range(rig, count, count) {}

  Address At(size_t i) const { return base + i * chunk; }
  BakedSlot Slot(uint32_t i, Access access = Access::kBoth) const {
    return {.slot = i, .address = At(i), .size = chunk, .access = access};
  }
  std::vector<BakedSlot> Slots(Access access = Access::kBoth) const;
  std::vector<Binding> Bindings() const;
  void GiveBack(Rig& rig);

  uint64_t chunk = 0;
  Address base = kNullAddress;
  uint64_t size = 0;
  std::vector<Memory> memory;
};
constexpr uint64_t kFirstTag = 0x1000;  // of a Range's memory; the others follow

// Grants all devices access to one chunk of a reservation, in the way that the driver allows.
void GrantAccess(Rig& rig, Address base, uint64_t mapped_size, Address at, uint64_t size);

// The tags of the launch `back` launches ago, by position.
std::vector<LaunchTag> Tags(Rig& rig, uint32_t back = 0);
// Launches and reads what slot 0 saw.
uint64_t LaunchAndRead(Rig& rig, CommandBufferId command_buffer);

}  // namespace remaplab::contract

#define CONTRACT_CASE(name) \
  BOOST_DATA_TEST_CASE(name, ::boost::unit_test::data::make(::remaplab::contract::BackendCases()), backend)
