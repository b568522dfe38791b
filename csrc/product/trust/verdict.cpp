#include "product/trust/verdict.hpp"

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

constexpr const char* kHead = "ozfp4 verdict 2\n";

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

// The fields of a verdict in the order of its text; those of a failure only where it failed.
template <class Own, class Visitor>
void visit_fields(Own& verdict, Visitor& visitor) {
  visitor.visit("passed", verdict.is_passed);
  visitor.visit("short", verdict.is_short);
  visitor.visit("cases", verdict.cases);
  visitor.visit("microseconds", verdict.microseconds);
  if (verdict.is_passed) return;
  visitor.visit("reason", verdict.reason);
  visitor.visit("lasting", verdict.is_lasting);
  auto& own = verdict.failure;
  visitor.visit("case", own.name);
  visitor.visit("m", own.m);
  visitor.visit("n", own.n);
  visitor.visit("k", own.k);
  visitor.visit("plan", own.plan);
  visitor.visit("modulus", own.modulus);
  visitor.visit("row", own.row, -1);
  visitor.visit("column", own.column, -1);
  visitor.visit("found", own.found);
  visitor.visit("expected", own.expected);
  visitor.visit("text", own.text);
}

struct Writer {
  std::string text;

  void visit(const char* name, const std::string& value) { text += line_of(name, value); }
  void visit(const char* name, std::int64_t value, std::int64_t /*least*/ = 0) { visit(name, std::to_string(value)); }
  void visit(const char* name, bool value) { visit(name, std::string(value ? "yes" : "no")); }
};

// Once a line is not the one that is due, none is read.
struct Reader {
  const std::string& text;
  std::size_t at = 0;
  bool is_right = true;

  void visit(const char* name, std::string& value) {
    const std::string head = std::string(name) + ": ";
    const std::size_t end = text.find('\n', at);
    is_right = is_right && end != std::string::npos && text.compare(at, head.size(), head) == 0;
    if (!is_right) return;
    value = text.substr(at + head.size(), end - at - head.size());
    at = end + 1;
  }
  // Whole ones: a point is a comma in some locales.
  void visit(const char* name, std::int64_t& value, std::int64_t least = 0) {
    std::string word;
    visit(name, word);
    char* end = nullptr;
    value = std::strtoll(word.c_str(), &end, 10);
    is_right = is_right && !word.empty() && *end == '\0' && value >= least;
  }
  void visit(const char* name, bool& value) {
    std::string word;
    visit(name, word);
    value = word == "yes";
    is_right = is_right && (value || word == "no");
  }
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
  Writer writer;
  visit_fields(verdict, writer);
  return writer.text;
}

std::optional<Verdict> verdict_of_text(const std::string& text) {
  Verdict verdict;
  Reader reader{text};
  visit_fields(verdict, reader);
  const bool is_whole = reader.is_right && reader.at == text.size() && verdict.is_passed == verdict.reason.empty();
  return is_whole ? std::optional<Verdict>(verdict) : std::nullopt;
}

}  // namespace ozfp4::product
