#include "traces/validator.h"

#include <algorithm>

namespace remaplab {
namespace {

constexpr std::string_view kTexts[] = {
    "the time goes back (several runs in one file?)",
    "a step number does not ascend (several runs in one file?)",
    "a slot is larger than the backing that is bound to it",
    "a backing is bound that its allocator has taken back (deferred free)",
    "two backings that are allocated at the same time overlap in their addresses",
};

}  // namespace

void TraceValidator::Add(Finding finding, uint64_t line) {
  Note& note = notes_[finding];
  if (note.count++ == 0) {
    note.text = kTexts[finding];
    note.first_line = line;
  }
}

std::vector<TraceValidator::Note> TraceValidator::Notes() const {
  std::vector<Note> found;
  std::copy_if(notes_.begin(), notes_.end(), std::back_inserter(found),
               [](const Note& note) { return note.count > 0; });
  return found;
}

void TraceValidator::Observe(const TraceRecord& record) {
  ++events_;
  if (record.t != kUnknownTime) {
    if (record.t < last_t_) {
      Add(kTimeGoesBack, record.line);
    }
    last_t_ = record.t;
  }
  switch (record.type) {
    case TraceEventType::kAlloc:
      Alloc(record);
      break;
    case TraceEventType::kFree:
    case TraceEventType::kDeferredFree:
      Free(record);
      break;
    case TraceEventType::kProgram: {
      Program& program = programs_[record.program.id];
      program.sizes.clear();
      for (const TraceSlot& slot : record.program.slots) {
        program.sizes.push_back(slot.size);
      }
      break;
    }
    case TraceEventType::kStep:
      Step(record);
      break;
    case TraceEventType::kProgramEnd:
    case TraceEventType::kMark:
    case TraceEventType::kTiming:
      break;
  }
}

void TraceValidator::Alloc(const TraceRecord& record) {
  if (record.first_alloc) {
    backings_.push_back({record.address, record.size, false});
  }
  Backing& backing = backings_[record.dense_backing];
  backing.kept = false;
  backing.size = std::max(backing.size, record.size);
  if (backing.address == kUnknownAddress) {
    return;
  }
  const auto [place, fresh] = at_address_.emplace(backing.address, record.dense_backing);
  bool overlaps = !fresh;
  if (place != at_address_.begin()) {
    const auto& [before, neighbour] = *std::prev(place);
    overlaps = overlaps || before + backings_[neighbour].size > backing.address;
  }
  if (const auto next = std::next(place); next != at_address_.end()) {
    overlaps = overlaps || next->first - backing.address < backing.size;
  }
  place->second = record.dense_backing;
  if (overlaps) {
    Add(kAddressesOverlap, record.line);
  }
}

void TraceValidator::Free(const TraceRecord& record) {
  Backing& backing = backings_[record.dense_backing];
  backing.kept = record.type == TraceEventType::kDeferredFree;
  const auto place = at_address_.find(backing.address);
  if (place != at_address_.end() && place->second == record.dense_backing) {
    at_address_.erase(place);
  }
}

void TraceValidator::Step(const TraceRecord& record) {
  ++steps_;
  Program& program = programs_[record.program_id];
  if (program.stepped && record.step <= program.last_step) {
    Add(kStepsDoNotAscend, record.line);
  }
  program.stepped = true;
  program.last_step = record.step;
  const auto rounded = [&](uint64_t size) {
    return granularity_ == 0 ? size : (size + granularity_ - 1) / granularity_ * granularity_;
  };
  for (size_t i = 0; i < record.bound_slot.size(); ++i) {
    if (record.bound_backing[i] == kUnboundSlot) {
      continue;
    }
    const Backing& backing = backings_[record.bound_backing[i]];
    if (rounded(program.sizes[record.bound_slot[i]]) > rounded(backing.size)) {
      Add(kSlotLargerThanBacking, record.line);
    }
    if (backing.kept) {
      Add(kBoundWhileKept, record.line);
    }
  }
}

}  // namespace remaplab
