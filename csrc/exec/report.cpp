// The summary and the report at the end of the process.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <map>

#include "exec/process.hpp"
#include "exec/record.hpp"
#include "exec/settings.hpp"
#include "exec/verify.hpp"

namespace ozfp4::exec {
namespace {

constexpr std::size_t most_rows = 40;                    // for people
constexpr char report_begin[] = "{\"ozfp4_exec\": 2, ";  // as src/ozfp4/_cli/commands/exec.py has it

std::string number(std::int64_t x) { return std::to_string(x); }
double seconds(std::int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

// Calls that were caught, and that were left, and what they took.
struct Sum {
  std::int64_t calls[2] = {0, 0}, nanoseconds[2] = {0, 0};
  void add(const Row& row) {
    const int which = is_caught(row.kind.reason) ? 0 : 1;
    calls[which] += row.calls, nanoseconds[which] += row.nanoseconds;
  }
};
using Sums = std::map<std::string, Sum>;

struct Totals {
  Sum all;
  Sums by_routine, by_reason;
  explicit Totals(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      for (Sum* each : {&all, &by_routine[plain_name(row.kind.routine)], &by_reason[text_of(row.kind.reason)]}) each->add(row);
    }
  }
};

std::string shape_of(const Kind& kind) {
  if (kind.m < 0) return "other shapes";
  const std::string stack = kind.batch == 1 ? "" : number(kind.batch) + " of ";
  return stack + number(kind.m) + " x " + number(kind.n) + " x " + number(kind.k);
}

std::string program() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<std::size_t>(length));
}

bool is_utf8(const std::string& text) {
  const auto byte = [&text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  static constexpr unsigned least[] = {0, 0x80, 0x800, 0x10000};
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = byte(i);
    const int more = code < 0x80 ? 0 : code >> 5 == 6 ? 1 : code >> 4 == 14 ? 2 : code >> 3 == 30 ? 3 : -1;
    if (more < 0) return false;
    if (more > 0) code &= 0x3fu >> more;
    for (int k = 0; k < more; ++k) {
      if (byte(++i) >> 6 != 2) return false;
      code = code << 6 | (byte(i) & 0x3f);
    }
    if (code < least[more] || code > 0x10ffff || code >> 11 == 0x1b) return false;  // too long, beyond all, a surrogate
  }
  return true;
}

// Names of files are bytes, JSON is UTF-8: of a name that is none each byte is written as the character of its number.
std::string quoted(const std::string& text) {
  const bool is_text = is_utf8(text);
  std::string found = "\"";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if (byte < 0x20 || (byte >= 0x80 && !is_text)) {
      found += format("\\u%04x", byte);
    } else {
      if (each == '"' || each == '\\') found += '\\';
      found += each;
    }
  }
  return found + '"';
}

std::string json_of(const Sum& of) {
  return "\"caught\": " + number(of.calls[0]) + ", \"left\": " + number(of.calls[1]) +
         format(", \"seconds_caught\": %.9f, \"seconds_left\": %.9f", seconds(of.nanoseconds[0]), seconds(of.nanoseconds[1]));
}

std::string json_of(const Sums& sums) {
  std::string text;
  for (const auto& [name, sum] : sums) text += (text.empty() ? "" : ", ") + quoted(name) + ": {" + json_of(sum) + "}";
  return "{" + text + "}";
}

std::string json_of(const Row& row) {
  const Kind& kind = row.kind;
  const auto extent = [&kind](std::int64_t x) { return kind.m < 0 ? std::string("null") : number(x); };
  return "{\"routine\": " + quoted(name_of(kind.routine)) +
         ", \"dtype\": " + (kind.type == Type::other ? "null" : quoted(name_of(kind.type))) +
         ", \"batch\": " + extent(kind.batch) + ", \"m\": " + extent(kind.m) + ", \"n\": " + extent(kind.n) +
         ", \"k\": " + extent(kind.k) + ", \"caught\": " + (is_caught(kind.reason) ? "true" : "false") +
         ", \"calls\": " + number(row.calls) + format(", \"seconds\": %.9f, \"why\": ", seconds(row.nanoseconds)) +
         quoted(text_of(kind.reason)) + "}";
}

std::string text_of(const Sums& sums) {
  std::string text;
  for (const auto& [name, sum] : sums) {
    text += (text.empty() ? "" : "; ") + name + ": " + number(sum.calls[0]) + " caught, " + number(sum.calls[1]) + " left";
  }
  return text + "\n";
}

