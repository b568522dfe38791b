#include "interpose/process/line.hpp"

#include <unistd.h>

#include <atomic>

namespace ozfp4::interpose {

void say(const std::string& text) {
  const std::string line = "ozfp4 exec: " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // there is nobody left to tell
}

void say_once(const std::string& text) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) say(text);
}

}  // namespace ozfp4::interpose
