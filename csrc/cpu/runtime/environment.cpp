#include "cpu/runtime/environment.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

std::string text_of(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

// The number that a text is, where it is one in [1, most].
std::optional<int> number_up_to(int most, const std::string& text) {
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);  // at the limits of long where it does not fit
  return end != text.c_str() && *end == '\0' && number >= 1 && number <= most ? std::optional(static_cast<int>(number))
                                                                              : std::nullopt;
}

int openmp_threads(const std::string& text) {
  char* end = nullptr;
  const long count = std::strtol(text.c_str(), &end, 10);
  const bool ends = end != text.c_str() && (!*end || *end == ',' || std::isspace(static_cast<unsigned char>(*end)));
  return ends ? static_cast<int>(std::clamp<long>(count, 0, most_threads)) : 0;
}

std::string cache_folder() {
  const std::string own = text_of("OZFP4_CACHE_DIR"), caches = text_of("XDG_CACHE_HOME"), home = text_of("HOME");
  if (!own.empty()) return own;
  if (!caches.empty()) return caches + "/ozfp4";
#if defined(__APPLE__)
  return home.empty() ? "" : home + "/Library/Caches/ozfp4";
#else
  return home.empty() ? "" : home + "/.cache/ozfp4";
#endif
}

Environment of_the_process() {
  Environment found;
  found.thread_text = text_of("OZFP4_NUM_THREADS");
  found.threads = found.thread_text.empty() ? 0 : number_up_to(most_threads, found.thread_text).value_or(-1);
  found.openmp_threads = openmp_threads(text_of("OMP_NUM_THREADS"));
  found.cpu_kernel = text_of("OZFP4_CPU_KERNEL");
  found.cache_folder = cache_folder();
  found.selftest = text_of("OZFP4_SELFTEST");
  found.selftest_seconds = number_up_to(86400, text_of("OZFP4_SELFTEST_SECONDS")).value_or(60);
  return found;
}

// One for each environment that was ever read: another thread may be at an older one. Without a lock, for the sake of forks.
struct Node {
  Environment environment;
  Node* next;
};
std::atomic<Node*> nodes{nullptr};
std::atomic<const Environment*> current{nullptr};

[[maybe_unused]] const bool is_read_at_load = (environment(), true);

}  // namespace

bool Environment::operator==(const Environment& other) const {
  const auto all = [](const Environment& x) {
    return std::tie(x.thread_text, x.threads, x.openmp_threads, x.cpu_kernel, x.cache_folder, x.selftest, x.selftest_seconds);
  };
  return all(*this) == all(other);
}

const Environment& environment() {
  if (const Environment* known = current.load(std::memory_order_acquire)) return *known;
  read_environment();  // for a static object that multiplies before those of this file are made
  return *current.load(std::memory_order_acquire);
}

void read_environment() {
  const Environment found = of_the_process();
  for (Node* each = nodes; each != nullptr; each = each->next) {
    if (!(each->environment == found)) continue;
    current.store(&each->environment, std::memory_order_release);
    return;
  }
  Node* made = new Node{found, nodes};
  while (!nodes.compare_exchange_weak(made->next, made)) {
  }
  current.store(&made->environment, std::memory_order_release);
}

}  // namespace ozfp4
