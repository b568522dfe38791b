#include "product/trust/verdict.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "cpu/runtime/environment.hpp"

namespace ozfp4::product {
namespace {

constexpr const char* kHead = "ozfp4 verdict 3\n";

// "name: value", a line each.
std::string text_of(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    std::string line = name + ": " + value;
    std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    text += line + "\n";
  }
  return text;
}

std::string file_of(const std::string& key) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a; the file itself begins with the key
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return environment().cache_folder + "/" + std::to_string(hash) + ".verdict";
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

}  // namespace

std::optional<Verdict> load_verdict(const Facts& key) {
  if (environment().cache_folder.empty()) return std::nullopt;
  const std::string head = kHead + text_of(key), text = contents(file_of(head));
  // The key again: a file that was copied here, or that two keys share, says nothing about this one.
  if (text.compare(0, head.size(), head) != 0) return std::nullopt;
  return verdict_of_text(text.substr(head.size()));
}

void store_verdict(const Facts& key, const Verdict& verdict) {
  if (environment().cache_folder.empty() || !verdict.is_lasting) return;
  static std::atomic<unsigned> count{0};
  std::string text = kHead + text_of(key);
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
  const auto word = [](bool is) { return is ? "yes" : "no"; };
  return text_of(Facts{{"passed", word(verdict.is_passed)},
                       {"short", word(verdict.is_short)},
                       {"cases", std::to_string(verdict.cases)},
                       {"microseconds", std::to_string(verdict.microseconds)},
                       {"lasting", word(verdict.is_lasting)},
                       {"reason", verdict.reason}});
}

std::optional<Verdict> verdict_of_text(const std::string& text) {
  std::vector<std::string> values;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::size_t colon = std::min(text.find(": ", at), end);
    values.push_back(text.substr(colon, end - colon).erase(0, 2));
  }
  if (values.size() != 6) return std::nullopt;
  const auto number = [&](int i) -> std::int64_t { return std::strtoll(values[i].c_str(), nullptr, 10); };
  const Verdict found{values[0] == "yes", values[1] == "yes", number(2), number(3), values[4] == "yes", values[5]};
  const bool is_right = found.is_passed == found.reason.empty() && found.cases >= 0 && found.microseconds >= 0;
  return is_right && text_of(found) == text ? std::make_optional(found) : std::nullopt;
}

}  // namespace ozfp4::product
