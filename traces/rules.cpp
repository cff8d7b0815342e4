#include "traces/rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace remaplab {
namespace {

template <typename... Arguments>
tl::unexpected<Error> Refuse(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Fail(ErrorCode::kInput, fmt::format(format, std::forward<Arguments>(arguments)...));
}

uint64_t Rounded(uint64_t size, uint64_t granularity) {
  return granularity == 0 ? size : (size + granularity - 1) / granularity * granularity;
}

// Positions by slot index. Bindings mostly ascend and tables have few gaps, so the place that the last hit implies is
// nearly always the right one.
class PositionFinder {
 public:
  explicit PositionFinder(const std::vector<uint32_t>& index) : index_(index) {}

  // The position, or the table's size when there is no such slot.
  size_t Find(uint32_t slot) {
    const size_t guess = slot - offset_;
    if (guess < index_.size() && index_[guess] == slot) {
      return guess;
    }
    const auto found = std::lower_bound(index_.begin(), index_.end(), slot);
    if (found == index_.end() || *found != slot) {
      return index_.size();
    }
    const auto position = static_cast<size_t>(found - index_.begin());
    offset_ = slot - position;
    return position;
  }

 private:
  const std::vector<uint32_t>& index_;
  size_t offset_ = 0;  // what the last hit's index was above its position
};

}  // namespace

Status TraceRules::Apply(TraceRecord& record) {
  switch (record.type) {
    case TraceEventType::kAlloc:
      return Alloc(record);
    case TraceEventType::kFree:
    case TraceEventType::kDeferredFree:
      return Free(record);
    case TraceEventType::kProgram:
      return Program(record);
    case TraceEventType::kProgramEnd:
      return ProgramEnd(record);
    case TraceEventType::kStep:
      return Step(record);
    case TraceEventType::kMark:
    case TraceEventType::kTiming:
      break;
  }
  return {};
}

Status TraceRules::Alloc(TraceRecord& record) {
  const std::optional<uint32_t> known = ids_.Find(record.backing);
  record.first_alloc = !known;
  if (!known) {
    if (record.reused) {
      return Refuse("alloc: backing {} is \"reused\" but was never allocated before", record.backing);
    }
    if (ids_.size() >= kUnboundSlot) {
      return Refuse("alloc: more than {} backings", kUnboundSlot);
    }
    record.dense_backing = ids_.Add(record.backing);
    address_.push_back(record.address);
    size_.push_back(record.size);
    life_.push_back(Life::kAlive);
    bound_slots_.push_back(0);
    return {};
  }
  const uint32_t dense = *known;
  record.dense_backing = dense;
  if (life_[dense] != Life::kKept) {
    return Refuse("alloc: backing {} {}", record.backing,
                  life_[dense] == Life::kAlive
                      ? "is still allocated"
                      : "was freed for good; memory that comes after it needs an id of its own");
  }
  if (record.address != address_[dense]) {
    return Refuse("alloc: backing {} comes back at another address; that is another backing", record.backing);
  }
  if (granularity_ > 0 && Rounded(record.size, granularity_) != Rounded(size_[dense], granularity_)) {
    return Refuse(
        "alloc: backing {} comes back with {} bytes, it had {}: not the same when rounded to {}; that is another "
        "backing",
        record.backing, record.size, size_[dense], granularity_);
  }
  size_[dense] = std::max(size_[dense], record.size);
  life_[dense] = Life::kAlive;
  return {};
}

Result<uint32_t> TraceRules::Known(std::string_view event, uint64_t backing) const {
  const std::optional<uint32_t> dense = ids_.Find(backing);
  if (!dense) {
    return Refuse("{}: backing {} was never allocated", event, backing);
  }
  if (life_[*dense] == Life::kEnded) {
    return Refuse("{}: backing {} was freed before", event, backing);
  }
  return *dense;
}

Status TraceRules::Free(TraceRecord& record) {
  REMAPLAB_ASSIGN(record.dense_backing, Known("free", record.backing));
  Life& life = life_[record.dense_backing];
  if (record.type == TraceEventType::kDeferredFree) {
    if (life == Life::kKept) {
      return Refuse("free: backing {} was freed (deferred) before", record.backing);
    }
    life = Life::kKept;
    return {};
  }
  life = Life::kEnded;
  if (bound_slots_[record.dense_backing] > 0) {
    for (auto& [id, program] : programs_) {
      NoteEnded(program, record.dense_backing);
    }
  }
  return {};
}

void TraceRules::NoteEnded(Declaration& program, uint32_t backing) {
  // A program that never steps again must not gather what others free: forget what nobody holds any more.
  if (program.ended.size() == program.ended.capacity()) {
    std::erase_if(program.ended, [&](uint32_t ended) { return bound_slots_[ended] == 0; });
    program.ended.reserve(2 * program.ended.size() + 16);
  }
  program.ended.push_back(backing);
}

