#include "interpose/process/summary.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "interpose/process/no_signals.hpp"
#include "interpose/process/settings.hpp"
#include "interpose/verify/verify.hpp"
#include "ozfp4.h"

namespace ozfp4::interpose {
namespace {

constexpr std::size_t most_rows = 40;   // for people
constexpr std::size_t most_path = 300;  // of format's 512 bytes; above NAME_MAX

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

struct Sum {
  std::int64_t calls = 0, nanoseconds = 0;
};

Sum sum_of(const std::vector<Row>& rows, bool caught) {
  Sum sum;
  for (const Row& row : rows) {
    if (is_caught(row.kind.reason) != caught) continue;
    sum.calls += row.calls;
    sum.nanoseconds += row.nanoseconds;
  }
  return sum;
}

std::string shape_of(const Kind& kind) {
  if (kind.m < 0) return "other shapes";
  const std::string stack = kind.batch == 1 ? "" : format("%lld of ", static_cast<long long>(kind.batch));
  return stack + format("%lld x %lld x %lld", static_cast<long long>(kind.m), static_cast<long long>(kind.n),
                        static_cast<long long>(kind.k));
}

std::string program() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length < 0 ? "" : std::string(path, static_cast<std::size_t>(length));
}

// Of a path that is too long for a line its last folders.
std::string shortened(const std::string& path) {
  return path.size() <= most_path ? path : "..." + path.substr(path.find('/', path.size() - most_path));
}

// Bytes of the character that begins here in well-formed UTF-8; 0 where none does.
std::size_t character_at(const std::string& text, std::size_t from) {
  const auto byte = [&](std::size_t i) { return from + i < text.size() ? static_cast<unsigned char>(text[from + i]) : 0u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  // Longer than need be, surrogates, and what is beyond U+10FFFF.
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 0;
  }
  return length;
}

// Names of files are bytes, JSON is UTF-8: what is none becomes U+FFFD, byte by byte.
std::string quoted(const std::string& text) {
  std::string found = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t length = character_at(text, i);
    const char each = text[i];
    if (length == 0) {
      found += "\\ufffd";
    } else if (length > 1) {
      found += text.substr(i, length);
      i += length - 1;
    } else if (static_cast<unsigned char>(each) < 0x20) {
      found += format("\\u%04x", each);
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

}  // namespace

std::string summary_text(const std::vector<Row>& rows) {
  const Sum caught = sum_of(rows, true), left = sum_of(rows, false);
  std::string text =
      format("ozfp4 exec: %s (process %d): caught %lld products in %.3f s, left %lld in %.3f s\n", shortened(program()).c_str(),
             static_cast<int>(getpid()), static_cast<long long>(caught.calls), 1e-9 * static_cast<double>(caught.nanoseconds),
             static_cast<long long>(left.calls), 1e-9 * static_cast<double>(left.nanoseconds));
  if (settings().verify > 0) {
    const Verified of = verified();
    text += format(
        "verified %lld entries of %lld products: %lld correctly rounded, %lld within the bound, %lld wrong, %lld not finite\n",
        static_cast<long long>(of.entries), static_cast<long long>(of.products), static_cast<long long>(of.correct),
        static_cast<long long>(of.within_bound), static_cast<long long>(of.wrong), static_cast<long long>(of.not_finite));
  }
  if (rows.empty()) return text;
  std::size_t name_width = 7, shape_width = 9;
  const std::size_t shown = std::min(rows.size(), most_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    name_width = std::max(name_width, std::string(name_of(rows[i].kind.routine)).size());
    shape_width = std::max(shape_width, shape_of(rows[i].kind).size());
  }
  text += format("        %-*s  %-10s  %-*s  %9s  %12s  why\n", static_cast<int>(name_width), "routine", "dtype",
                 static_cast<int>(shape_width), "m x n x k", "calls", "ms");
  for (std::size_t i = 0; i < shown; ++i) {
    const Kind& kind = rows[i].kind;
    text += format("%-6s  %-*s  %-10s  %-*s  %9lld  %12.3f  %s\n", is_caught(kind.reason) ? "caught" : "left",
                   static_cast<int>(name_width), name_of(kind.routine), name_of(kind.type), static_cast<int>(shape_width),
                   shape_of(kind).c_str(), static_cast<long long>(rows[i].calls), 1e-6 * static_cast<double>(rows[i].nanoseconds),
                   text_of(kind.reason));
  }
  if (shown < rows.size()) text += format("and %zu other kinds\n", rows.size() - shown);
  return text;
}

std::string summary_json(const std::vector<Row>& rows) {
  const Settings& asked = settings();
  const Sum caught = sum_of(rows, true), left = sum_of(rows, false);
  std::string dtypes;
  for (int type = 0; type < type_count; ++type) {
    if (asked.types[type]) dtypes += (dtypes.empty() ? "" : ", ") + quoted(name_of(static_cast<Type>(type)));
  }
  std::string text = "{\"program\": " + quoted(program());
  text += format(", \"process\": %d, \"mode\": \"%s\", \"min_size\": %.0f, \"accuracy\": \"%s\", \"dtypes\": [%s]",
                 static_cast<int>(getpid()), asked.always ? "always" : "fastest", asked.min_size, accuracy_name(asked.accuracy),
                 dtypes.c_str());
  const Verified of = verified();
  text += format(", \"verified\": {\"products\": %lld, \"entries\": %lld, \"correct\": %lld, \"within_bound\": %lld, ",
                 static_cast<long long>(of.products), static_cast<long long>(of.entries), static_cast<long long>(of.correct),
                 static_cast<long long>(of.within_bound));
  text +=
      format("\"wrong\": %lld, \"not_finite\": %lld}", static_cast<long long>(of.wrong), static_cast<long long>(of.not_finite));
  text += format(", \"caught\": %lld, \"left\": %lld, \"seconds_caught\": %.9f, \"seconds_left\": %.9f, \"rows\": [",
                 static_cast<long long>(caught.calls), static_cast<long long>(left.calls),
                 1e-9 * static_cast<double>(caught.nanoseconds), 1e-9 * static_cast<double>(left.nanoseconds));
  for (const Row& row : rows) {
    const Kind& kind = row.kind;
    if (&row != &rows.front()) text += ", ";
    const std::string dtype = kind.type == Type::other ? "null" : quoted(name_of(kind.type));
    text += format("{\"routine\": \"%s\", \"dtype\": %s, ", name_of(kind.routine), dtype.c_str());
    text += kind.m < 0 ? std::string("\"batch\": null, \"m\": null, \"n\": null, \"k\": null")
                       : format("\"batch\": %lld, \"m\": %lld, \"n\": %lld, \"k\": %lld", static_cast<long long>(kind.batch),
                                static_cast<long long>(kind.m), static_cast<long long>(kind.n), static_cast<long long>(kind.k));
    text += format(", \"caught\": %s, \"calls\": %lld, \"seconds\": %.9f, \"why\": ", is_caught(kind.reason) ? "true" : "false",
                   static_cast<long long>(row.calls), 1e-9 * static_cast<double>(row.nanoseconds));
    text += quoted(text_of(kind.reason)) + "}";
  }
  return text + "]}";
}

namespace {

// Without a destructor, which would run before the report is written.
constexpr std::string_view report_begin = "{\"version\": 1, \"processes\": [\n", report_end = "\n]}\n";

bool holds(int fd, off_t from, std::string_view text) {
  std::string found(text.size(), 0);
  return from >= 0 && pread(fd, found.data(), found.size(), from) == static_cast<ssize_t>(found.size()) && found == text;
}

// A report of this length with that end, behind which there was no room.
void restore(int fd, off_t length, std::string_view end) {
  const off_t from = length - static_cast<off_t>(end.size());
  if (ftruncate(fd, length) != 0 || pwrite(fd, end.data(), end.size(), from) < 0) return;  // no more can be done
}

}  // namespace

bool add_to_report(const std::string& file, const std::string& object) {
  const NoSignals own;
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  bool is_written = false;
  if (flock(fd, LOCK_EX) == 0) {
    const off_t length = lseek(fd, 0, SEEK_END);
    const bool is_first = length == 0;
    const std::string text = std::string(is_first ? report_begin : ",\n") + object + std::string(report_end);
    const off_t from = is_first ? 0 : length - static_cast<off_t>(report_end.size());
    const bool is_ours = is_first || (holds(fd, 0, report_begin) && holds(fd, from, report_end));
    is_written = is_ours && pwrite(fd, text.data(), text.size(), from) == static_cast<ssize_t>(text.size());
    if (is_ours && !is_written) restore(fd, length, is_first ? std::string_view() : report_end);
  }
  close(fd);
  return is_written;
}

}  // namespace ozfp4::interpose
