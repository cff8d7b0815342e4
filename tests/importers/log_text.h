// Writes log lines as XLA does.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace remaplab {

class LogText {
 public:
  // One entry of thread `thread`; time goes on by a millisecond.
  LogText& Entry(std::string_view file, std::string_view message, int thread = 7) {
    ms_ += 1;
    fmt::format_to(std::back_inserter(text_), "I0801 10:{:02}:{:02}.{:03}000 {:>7} {}:1] {}\n", ms_ / 60000 % 60,
                   ms_ / 1000 % 60, ms_ % 1000, thread, file, message);
    return *this;
  }
  LogText& Raw(std::string_view text) {
    text_ += text;
    return *this;
  }

  LogText& Client() {
    return Entry("cuda_device_address_vmm_allocator.cc", "Using VMM device-address allocator.")
        .Entry("device_address_vmm_allocator.cc", "DeviceAddressVmmAllocator: registering device 0 with pa_budget 99");
  }
  LogText& Allocated(uint64_t address, uint64_t size, int device = 0, int thread = 7) {
    return Entry(allocator_file_,
                 fmt::format("Allocated virtual address {:#x} ({}B) on device ordinal {}", address, size, device),
                 thread);
  }
  LogText& Reused(uint64_t address, uint64_t size) {
    return Entry(
        allocator_file_,
        fmt::format("Reusing pending deallocation: address={:#x} original_size={}B new_size={}B rounded_size=2097152B "
                    "device=0",
                    address, size, size));
  }
  LogText& Freed(uint64_t address, uint64_t size, int device = 0) {
    return Entry(allocator_file_,
                 fmt::format("Queueing deferred deallocation for virtual address {:#x} (size={}B) on device "
                             "ordinal {}",
                             address, size, device));
  }
  LogText& Completed(uint64_t address, uint64_t size) {
    return Entry(allocator_file_,
                 fmt::format("Actually freeing virtual address {:#x} (size={}B) on device ordinal 0", address, size));
  }

  struct Buffer {
    uint64_t address;
    uint64_t size;
  };
  static std::string TableText(const std::vector<Buffer>& buffers) {
    std::string table;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const std::string address = buffers[i].address == 0 ? "(nil)" : fmt::format("{:#x}", buffers[i].address);
      table += fmt::format("{}Buffer {} -> {} ({} B)", i == 0 ? "" : "; ", i, address, buffers[i].size);
    }
    return table;
  }
  LogText& Table(const std::vector<Buffer>& buffers, int thread = 7, int device = 0) {
    return TableOf(TableText(buffers), thread, device);
  }
  LogText& TableOf(std::string_view table, int thread = 7, int device = 0) {
    return Entry("se_gpu_pjrt_client.cc", fmt::format("[{}] Buffer allocations: {}", device, table), thread);
  }
  LogText& Changed(std::string_view module, std::string_view list) {
    return Entry(
        "gpu_executable.cc",
        fmt::format("[0] Buffer allocations changed address between module {} executions: [{}]", module, list));
  }
  LogText& Run(std::string_view module, int thread = 7, int device = 0) {
    return Start(module, thread, device).End(module, thread, device);
  }
  LogText& Start(std::string_view module, int thread = 7, int device = 0) {
    return Entry("gpu_executable.cc",
                 fmt::format("[{}] Start GpuExecutable::ExecuteOnStream module: {}", device, module), thread);
  }
  LogText& End(std::string_view module, int thread = 7, int device = 0) {
    return Entry("gpu_executable.cc", fmt::format("[{}] End GpuExecutable::ExecuteOnStream module: {}", device, module),
                 thread);
  }
  // An execution as it is printed without interruption.
  LogText& Step(std::string_view module, const std::vector<Buffer>& buffers, int thread = 7, int device = 0) {
    return Table(buffers, thread, device).Run(module, thread, device);
  }

  LogText& AllocatorFile(std::string_view file) {
    allocator_file_ = file;
    return *this;
  }
  LogText& BackTo(int64_t ms) {
    ms_ = ms;
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string allocator_file_ = "device_address_vmm_allocator.cc";
  int64_t ms_ = 0;
};

}  // namespace remaplab
