#include "traces/importers/line_feeder.h"

#include <algorithm>
#include <vector>

namespace remaplab {

void LineFeeder::Keep(std::string_view part) {
  begun_.append(part.substr(0, kLongestLine - std::min(begun_.size(), kLongestLine)));
}

Status LineFeeder::Feed(std::string_view bytes) {
  bytes_ += bytes.size();
  size_t feed = bytes.find('\n');
  if (!begun_.empty() && feed != std::string_view::npos) {
    Keep(bytes.substr(0, feed));
    REMAPLAB_TRY(use_(begun_));
    begun_.clear();
    bytes.remove_prefix(feed + 1);
    feed = bytes.find('\n');
  }
  while (feed != std::string_view::npos) {
    REMAPLAB_TRY(use_(bytes.substr(0, feed)));
    bytes.remove_prefix(feed + 1);
    feed = bytes.find('\n');
  }
  Keep(bytes);
  return {};
}

Status LineFeeder::End() {
  if (begun_.empty()) {
    return {};
  }
  const std::string last = std::move(begun_);
  begun_.clear();
  return use_(last);
}

Status FeedFile(const std::string& path, const LineFeeder::Use& use, bool& truncated) {
  auto source = ByteSource::Open(path);
  if (!source) {
    return Fail(std::move(source).error().WithContext(path));
  }
  LineFeeder feeder(use);
  std::vector<char> buffer(size_t{256} << 10);
  while (true) {
    auto count = source->Read(buffer.data(), buffer.size());
    if (!count) {
      return Fail(std::move(count).error().WithContext(path));
    }
    if (*count == 0) {
      truncated = source->truncated();
      return feeder.End();
    }
    REMAPLAB_TRY(feeder.Feed({buffer.data(), *count}));
  }
}

}  // namespace remaplab
