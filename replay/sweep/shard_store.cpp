#include "replay/sweep/shard_store.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "analysis/store.h"

namespace remaplab {
namespace {

namespace fs = std::filesystem;

Status Failed(std::string_view doing, const std::string& path, std::error_code error) {
  return Fail(ErrorCode::kIo, fmt::format("cannot {} {}: {}", doing, path, error.message()));
}

Status Copy(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  return error ? Failed("copy to", to, error) : Status();
}

// How many of the cells a store has finished; 0 when there is no store. Opened for writing, because that is what takes
// a killed process's write-ahead log in.
Result<uint64_t> CountFinished(const std::string& path, std::span<const SweepCell> cells) {
  if (!fs::exists(path)) {
    return 0;
  }
  REMAPLAB_ASSIGN(Store store, Store::OpenForWriting(path));
  uint64_t finished = 0;
  for (const SweepCell& cell : cells) {
    REMAPLAB_ASSIGN(const bool done, store.HasFinishedCell(cell.key));
    finished += done ? 1 : 0;
  }
  REMAPLAB_TRY(store.Close());
  return finished;
}

}  // namespace

ShardStore PlaceShardStore(const std::string& store, const Shard& shard, const std::string& scratch,
                           const std::string& campaign_uuid) {
  const fs::path path(store);
  const size_t width = std::to_string(shard.count - 1).size();
  const std::string name = fmt::format("{}.shard-{:0{}}-of-{}{}", path.stem().string(), shard.index, width, shard.count,
                                       path.extension().string());
  const fs::path final_path = path.parent_path() / name;
  const fs::path folder = scratch.empty() ? path.parent_path() : fs::path(scratch);
  return {.final_path = final_path.string(),
          .working_path = (folder / fmt::format("{}.{}.partial", name, campaign_uuid.substr(0, 8))).string()};
}

Status PrepareShardStore(const ShardStore& place, std::span<const SweepCell> cells) {
  REMAPLAB_ASSIGN(const uint64_t in_place, CountFinished(place.final_path, cells));
  REMAPLAB_ASSIGN(const uint64_t working, CountFinished(place.working_path, cells));
  const bool continues = fs::exists(place.working_path) && working >= in_place;
  return continues || !fs::exists(place.final_path) ? Status() : Copy(place.final_path, place.working_path);
}

Status MoveIntoPlace(const ShardStore& place) {
  std::error_code error;
  fs::rename(place.working_path, place.final_path, error);
  if (error != std::errc::cross_device_link) {
    return error ? Failed("move into place", place.final_path, error) : Status();
  }
  const std::string arriving = place.final_path + ".arriving";
  REMAPLAB_TRY(Copy(place.working_path, arriving));
  fs::rename(arriving, place.final_path, error);
  if (error) {
    return Failed("move into place", place.final_path, error);
  }
  fs::remove(place.working_path, error);
  return {};
}

}  // namespace remaplab
