#include "base/vocabulary.h"

#include <span>

namespace remaplab {
namespace {

constexpr std::array<std::string_view, 4> kSlotKindNames = {"unknown", "parameter", "output", "temp"};
constexpr std::array<std::string_view, 4> kAccessNames = {"unknown", "read", "write", "both"};
constexpr std::array<std::string_view, 3> kTristateNames = {"unknown", "no", "yes"};

template <typename E>
std::optional<E> Find(std::span<const std::string_view> names, std::string_view name) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return static_cast<E>(i);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<CallKind> ParseCallKind(std::string_view name) { return Find<CallKind>(kCallKindNames, name); }

std::string_view Name(SlotKind kind) { return kSlotKindNames[static_cast<size_t>(kind)]; }
std::optional<SlotKind> ParseSlotKind(std::string_view name) { return Find<SlotKind>(kSlotKindNames, name); }

std::string_view Name(Access access) { return kAccessNames[static_cast<size_t>(access)]; }
std::optional<Access> ParseAccess(std::string_view name) { return Find<Access>(kAccessNames, name); }

std::string_view Name(Tristate value) { return kTristateNames[static_cast<size_t>(value)]; }
std::optional<Tristate> ParseTristate(std::string_view name) { return Find<Tristate>(kTristateNames, name); }

}  // namespace remaplab
