#include "traces/generator/random_trace.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "traces/reader.h"
#include "traces/writer.h"

namespace remaplab {
namespace {

constexpr uint64_t kFirstAddress = 0x7f0000000000;

// Writes the trace and keeps just enough state to stay within the format's rules.
class RandomTraceMaker {
 public:
  RandomTraceMaker(uint64_t seed, const RandomTraceLimits& limits)
      : limits_(limits),
        random_(seed),
        proven_(random_.Chance(1, 2)),
        writer_(TraceWriter::InMemory(
            {.source = "random", .tool = "remaplab", .granularity = limits.granularity, .allocator = "vmm"})) {}

  std::string Make() {
    const uint64_t steps = random_.Between(1, limits_.steps);
    programs_.resize(random_.Between(1, limits_.programs));
    for (uint32_t id = 0; id < programs_.size(); ++id) {
      Declare(id);
    }
    for (uint64_t step = 1; step <= steps; ++step) {
      Step(static_cast<uint32_t>(random_.Below(programs_.size())), step);
      MaybeNote();
    }
    TraceEnd end;
    end.identity = proven_ ? TraceIdentity::kBacking : TraceIdentity::kAddress;
    return writer_.FinishText(end);
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  enum class Life { kAlive, kKept, kEnded };

  struct Backing {
    uint64_t address;
    uint64_t size;
    int32_t space;
    Life life;
    uint32_t holders;  // slots of all programs
  };

  struct Program {
    std::vector<TraceSlot> slots;
    std::vector<size_t> bound;  // per slot: backing or kNone
    bool stepped = false;
    bool ended = false;
  };

  // ---- time ----

  int64_t Tick() {
    t_ += static_cast<int64_t>(random_.Between(1, 1000));
    if (random_.Chance(1, 200)) {
      t_ /= 2;  // a log that holds another run
    }
    return t_;
  }

  // ---- programs ----

  uint64_t RandomSize() {
    const uint64_t g = limits_.granularity;
    const std::array<uint64_t, 8> sizes = {1, 8, 256, g - 1, g, g + 1, 3 * g, 65536};
    return std::max<uint64_t>(1, random_.Pick<uint64_t>(sizes));
  }

  TraceSlot RandomSlot(uint32_t index) {
    TraceSlot slot;
    slot.index = index;
    slot.size = RandomSize();
    slot.space = random_.Chance(1, 6) ? 1 : 0;
    slot.kind = static_cast<SlotKind>(random_.Below(4));
    slot.access = static_cast<Access>(random_.Below(4));
    slot.in_command_buffer = static_cast<Tristate>(random_.Below(3));
    return slot;
  }

  std::vector<TraceSlot> RandomTable() {
    std::vector<TraceSlot> slots;
    const uint64_t count = random_.Below(limits_.slots + 1);
    uint32_t index = 0;
    for (uint64_t i = 0; i < count; ++i) {
      index += static_cast<uint32_t>(random_.Between(1, 3));
      slots.push_back(RandomSlot(index));
    }
    return slots;
  }

  // The table with a few members gone, new, grown or moved; often as long as before.
  void ChangeTable(std::vector<TraceSlot>& slots) {
    const uint64_t changes = random_.Between(0, 3);
    for (uint64_t i = 0; i < changes && !slots.empty(); ++i) {
      const auto at = static_cast<size_t>(random_.Below(slots.size()));
      switch (random_.Below(4)) {
        case 0:
          slots.erase(slots.begin() + static_cast<ptrdiff_t>(at));
          break;
        case 1:
          if (slots.size() < limits_.slots) {
            slots.push_back(RandomSlot(slots.back().index + 1));
          }
          break;
        case 2:
          slots[at].size += random_.Between(1, limits_.granularity + 1);
          break;
        default:
          slots[at].space = 1 - slots[at].space;
          break;
      }
    }
  }

  void Declare(uint32_t id) {
    Program& program = programs_[id];
    for (const size_t backing : program.bound) {
      Release(backing);
    }
    if (program.stepped && random_.Chance(3, 4)) {
      ChangeTable(program.slots);
    } else {
      program.slots = RandomTable();
    }
    program.bound.assign(program.slots.size(), kNone);
    program.stepped = false;
    program.ended = false;
    TraceProgram declaration{id, id == 0 ? "jit_step" : "jit_eval", 0, static_cast<uint32_t>(random_.Below(1000)), {}};
    declaration.slots = program.slots;
    writer_.Program(declaration, Tick());
  }

  // ---- backings ----

  void Release(size_t backing) {
    if (backing != kNone) {
      --backings_[backing].holders;
    }
  }

  void Hold(size_t backing) {
    if (backing != kNone) {
      ++backings_[backing].holders;
    }
  }

  size_t AllocAt(uint64_t address, const TraceSlot& slot) {
    backings_.push_back({address, slot.size, slot.space, Life::kAlive, 0});
    writer_.Alloc({backings_.size() - 1, address, slot.size, Tick()});
    return backings_.size() - 1;
  }

  size_t AllocFresh(const TraceSlot& slot) {
    if (limits_.unknown_addresses && random_.Chance(1, 20)) {
      return AllocAt(kUnknownAddress, slot);
    }
    const uint64_t address = next_address_;
    next_address_ += (slot.size / limits_.granularity + 1 + random_.Below(2)) * limits_.granularity;
    return AllocAt(address, slot);
  }

  // Some backing in state `life` that fits the slot exactly.
  std::optional<size_t> FindLike(const TraceSlot& slot, Life life) {
    std::vector<size_t> found;
    for (size_t i = 0; i < backings_.size(); ++i) {
      const Backing& backing = backings_[i];
      const bool free_to_take = backing.holders == 0 || limits_.aliases;
      if (backing.life == life && backing.size == slot.size && backing.space == slot.space && free_to_take) {
        found.push_back(i);
      }
    }
    return found.empty() ? std::nullopt : std::optional(random_.Pick<size_t>(found));
  }

  // A freed address that nobody has now, from memory of the slot's size.
  std::optional<uint64_t> FindFreedAddress(const TraceSlot& slot) {
    const std::optional<size_t> ended = FindLike(slot, Life::kEnded);
    if (!ended || backings_[*ended].address == kUnknownAddress) {
      return std::nullopt;
    }
    const uint64_t address = backings_[*ended].address;
    const bool taken = std::any_of(backings_.begin(), backings_.end(), [&](const Backing& backing) {
      return backing.life != Life::kEnded && backing.address == address;
    });
    return taken ? std::nullopt : std::optional(address);
  }

  size_t Revive(size_t kept) {
    Backing& backing = backings_[kept];
    writer_.Alloc({kept, backing.address, backing.size, Tick(), random_.Chance(1, 2)});
    backing.life = Life::kAlive;
    return kept;
  }

  void Free(size_t index) {
    Backing& backing = backings_[index];
    const bool for_good = proven_ && backing.holders == 0 && random_.Chance(1, 2);
    if (for_good) {
      writer_.Free(index, Tick());
      backing.life = Life::kEnded;
    } else if (backing.life == Life::kAlive) {
      writer_.DeferredFree(index, Tick());
      backing.life = Life::kKept;
    }
  }

  // Memory for a slot: other memory than before, or the same at times.
  size_t Choose(const TraceSlot& slot, size_t before) {
    switch (random_.Below(8)) {
      case 0:
        if (limits_.unbound_slots) {
          return kNone;
        }
        break;
      case 1:
        if (const auto alive = FindLike(slot, Life::kAlive); alive && limits_.aliases) {
          return *alive;
        }
        break;
      case 2:
      case 3:
        if (const auto kept = FindLike(slot, Life::kKept)) {
          return Revive(*kept);
        }
        break;
      case 4:
      case 5:
        return Reissue(slot, before);
      default:
        break;
    }
    return AllocFresh(slot);
  }

  // Other memory at the address that the slot has, or at one that was freed at some time.
  size_t Reissue(const TraceSlot& slot, size_t before) {
    if (limits_.reissued_addresses && proven_) {
      if (before != kNone && backings_[before].holders == 0 && backings_[before].life != Life::kEnded) {
        writer_.Free(before, Tick());
        backings_[before].life = Life::kEnded;
      }
      if (const auto address = FindFreedAddress(slot)) {
        return AllocAt(*address, slot);
      }
    }
    return AllocFresh(slot);
  }

  // ---- steps ----

  // Which slots get a new binding: none, one, neighbours, every other one, any, all.
  std::vector<size_t> ChangedSlots(size_t count) {
    std::vector<size_t> changed;
    const uint64_t pattern = random_.Below(6);
    const size_t start = count == 0 ? 0 : static_cast<size_t>(random_.Below(count));
    const size_t length = static_cast<size_t>(random_.Between(1, 3));
    for (size_t i = 0; i < count; ++i) {
      const bool any = random_.Chance(1, 3);
      if ((pattern == 1 && i == start) || (pattern == 2 && i >= start && i < start + length) ||
          (pattern == 3 && i % 2 == start % 2) || (pattern == 4 && any) || pattern == 5) {
        changed.push_back(i);
      }
    }
    return changed;
  }

  void Rebind(Program& program, size_t slot) {
    const size_t before = program.bound[slot];
    Release(before);
    const size_t after = Choose(program.slots[slot], before);
    Hold(after);
    program.bound[slot] = after;
  }

  void Step(uint32_t id, uint64_t number) {
    Program& program = programs_[id];
    if (program.ended || (limits_.redeclare && program.stepped && random_.Chance(1, 10))) {
      Declare(id);
    }
    std::vector<size_t> bound = ChangedSlots(program.slots.size());
    if (!program.stepped) {
      for (size_t slot = 0; slot < program.slots.size(); ++slot) {
        Rebind(program, slot);
      }
      bound.resize(program.slots.size());
      for (size_t slot = 0; slot < bound.size(); ++slot) {
        bound[slot] = slot;
      }
    } else {
      for (const size_t slot : bound) {
        Rebind(program, slot);
      }
    }
    std::vector<TraceBind> bind;
    for (const size_t slot : bound) {
      const size_t backing = program.bound[slot];
      bind.push_back({program.slots[slot].index, backing == kNone ? kNullBacking : backing});
    }
    program.stepped = true;
    const int64_t duration = random_.Chance(1, 2) ? static_cast<int64_t>(random_.Below(100000)) : kUnknownTime;
    writer_.Step({id, number, Tick(), duration, bind});
    FreeSome();
    if (limits_.redeclare && random_.Chance(1, 30)) {
      End(id);
    }
  }

  void End(uint32_t id) {
    Program& program = programs_[id];
    for (size_t& backing : program.bound) {
      Release(backing);
      backing = kNone;
    }
    program.ended = true;
    writer_.ProgramEnd(id, Tick());
  }

  // Frees memory that no slot holds, and now and then memory that one does.
  void FreeSome() {
    for (size_t i = 0; i < backings_.size(); ++i) {
      const bool unheld = backings_[i].holders == 0 && random_.Chance(1, 2);
      const bool held = backings_[i].holders > 0 && random_.Chance(1, 30);
      if (backings_[i].life != Life::kEnded && (unheld || held)) {
        Free(i);
      }
    }
  }

  void MaybeNote() {
    if (random_.Chance(1, 20)) {
      writer_.Mark({"evaluation", Tick()});
    }
    if (random_.Chance(1, 20)) {
      const auto ns = static_cast<int64_t>(random_.Below(1000000));
      writer_.Timing({"update", ns, random_.Below(1000)}, Tick());
    }
  }

  const RandomTraceLimits limits_;
  Random random_;
  const bool proven_;  // identity "backing"
  TraceWriter writer_;
  std::vector<Program> programs_;
  std::vector<Backing> backings_;  // the id in the file is the place here
  uint64_t next_address_ = kFirstAddress;
  int64_t t_ = 0;
};

}  // namespace

Trace GenerateRandomTrace(uint64_t seed, const RandomTraceLimits& limits) {
  // Going through the text gives the trace its hash, and the reader's rules a look at it.
  return ParseTrace(RandomTraceMaker(seed, limits).Make(), "random trace").value();
}

}  // namespace remaplab
