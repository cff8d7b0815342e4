#include "traces/importers/registry.h"

#include "traces/byte_source.h"
#include "traces/importers/calls/call_importers.h"
#include "traces/importers/xla/log_line.h"

namespace remaplab {
namespace {

constexpr RecordingSource kTraceSource = {"remaptrace", "a trace", RecordingKind::kTrace};
constexpr RecordingSource kXlaLogSource = {"xla-log", "what XLA logs during a JAX, MaxText or other run",
                                           RecordingKind::kLog};

Result<std::string> Head(const std::string& path) {
  auto head = [&]() -> Result<std::string> {
    REMAPLAB_ASSIGN(ByteSource source, ByteSource::Open(path));
    std::string bytes(kSniffBytes, '\0');
    size_t size = 0;
    while (size < bytes.size()) {
      REMAPLAB_ASSIGN(const size_t count, source.Read(bytes.data() + size, bytes.size() - size));
      if (count == 0) {
        break;
      }
      size += count;
    }
    bytes.resize(size);
    return bytes;
  }();
  if (!head) {
    return Fail(std::move(head).error().WithContext(path));
  }
  return head;
}

bool HasLogLine(std::string_view head) {
  while (!head.empty()) {
    const size_t feed = head.find('\n');
    if (xla::FindLogPrefix(head.substr(0, feed), 0) != std::string_view::npos) {
      return true;
    }
    head.remove_prefix(feed == std::string_view::npos ? head.size() : feed + 1);
  }
  return false;
}

}  // namespace

std::vector<RecordingSource> RecordingSources() {
  std::vector<RecordingSource> sources = {kTraceSource, kXlaLogSource};
  for (const CallImporter& importer : CallImporters()) {
    sources.push_back({importer.name, importer.description, RecordingKind::kCalls});
  }
  return sources;
}

Result<std::vector<RecordingSource>> IdentifyRecording(const std::string& path) {
  REMAPLAB_ASSIGN(const std::string head, Head(path));
  std::vector<RecordingSource> found;
  if (head.starts_with('{') && head.substr(0, head.find('\n')).find("\"remaptrace\"") != std::string::npos) {
    found.push_back(kTraceSource);
  }
  if (HasLogLine(head)) {
    found.push_back(kXlaLogSource);
  }
  for (const CallImporter& importer : CallImporters()) {
    if (importer.sniff(head, path)) {
      found.push_back({importer.name, importer.description, RecordingKind::kCalls});
    }
  }
  return found;
}

}  // namespace remaplab
