#include "traces/importers/amd_log/amd_log_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace remaplab::calls {
namespace {

constexpr int64_t kNsPerUs = 1000;
// Calls nest a few deep. A stack that grows beyond this is made of calls whose returns the log lost.
constexpr size_t kDeepest = 256;

}  // namespace

bool LooksLikeAmdLog(std::string_view head) {
  std::vector<LogEntry> entries;
  std::string stripped;
  while (!head.empty()) {
    const size_t end = std::min(head.find('\n'), head.size());
    FindEntries(StripEscapes(head.substr(0, end), stripped), entries);
    for (const LogEntry& entry : entries) {
      if (ParseApiMessage(entry.message).kind != ApiMessage::Kind::kNone) {
        return true;
      }
    }
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

AmdLogImporter::Thread& AmdLogImporter::ThreadOf(const LogEntry& entry) {
  Thread& thread = threads_[{entry.pid, entry.tid}];
  thread.pid = entry.pid;
  thread.tid = entry.tid;
  thread.bare = entry.form == LogForm::kBare;
  bare_ |= thread.bare;
  threaded_ |= !thread.bare;
  return thread;
}

Status AmdLogImporter::Line(const TextLine& line) {
  const std::string_view text = StripEscapes(line.text, stripped_);
  FindEntries(text, entries_);
  bool counted = false;
  for (const LogEntry& entry : entries_) {
    const ApiMessage message = ParseApiMessage(entry.message);
    if (message.kind == ApiMessage::Kind::kNone) {
      continue;
    }
    const bool shared = entries_.size() > 1 || text.front() != ':';
    shared_lines_ += shared && !counted ? 1 : 0;
    counted = true;
    ++sequence_;
    Thread& thread = ThreadOf(entry);
    if (message.kind == ApiMessage::Kind::kLeave) {
      Leave(thread, entry, message);
    } else {
      Enter(thread, entry, message);
    }
  }
  return {};
}

void AmdLogImporter::Enter(Thread& thread, const LogEntry& entry, const ApiMessage& message) {
  if (thread.stack.size() == kDeepest) {
    AddUnreturned(thread, thread.stack.front());
    thread.stack.erase(thread.stack.begin());
  }
  Entered entered{.function = std::string(message.function), .arguments = {}, .us = entry.us, .sequence = sequence_};
  entered.torn = message.kind == ApiMessage::Kind::kTorn;
  torn_ += entered.torn ? 1 : 0;
  if (FindFunction(message.function).role != Role::kOther) {
    SplitArguments(message.arguments, split_);
    entered.arguments.assign(split_.begin(), split_.end());
  }
  thread.stack.push_back(std::move(entered));
}

// Of one thread the innermost call returns first, so the last one of that name is it, and what was entered after it has
// lost its returns. Among threads that are not told apart the first one entered is as likely as any.
std::vector<AmdLogImporter::Entered>::iterator AmdLogImporter::Match(Thread& thread, std::string_view function) {
  const auto is_it = [function](const Entered& entered) { return entered.function == function; };
  if (thread.bare) {
    return std::find_if(thread.stack.begin(), thread.stack.end(), is_it);
  }
  const auto found = std::find_if(thread.stack.rbegin(), thread.stack.rend(), is_it);
  return found == thread.stack.rend() ? thread.stack.end() : std::prev(found.base());
}

void AmdLogImporter::Leave(Thread& thread, const LogEntry& entry, const ApiMessage& message) {
  const auto found = Match(thread, message.function);
  if (found == thread.stack.end()) {
    ++unentered_;
    Add(thread, {.function = std::string(message.function), .arguments = {}, .us = entry.us}, nullptr, &message);
    return;
  }
  if (thread.bare) {
    const bool sure = thread.stack.size() == 1 && found->sequence + 1 == sequence_;
    ambiguous_ += sure ? 0 : 1;
    // Neither the duration nor what was returned can be given to this call, unless nothing else was going on.
    Add(thread, *found, sure ? &entry : nullptr, sure ? &message : nullptr);
    thread.stack.erase(found);
    return;
  }
  for (auto lost = std::next(found); lost != thread.stack.end(); ++lost) {
    AddUnreturned(thread, *lost);
  }
  Add(thread, *found, &entry, &message);
  thread.stack.erase(found, thread.stack.end());
}

void AmdLogImporter::AddUnreturned(const Thread& thread, const Entered& entered) {
  ++unreturned_;
  Add(thread, entered, nullptr, nullptr);
}

void AmdLogImporter::Add(const Thread& thread, const Entered& entered, const LogEntry* left,
                         const ApiMessage* message) {
  Observed call{.name = entered.function, .start = entered.us * kNsPerUs};
  call.end = call.start;
  call.timed = left != nullptr;
  if (left != nullptr) {
    const int64_t us = message->duration_us.value_or(left->us - entered.us);
    if (us < 0 || left->us < entered.us) {
      ++backwards_;
      call.timed = false;
    } else {
      call.end = call.start + us * kNsPerUs;
    }
  }
  if (message != nullptr) {
    call.code = message->code;
    call.returned = message->value;
  }
  call.pid = thread.pid;
  call.tid = thread.tid;
  split_.assign(entered.arguments.begin(), entered.arguments.end());
  call.arguments = split_;
  // Times were checked when they were read; a duration that is out of range makes the call untimed.
  if (!builder_.Add(call)) {
    ++backwards_;
    call.end = call.start;
    call.timed = false;
    (void)builder_.Add(call);
  }
}

Result<CallRecording> AmdLogImporter::Finish() {
  for (const auto& [id, thread] : threads_) {
    for (const Entered& entered : thread.stack) {
      AddUnreturned(thread, entered);
    }
  }
  if (builder_.added() == 0) {
    return Fail(ErrorCode::kInput,
                "no line of a HIP call; they are printed with AMD_LOG_LEVEL=4 and AMD_LOG_MASK=0x1 in the environment");
  }
  CallRecording recording = builder_.Finish();
  recording.source = "amd-log";
  recording.source_version = bare_ ? "ROCm 6.3 or later" : "";
  recording.clock = "CLOCK_MONOTONIC, in steps of 1 us";
  recording.resolution_ns = kNsPerUs;
  recording.threads_known = !bare_;
  const auto lose = [&](uint64_t count, std::string text) {
    if (count > 0) {
      recording.losses.push_back({count, std::move(text)});
    }
  };
  recording.losses.push_back({0, "durations include printing the line before the call, typically several us"});
  recording.losses.push_back(
      {0, "pointer arguments are not followed: the devices of a set_access are counted, not named"});
  if (bare_) {
    recording.losses.push_back({0,
                                "lines say no thread: calls that overlap cannot be paired with their returns; record "
                                "with AMD_LOG_LEVEL=4 and AMD_LOG_MASK=0x1"});
  }
  if (bare_ && threaded_) {
    recording.losses.push_back({0, "some lines say their thread and some do not; the recording counts as one without"});
  }
  lose(ambiguous_, "returns could be of several calls; those calls have no duration");
  lose(unreturned_, "calls have no return in the log, and no duration");
  lose(unentered_, "returns have no call in the log; those calls have no duration and no arguments");
  lose(torn_, "lines of calls are torn; those calls have no arguments");
  lose(shared_lines_, "lines were shared by several writers and taken apart");
  lose(backwards_, "returns are earlier than their calls, which have no duration");
  return recording;
}

}  // namespace remaplab::calls