std::string table_of(const std::vector<Row>& rows) {
  std::string text = format("%-37s  %-10s  %-21s  %9s  %12s  why\n", "        routine", "dtype", "m x n x k", "calls", "ms");
  const std::size_t shown = std::min(rows.size(), most_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const Kind& kind = rows[i].kind;
    text += format("%-6s  %-29s  %-10s  %-21s  %9lld  %12.3f  %s\n", is_caught(kind.reason) ? "caught" : "left",
                   name_of(kind.routine), name_of(kind.type), shape_of(kind).c_str(), static_cast<long long>(rows[i].calls),
                   1e3 * seconds(rows[i].nanoseconds), text_of(kind.reason));
  }
  return shown < rows.size() ? text + format("and %zu other kinds\n", rows.size() - shown) : text;
}

// For people: what was caught and left, in all, by routine, by reason, and by routine and shape, the longest first.
std::string summary_text(const std::vector<Row>& rows) {
  const Totals sums(rows);
  std::string text = "ozfp4 exec: " + program() + " (process " + number(getpid()) + "): ";
  if (rows.empty()) {
    return text +
           "no product reached a routine that ozfp4 stands before; its BLAS may be linked statically, or bound within a "
           "library (docs/guide/existing-programs.md)\n";
  }
  text += "caught " + number(sums.all.calls[0]) + format(" products in %.3f s, left ", seconds(sums.all.nanoseconds[0])) +
          number(sums.all.calls[1]) + format(" in %.3f s\n", seconds(sums.all.nanoseconds[1]));
  if (settings().verify > 0) {
    const Verified found = verified();
    text += "verified " + number(found.entries()) + " entries of " + number(found.products) +
            " products: " + number(found.correct) + " correctly rounded, " + number(found.within_bound) + " within the bound, " +
            number(found.wrong) + " wrong, " + number(found.not_finite) + " not finite\n";
  }
  return text + text_of(sums.by_routine) + text_of(sums.by_reason) + table_of(rows);
}

// One object of JSON in one line.
std::string report_line(const std::vector<Row>& rows) {
  static const char* const accuracies[] = {"", "scaled", "standard", "correct"};
  const Settings& asked = settings();
  const Totals sums(rows);
  const Verified found = verified();
  std::string dtypes, calls;
  for (std::size_t type = 0; type < asked.types.size(); ++type) {
    if (asked.types[type]) dtypes += (dtypes.empty() ? "" : ", ") + quoted(name_of(static_cast<Type>(type)));
  }
  for (const Row& row : rows) calls += (calls.empty() ? "" : ", ") + json_of(row);
  return report_begin + ("\"program\": " + quoted(program())) + ", \"process\": " + number(getpid()) +
         ", \"mode\": " + (asked.always ? "\"always\"" : "\"fastest\"") + ", \"min_size\": " + number(asked.min_size) +
         ", \"accuracy\": " + quoted(accuracies[asked.accuracy]) + ", \"dtypes\": [" + dtypes +
         "], \"verified\": {\"products\": " + number(found.products) + ", \"entries\": " + number(found.entries()) +
         ", \"correct\": " + number(found.correct) + ", \"within_bound\": " + number(found.within_bound) +
         ", \"wrong\": " + number(found.wrong) + ", \"not_finite\": " + number(found.not_finite) + "}, " + json_of(sums.all) +
         ", \"by_routine\": " + json_of(sums.by_routine) + ", \"by_reason\": " + json_of(sums.by_reason) + ", \"rows\": [" +
         calls + "]}\n";
}

// Adds the line to a file of such lines, at its end and at once. False where it cannot be written, or the file holds something
// else.
bool add_to_report(const std::string& file, const std::string& line) {
  const NoSignals own;
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  const std::string begin = report_begin;
  std::string found(begin.size(), 0);
  const off_t length = lseek(fd, 0, SEEK_END);
  const ssize_t held = pread(fd, found.data(), found.size(), 0);
  const bool is_ours = length == 0 || (held == static_cast<ssize_t>(found.size()) && found == begin);
  const ssize_t written = is_ours ? write(fd, line.data(), line.size()) : -1;
  const bool is_whole = written == static_cast<ssize_t>(line.size());
  // Where there was no room for all of it.
  const bool is_left = is_whole || written < 0 || ftruncate(fd, length) == 0;
  return close(fd) == 0 && is_whole && is_left;
}

// After the program's own last actions. A process that never called a routine reports nothing, except the one that the user
// named.
__attribute__((destructor)) void end() {
  const Settings& asked = settings();
  if (!asked.summary && asked.report.empty() && asked.verify == 0) return;
  const std::vector<Row> rows = counted();
  if (rows.empty() && getpid() != asked.root) return;
  if (!asked.report.empty() && !add_to_report(asked.report, report_line(rows))) {
    say("the report cannot be written to " + asked.report);
  }
  if (asked.summary || asked.verify != 0) write_on_stderr(summary_text(rows));
}

}  // namespace
}  // namespace ozfp4::exec
