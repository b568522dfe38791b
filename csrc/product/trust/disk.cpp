#include "product/trust/disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cpu/environment.hpp"

namespace ozfp4::product {
namespace {

constexpr const char* kHead = "ozfp4 verdict 1\n";

// "name: value", a line each.
std::string line_of(const std::string& name, const std::string& value) {
  std::string line = name + ": " + value;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return line + "\n";
}

std::string text_of(const Facts& key) {
  std::string text = kHead;
  for (const auto& [name, value] : key) text += line_of(name, value);
  return text;
}

std::string file_of(const std::string& key) {
  std::uint64_t low = 0xcbf29ce484222325u, high = 0x9ae16a3b2f90404fu;  // FNV-1a, and the same from elsewhere
  for (const char c : key) {
    low = (low ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    high = (high ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  std::array<char, 48> name;
  std::snprintf(name.data(), name.size(), "/%016llx%016llx.verdict", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return environment().cache_folder + name.data();
}

std::string contents(const std::string& file) {
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return "";
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = read(opened, piece.data(), piece.size());
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  close(opened);
  return text;
}

void make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    mkdir(path.substr(0, end).c_str(), 0777);
  }
  mkdir(path.c_str(), 0777);
}

const char* word_of(bool is_so) { return is_so ? "yes" : "no"; }

// Lines of a text, one after the other. Once one is not what was asked for, nothing is.
class Lines {
 public:
  explicit Lines(const std::string& text) : text_(text) {}

  std::string take(const char* name) {
    const std::string head = std::string(name) + ": ";
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string::npos || text_.compare(at_, head.size(), head) != 0) {
      is_right_ = false;
      return "";
    }
    const std::string value = text_.substr(at_ + head.size(), end - at_ - head.size());
    at_ = end + 1;
    return value;
  }
  // Whole ones: a point is a comma in some locales.
  std::int64_t take_number(const char* name, std::int64_t least, std::int64_t most) {
    const std::string value = take(name);
    char* end = nullptr;
    const long long number = std::strtoll(value.c_str(), &end, 10);
    if (value.empty() || *end != '\0' || number < least || number > most) is_right_ = false;
    return number;
  }
  bool take_choice(const char* name, const char* right, const char* other) {
    const std::string value = take(name);
    if (value != right && value != other) is_right_ = false;
    return value == right;
  }
  std::string take_text(const char* name) {
    std::string value = take(name);
    if (value.empty()) is_right_ = false;
    return value;
  }
  bool are_taken() const { return is_right_ && at_ == text_.size(); }

 private:
  const std::string text_;
  std::size_t at_ = 0;
  bool is_right_ = true;
};

}  // namespace

std::optional<Verdict> load_verdict(const Facts& key) {
  if (environment().cache_folder.empty()) return std::nullopt;
  const std::string head = text_of(key), text = contents(file_of(head));
  // The key again: a file that was copied here, or that two keys share, says nothing about this one.
  if (text.compare(0, head.size(), head) != 0) return std::nullopt;
  return verdict_of_text(text.substr(head.size()));
}

void store_verdict(const Facts& key, const Verdict& verdict) {
  if (environment().cache_folder.empty() || !verdict.is_lasting) return;
  static std::atomic<unsigned> count{0};
  std::string text = text_of(key);
  const std::string file = file_of(text);
  text += text_of(verdict);
  make_folders(environment().cache_folder);
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string beside = file + "-" + std::to_string(getpid()) + "-" + std::to_string(now) + "-" + std::to_string(count++);
  const int opened = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (opened < 0) return;
  const bool is_written = write(opened, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(opened) != 0 || !is_written || std::rename(beside.c_str(), file.c_str()) != 0) unlink(beside.c_str());
}

std::string text_of(const Verdict& verdict) {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) { text += line_of(name, value); };
  const auto add_number = [&](const char* name, std::int64_t value) { add(name, std::to_string(value)); };
  add("passed", word_of(verdict.is_passed));
  add("form", verdict.is_short ? "short" : "long");
  add_number("cases", verdict.cases);
  add_number("microseconds", static_cast<std::int64_t>(1e6 * verdict.seconds));
  if (verdict.is_passed) return text;
  add("reason", verdict.reason);
  add("lasting", word_of(verdict.is_lasting));
  const Failure& own = verdict.failure;
  add("case", own.name);
  add_number("m", own.m);
  add_number("n", own.n);
  add_number("k", own.k);
  add("plan", own.plan);
  add_number("modulus", own.modulus);
  add_number("row", own.row);
  add_number("column", own.column);
  add("found", own.found);
  add("expected", own.expected);
  add("text", own.text);
  return text;
}

std::optional<Verdict> verdict_of_text(const std::string& text) {
  constexpr std::int64_t most = INT64_MAX;
  Lines lines(text);
  Verdict verdict;
  verdict.is_passed = lines.take_choice("passed", "yes", "no");
  verdict.is_short = lines.take_choice("form", "short", "long");
  verdict.cases = static_cast<int>(lines.take_number("cases", 0, 1000000));
  verdict.seconds = 1e-6 * static_cast<double>(lines.take_number("microseconds", 0, most));
  if (!verdict.is_passed) {
    verdict.reason = lines.take_text("reason");
    verdict.is_lasting = lines.take_choice("lasting", "yes", "no");
    Failure& own = verdict.failure;
    own.name = lines.take("case");
    own.m = lines.take_number("m", 0, most);
    own.n = lines.take_number("n", 0, most);
    own.k = lines.take_number("k", 0, most);
    own.plan = lines.take("plan");
    own.modulus = lines.take_number("modulus", 0, most);
    own.row = lines.take_number("row", -1, most);
    own.column = lines.take_number("column", -1, most);
    own.found = lines.take("found");
    own.expected = lines.take("expected");
    own.text = lines.take("text");
  }
  return lines.are_taken() ? std::optional<Verdict>(verdict) : std::nullopt;
}

}  // namespace ozfp4::product
