#include "cpu/threading/groups.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace ozfp4 {
namespace {

// A hierarchy of control groups that limits something, from the group of the process up to the mounted one.
struct Hierarchy {
  std::string mount, group;  // the directory of the group is mount + group
  bool is_unified;           // version 2
};

// The text of a file; "" where it cannot be read. By C's functions: a C++ library that is linked statically into this one cannot
// share the locales of its streams with that of another module of the process.
std::string text_of(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"), std::fclose);
  std::string text;
  char piece[4096];
  while (file != nullptr) {
    const std::size_t read = std::fread(piece, 1, sizeof piece, file.get());
    if (read == 0) break;
    text.append(piece, read);
  }
  return text;
}

// The parts of a text between any of some characters; empty ones are none.
std::vector<std::string> split(const std::string& text, const char* between) {
  std::vector<std::string> parts;
  for (std::size_t first = 0; (first = text.find_first_not_of(between, first)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(between, first), text.size());
    parts.push_back(text.substr(first, end - first));
    first = end;
  }
  return parts;
}

// The number with which a text begins; 0 where it is none.
double number_of(const std::string& text) { return static_cast<double>(std::strtoll(text.c_str(), nullptr, 10)); }

bool holds_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// The path of the process's group: of the line 0::path in version 2, of that with the controller in version 1.
std::string group_path(const std::string& root, bool is_unified, const std::string& controller) {
  for (const std::string& line : split(text_of(root + "/proc/self/cgroup"), "\n")) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_unified ? line.compare(0, first, "0") == 0 && controllers.empty() : holds_word(controllers, controller)) {
      return line.substr(second + 1);
    }
  }
  return "";
}

// Paths of mountinfo have \ooo for blanks and backslashes.
std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && text.find_first_not_of("01234567", i + 1) >= i + 4 && i + 3 < text.size();
    plain += is_escape ? static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8)) : text[i];
    if (is_escape) i += 3;
  }
  return plain;
}

// The group within what is mounted: nothing where it lies outside of it.
std::string below(const std::string& mounted, const std::string& group) {
  if (mounted == "/") return group == "/" ? "" : group;
  const bool is_below =
      group.compare(0, mounted.size(), mounted) == 0 && (group.size() == mounted.size() || group[mounted.size()] == '/');
  return is_below ? group.substr(mounted.size()) : "";
}

std::vector<Hierarchy> hierarchies(const std::string& root, const std::string& controller) {
  std::vector<Hierarchy> found;
  for (const std::string& line : split(text_of(root + "/proc/self/mountinfo"), "\n")) {
    // number parent device root mount options [tags] - type source options
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> place = split(line.substr(0, dash), " "), kind = split(line.substr(dash + 3), " ");
    if (place.size() < 5 || kind.size() < 3) continue;
    const std::string &mounted = place[3], &mount = place[4];
    const bool is_unified = kind[0] == "cgroup2";
    if (!is_unified && !(kind[0] == "cgroup" && holds_word(kind[2], controller))) continue;
    found.push_back({unescaped(mount), below(unescaped(mounted), group_path(root, is_unified, controller)), is_unified});
  }
  return found;
}

// The CPUs that the quota of one group comes to; 0 where it has none.
double quota_of(const std::string& folder, bool is_unified) {
  double quota = 0, period = 0;  // "max" in version 2, which is no number, and -1 in version 1: no quota
  if (is_unified) {
    const std::vector<std::string> both = split(text_of(folder + "/cpu.max"), " \n");
    if (both.size() == 2) quota = number_of(both[0]), period = number_of(both[1]);
  } else {
    quota = number_of(text_of(folder + "/cpu.cfs_quota_us"));
    period = number_of(text_of(folder + "/cpu.cfs_period_us"));
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

// Bytes that one group may have; 0 where it has no limit.
double memory_of(const std::string& folder, bool is_unified) {
  return number_of(text_of(folder + (is_unified ? "/memory.max" : "/memory.limit_in_bytes")));
}

// The least that limit(folder, is_unified) says of the groups that the process is in; 0 where it says nothing of any.
template <class Limit>
double least_of_groups(const std::string& root, const std::string& controller, const Limit& limit) {
  double least = 0;
  for (const Hierarchy& hierarchy : hierarchies(root, controller)) {
    for (std::string group = hierarchy.group;; group.resize(group.rfind('/'))) {
      const double own = limit(root + hierarchy.mount + group, hierarchy.is_unified);
      if (own > 0) least = least > 0 ? std::min(least, own) : own;
      if (group.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace

int quota_cpus(const std::string& root) {
  return static_cast<int>(std::ceil(std::min(least_of_groups(root, "cpu", quota_of), 65536.0)));
}

std::int64_t memory_bytes(const std::string& root) {
  double bytes = least_of_groups(root, "memory", memory_of);
#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
  const double all = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (all > 0) bytes = bytes > 0 ? std::min(bytes, all) : all;
#endif
  return static_cast<std::int64_t>(std::min(bytes, 0x1p62));
}

}  // namespace ozfp4
