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

// Lines of a text, one after the other.
class Lines {
 public:
  explicit Lines(const std::string& text) : text_(text) {}

  // The value of the next line, if that is its name.
  bool take(const char* name, std::string& value) {
    const std::string head = std::string(name) + ": ";
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string::npos || text_.compare(at_, head.size(), head) != 0) return false;
    value = text_.substr(at_ + head.size(), end - at_ - head.size());
    at_ = end + 1;
    return true;
  }
  bool is_end() const { return at_ == text_.size(); }

 private:
  const std::string text_;
  std::size_t at_ = 0;
};

std::optional<Verdict> parse(const std::string& text) {
  Lines lines(text);
  Verdict verdict;
  std::string passed, form, cases, seconds;
  if (!lines.take("passed", passed) || !lines.take("form", form) || !lines.take("cases", cases) ||
      !lines.take("microseconds", seconds)) {
    return std::nullopt;
  }
  verdict.is_passed = passed == "yes";
  verdict.is_short = form == "short";
  if ((!verdict.is_passed && passed != "no") || (!verdict.is_short && form != "long")) return std::nullopt;
  char* end = nullptr;
  const long count = std::strtol(cases.c_str(), &end, 10);
  if (cases.empty() || *end != '\0' || count < 0 || count > 1000000) return std::nullopt;
  const long microseconds = std::strtol(seconds.c_str(), &end, 10);  // whole ones: a point is a comma in some locales
  if (seconds.empty() || *end != '\0' || microseconds < 0) return std::nullopt;
  verdict.cases = static_cast<int>(count);
  verdict.seconds = 1e-6 * static_cast<double>(microseconds);
  if (!verdict.is_passed && (!lines.take("reason", verdict.reason) || verdict.reason.empty())) return std::nullopt;
  return lines.is_end() ? std::optional<Verdict>(verdict) : std::nullopt;
}

}  // namespace

std::optional<Verdict> load_verdict(const Facts& key) {
  if (environment().cache_folder.empty()) return std::nullopt;
  const std::string head = text_of(key), text = contents(file_of(head));
  // The key again: a file that was copied here, or that two keys share, says nothing about this one.
  if (text.compare(0, head.size(), head) != 0) return std::nullopt;
  return parse(text.substr(head.size()));
}

void store_verdict(const Facts& key, const Verdict& verdict) {
  if (environment().cache_folder.empty() || !verdict.is_lasting) return;
  static std::atomic<unsigned> count{0};
  std::string text = text_of(key);
  const std::string file = file_of(text);
  text += line_of("passed", verdict.is_passed ? "yes" : "no") + line_of("form", verdict.is_short ? "short" : "long") +
          line_of("cases", std::to_string(verdict.cases)) +
          line_of("microseconds", std::to_string(static_cast<long>(1e6 * verdict.seconds)));
  if (!verdict.is_passed) text += line_of("reason", verdict.reason);
  make_folders(environment().cache_folder);
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::string beside = file + "-" + std::to_string(getpid()) + "-" + std::to_string(now) + "-" + std::to_string(count++);
  const int opened = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (opened < 0) return;
  const bool is_written = write(opened, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(opened) != 0 || !is_written || std::rename(beside.c_str(), file.c_str()) != 0) unlink(beside.c_str());
}

}  // namespace ozfp4::product
