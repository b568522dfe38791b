// What runs when the library is loaded and when the process ends.
#include <unistd.h>

#include "exec/line.hpp"
#include "exec/record.hpp"
#include "exec/report.hpp"
#include "exec/settings.hpp"

namespace ozfp4::exec {
namespace {

__attribute__((constructor)) void begin() { settings(); }

// After the program's own last actions. A process that never called a routine says nothing, but the one that was asked for.
__attribute__((destructor)) void end() {
  const Settings& asked = settings();
  if (!asked.summary && asked.report.empty() && asked.verify == 0) return;
  const std::vector<Row> rows = counted();
  if (rows.empty() && getpid() != asked.root) return;
  if (!asked.report.empty() && !add_to_report(asked.report, report_line(rows))) {
    say("the report cannot be written to " + asked.report);
  }
  if (!asked.summary && asked.verify == 0) return;
  write_on_stderr(summary_text(rows));
}

}  // namespace
}  // namespace ozfp4::exec
