// Stands in for libFuzzer's main: runs the target once on each file of the folders given, in the order of their names,
// and on each file cut in half.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  std::set<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      files.insert(entry.path());
    }
  }
  if (files.empty()) {
    std::fputs("no corpus\n", stderr);
    return 1;
  }
  for (const std::filesystem::path& path : files) {
    std::ifstream stream(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    std::printf("%s, %zu bytes\n", path.filename().c_str(), bytes.size());
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    LLVMFuzzerTestOneInput(data, bytes.size());
    LLVMFuzzerTestOneInput(data, bytes.size() / 2);
  }
  return 0;
}