void TraceRules::Bind(uint32_t& slot, uint32_t backing) {
  if (slot != kUnboundSlot) {
    --bound_slots_[slot];
  }
  slot = backing;
  if (slot != kUnboundSlot) {
    ++bound_slots_[slot];
  }
}

void TraceRules::Unbind(Declaration& program) {
  for (uint32_t& slot : program.current) {
    Bind(slot, kUnboundSlot);
  }
}

Status TraceRules::Program(TraceRecord& record) {
  Declaration& program = programs_[record.program.id];
  Unbind(program);
  program = Declaration{};
  program.number = declarations_++;
  record.declaration = program.number;
  program.index.reserve(record.program.slots.size());
  for (const TraceSlot& slot : record.program.slots) {
    program.index.push_back(slot.index);
  }
  program.current.assign(program.index.size(), kUnboundSlot);
  return {};
}

Status TraceRules::ProgramEnd(TraceRecord& record) {
  const auto found = programs_.find(record.program_id);
  if (found == programs_.end()) {
    return Refuse("program_end: program {} is not declared", record.program_id);
  }
  record.declaration = found->second.number;
  Unbind(found->second);
  programs_.erase(found);
  return {};
}

Status TraceRules::ResolveBind(const Declaration& program, TraceRecord& record) {
  record.bound_slot.clear();
  record.bound_backing.clear();
  PositionFinder finder(program.index);
  bool ascending = true;
  for (const TraceBind& bind : record.bind) {
    const size_t position = finder.Find(bind.slot);
    if (position == program.index.size()) {
      return Refuse("step: slot {} is not in the slot table of program {}", bind.slot, record.program_id);
    }
    uint32_t dense = kUnboundSlot;
    if (bind.backing != kNullBacking) {
      REMAPLAB_ASSIGN(dense, Known("step", bind.backing));
    }
    ascending = ascending && (record.bound_slot.empty() || position > record.bound_slot.back());
    record.bound_slot.push_back(static_cast<uint32_t>(position));
    record.bound_backing.push_back(dense);
  }
  if (ascending) {
    return {};
  }
  order_.clear();
  for (size_t i = 0; i < record.bound_slot.size(); ++i) {
    order_.emplace_back(record.bound_slot[i], record.bound_backing[i]);
  }
  std::sort(order_.begin(), order_.end());
  for (size_t i = 0; i < order_.size(); ++i) {
    if (i > 0 && order_[i].first == order_[i - 1].first) {
      return Refuse("step: slot {} is bound twice", program.index[order_[i].first]);
    }
    std::tie(record.bound_slot[i], record.bound_backing[i]) = order_[i];
  }
  return {};
}

Status TraceRules::BindAll(Declaration& program, const TraceRecord& record) {
  for (size_t position = 0; position < program.index.size(); ++position) {
    if (position >= record.bound_slot.size() || record.bound_slot[position] != position) {
      return Refuse(
          "step: the first step after a declaration must bind every slot, and slot {} of program {} is missing "
          "(null says unbound)",
          program.index[position], record.program_id);
    }
    Bind(program.current[position], record.bound_backing[position]);
  }
  return {};
}

void TraceRules::BindChanged(Declaration& program, TraceRecord& record) {
  size_t kept = 0;
  for (size_t i = 0; i < record.bound_slot.size(); ++i) {
    const uint32_t position = record.bound_slot[i];
    const uint32_t backing = record.bound_backing[i];
    if (program.current[position] == backing) {
      continue;
    }
    Bind(program.current[position], backing);
    record.bound_slot[kept] = position;
    record.bound_backing[kept] = backing;
    ++kept;
  }
  record.bound_slot.resize(kept);
  record.bound_backing.resize(kept);
}

Status TraceRules::CheckEnded(Declaration& program, const TraceRecord& record) {
  for (const uint32_t backing : program.ended) {
    if (bound_slots_[backing] == 0) {
      continue;
    }
    const auto holder = std::find(program.current.begin(), program.current.end(), backing);
    if (holder != program.current.end()) {
      return Refuse("step: slot {} of program {} still holds backing {}, which was freed before",
                    program.index[static_cast<size_t>(holder - program.current.begin())], record.program_id,
                    ids_.id(backing));
    }
  }
  program.ended.clear();
  return {};
}

Status TraceRules::Step(TraceRecord& record) {
  const auto found = programs_.find(record.program_id);
  if (found == programs_.end()) {
    return Refuse("step: program {} is not declared", record.program_id);
  }
  Declaration& program = found->second;
  record.declaration = program.number;
  record.first_step = !program.stepped;
  REMAPLAB_TRY(ResolveBind(program, record));
  if (record.first_step) {
    REMAPLAB_TRY(BindAll(program, record));
    program.stepped = true;
  } else {
    BindChanged(program, record);
  }
  return CheckEnded(program, record);
}

}  // namespace remaplab
