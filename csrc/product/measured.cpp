#include "product/measured.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <utility>

#include "cpu/runtime/environment.hpp"

namespace ozfp4 {
namespace {

// Each call is a line of the file without its end, cut at the first two separators.
template <class Use>
void for_lines(const std::string& file, char separator, const Use& use) {
  std::FILE* opened = file.empty() ? nullptr : std::fopen(file.c_str(), "r");
  if (opened == nullptr) return;
  char text[512];
  while (std::fgets(text, sizeof text, opened) != nullptr) {
    std::string line = text;
    if (line.empty() || line.back() != '\n') {  // too long for a figure, or cut short
      int next = 0;
      while (next != '\n' && next != EOF) next = std::fgetc(opened);
      continue;
    }
    line.pop_back();
    const std::size_t first = line.find(separator), second = first == std::string::npos ? first : line.find(separator, first + 1);
    const auto part = [&](std::size_t from, std::size_t to) { return from <= line.size() ? line.substr(from, to - from) : ""; };
    const std::string behind = first == std::string::npos ? "" : part(first + 1, std::min(second, line.size()));
    if (!use(part(0, std::min(first, line.size())), behind, second == std::string::npos ? "" : part(second + 1, line.size()))) {
      break;
    }
  }
  std::fclose(opened);
}

// 0 where the text is no figure.
std::int64_t figure_of(const std::string& text) {
  if (text == "never") return kNever;
  const bool is_number = !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::stoll(text) : 0;
}

using Figures = std::map<std::pair<std::string, std::string>, std::int64_t>;
std::atomic<const Figures*> figures{nullptr};
std::atomic<int> generation{0};

// Not a static that is made once: a child of fork() would wait for the thread that makes it.
const Figures& known() {
  if (const Figures* found = figures.load(std::memory_order_acquire)) return *found;
  auto* made = new Figures;
  for_lines(measured_file(), '\t', [made](const std::string& device, const std::string& name, const std::string& text) {
    if (const std::int64_t figure = figure_of(text)) (*made)[{device, name}] = figure;
    return true;
  });
  const Figures* first = nullptr;
  if (figures.compare_exchange_strong(first, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *first;
}

}  // namespace

std::optional<std::int64_t> measured(const std::string& device, const std::string& name) {
  const auto found = known().find({device, name});
  return found != known().end() ? std::make_optional(found->second) : std::nullopt;
}

bool has_measured() { return !known().empty(); }

void read_measured() {
  read_environment();
  figures = nullptr;  // what was read before stays for those that are at it
  ++generation;
}

int measured_generation() { return generation.load(std::memory_order_relaxed); }

std::string measured_file() {
  const std::string& folder = environment().cache_folder;
  return folder.empty() ? folder : folder + "/calibration";
}

std::string cpu_name() {
  static std::atomic<const std::string*> known_name{nullptr};
  if (const std::string* found = known_name.load(std::memory_order_acquire)) return *found;
  std::string name = "cpu";
  for_lines("/proc/cpuinfo", ':', [&name](const std::string& what, const std::string& text, const std::string&) {
    if (what.compare(0, 10, "model name") != 0) return true;
    name += text;  // begins with a space
    return false;
  });
  known_name = new std::string(name);
  return name;
}

}  // namespace ozfp4
