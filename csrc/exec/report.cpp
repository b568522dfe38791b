#include "exec/report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <map>

#include "exec/no_signals.hpp"
#include "exec/settings.hpp"
#include "exec/verify.hpp"
#include "ozfp4.h"

namespace ozfp4::exec {
namespace {

constexpr std::size_t most_rows = 40;                     // for people
constexpr std::size_t most_path = 300;                    // of format's 512 bytes; above NAME_MAX
const char* const report_begin = "{\"ozfp4_exec\": 2, ";  // as src/ozfp4/cli/commands/exec.py has it

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string number(std::int64_t x) { return std::to_string(x); }
double seconds(std::int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

struct Sum {
  std::int64_t calls = 0, nanoseconds = 0;
  void add(const Row& row) { calls += row.calls, nanoseconds += row.nanoseconds; }
};

// Sums of caught calls, of calls that were left, and of both by name.
struct Totals {
  Sum caught, left;
  std::map<std::string, std::pair<Sum, Sum>> by_routine, by_reason;
};

Totals totals_of(const std::vector<Row>& rows) {
  Totals found;
  for (const Row& row : rows) {
    const bool is_own = is_caught(row.kind.reason);
    (is_own ? found.caught : found.left).add(row);
    for (auto* sums : {&found.by_routine[plain_name(row.kind.routine)], &found.by_reason[text_of(row.kind.reason)]}) {
      (is_own ? sums->first : sums->second).add(row);
    }
  }
  return found;
}

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

// The path, or its last folders where it is too long for a line.
std::string shortened(const std::string& path) {
  return path.size() <= most_path ? path : "..." + path.substr(path.find('/', path.size() - most_path));
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

const char* accuracy_name(int accuracy) {
  return accuracy == OZFP4_ACCURACY_SCALED ? "scaled" : accuracy == OZFP4_ACCURACY_CORRECT ? "correct" : "standard";
}

std::string json_of(const Sum& caught, const Sum& left) {
  return "\"caught\": " + number(caught.calls) + ", \"left\": " + number(left.calls) +
         format(", \"seconds_caught\": %.9f, \"seconds_left\": %.9f", seconds(caught.nanoseconds), seconds(left.nanoseconds));
}

std::string json_of(const std::map<std::string, std::pair<Sum, Sum>>& sums) {
  std::string text;
  for (const auto& [name, both] : sums) {
    text += (text.empty() ? "" : ", ") + quoted(name) + ": {" + json_of(both.first, both.second) + "}";
  }
  return "{" + text + "}";
}

std::string text_of(const std::map<std::string, std::pair<Sum, Sum>>& sums) {
  std::string text;
  for (const auto& [name, both] : sums) {
    text += text.empty() ? "" : "; ";
    text += name + ": " + number(both.first.calls) + " caught, " + number(both.second.calls) + " left";
  }
  return text + "\n";
}

std::string table_of(const std::vector<Row>& rows) {
  std::size_t name_width = 7, shape_width = 9;
  const std::size_t shown = std::min(rows.size(), most_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    name_width = std::max(name_width, std::string(name_of(rows[i].kind.routine)).size());
    shape_width = std::max(shape_width, shape_of(rows[i].kind).size());
  }
  const int names = static_cast<int>(name_width), shapes = static_cast<int>(shape_width);
  std::string text =
      format("        %-*s  %-10s  %-*s  %9s  %12s  why\n", names, "routine", "dtype", shapes, "m x n x k", "calls", "ms");
  for (std::size_t i = 0; i < shown; ++i) {
    const Kind& kind = rows[i].kind;
    text += format("%-6s  %-*s  %-10s  %-*s  %9lld  %12.3f  %s\n", is_caught(kind.reason) ? "caught" : "left", names,
                   name_of(kind.routine), name_of(kind.type), shapes, shape_of(kind).c_str(),
                   static_cast<long long>(rows[i].calls), 1e3 * seconds(rows[i].nanoseconds), text_of(kind.reason));
  }
  if (shown < rows.size()) text += format("and %zu other kinds\n", rows.size() - shown);
  return text;
}

}  // namespace

std::string summary_text(const std::vector<Row>& rows) {
  const Totals sums = totals_of(rows);
  std::string text = format("ozfp4 exec: %s (process %d): ", shortened(program()).c_str(), static_cast<int>(getpid()));
  if (rows.empty()) {
    return text +
           "no product reached a routine that ozfp4 stands before; its BLAS may be linked statically, or bound within a "
           "library (docs/how-to/unchanged-programs.md)\n";
  }
  text += format("caught %lld products in %.3f s, left %lld in %.3f s\n", static_cast<long long>(sums.caught.calls),
                 seconds(sums.caught.nanoseconds), static_cast<long long>(sums.left.calls), seconds(sums.left.nanoseconds));
  if (settings().verify > 0) {
    const Verified of = verified();
    text += "verified " + number(of.entries) + " entries of " + number(of.products) + " products: " + number(of.correct) +
            " correctly rounded, " + number(of.within_bound) + " within the bound, " + number(of.wrong) + " wrong, " +
            number(of.not_finite) + " not finite\n";
  }
  return text + text_of(sums.by_routine) + text_of(sums.by_reason) + table_of(rows);
}

std::string report_line(const std::vector<Row>& rows) {
  const Settings& asked = settings();
  const Totals sums = totals_of(rows);
  std::string dtypes;
  for (int type = 0; type < type_count; ++type) {
    if (asked.types[type]) dtypes += (dtypes.empty() ? "" : ", ") + quoted(name_of(static_cast<Type>(type)));
  }
  std::string text = report_begin + ("\"program\": " + quoted(program()));
  text += format(", \"process\": %d, \"mode\": \"%s\", \"min_size\": %.0f, \"accuracy\": \"%s\"", static_cast<int>(getpid()),
                 asked.always ? "always" : "fastest", asked.min_size, accuracy_name(asked.accuracy));
  const Verified of = verified();
  text += ", \"dtypes\": [" + dtypes + "], \"verified\": {\"products\": " + number(of.products) +
          ", \"entries\": " + number(of.entries) + ", \"correct\": " + number(of.correct) +
          ", \"within_bound\": " + number(of.within_bound) + ", \"wrong\": " + number(of.wrong) +
          ", \"not_finite\": " + number(of.not_finite) + "}, " + json_of(sums.caught, sums.left) +
          ", \"by_routine\": " + json_of(sums.by_routine) + ", \"by_reason\": " + json_of(sums.by_reason) + ", \"rows\": [";
  for (const Row& row : rows) {
    const Kind& kind = row.kind;
    const auto extent = [&kind](std::int64_t x) { return kind.m < 0 ? std::string("null") : number(x); };
    text += format("%s{\"routine\": \"%s\", \"dtype\": ", &row == &rows.front() ? "" : ", ", name_of(kind.routine));
    text += (kind.type == Type::other ? "null" : quoted(name_of(kind.type))) + ", \"batch\": " + extent(kind.batch) +
            ", \"m\": " + extent(kind.m) + ", \"n\": " + extent(kind.n) + ", \"k\": " + extent(kind.k);
    text += format(", \"caught\": %s, \"calls\": %lld, \"seconds\": %.9f, \"why\": ", is_caught(kind.reason) ? "true" : "false",
                   static_cast<long long>(row.calls), seconds(row.nanoseconds));
    text += quoted(text_of(kind.reason)) + "}";
  }
  return text + "]}\n";
}

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

}  // namespace ozfp4::exec
