#include "replay/cli/capture_report.h"

#include <fmt/format.h>

#include <cstdio>

namespace remaplab::cli {

void PrintReport(const std::string& output, const ImportReport& report) {
  fmt::print(stderr, "{}: {} step{} of {} program{}\n", output, report.steps, report.steps == 1 ? "" : "s",
             report.programs.size(), report.programs.size() == 1 ? "" : "s");
  for (const ImportReport::Program& program : report.programs) {
    fmt::print(stderr, "  {:>4}  {} on device {}: {} slots, {} steps{}\n", program.id, program.module, program.device,
               program.slots, program.steps, program.assigned ? "" : ", kinds unknown");
  }
  if (report.identity == TraceIdentity::kAddress) {
    fmt::print(stderr,
               "  identity: address (this log does not prove that memory which came back at an address was the same "
               "memory)\n");
  }
  for (const std::string& note : report.notes) {
    fmt::print(stderr, "  note: {}\n", note);
  }
}

}  // namespace remaplab::cli
