#include "exec/line.hpp"

#include <unistd.h>

#include <atomic>

#include "exec/no_signals.hpp"

namespace ozfp4::exec {

void write_on_stderr(const std::string& text) {
  const NoSignals own;
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // there is nobody left to tell
}

void say(const std::string& text) { write_on_stderr("ozfp4 exec: " + text + "\n"); }

void say_once(const std::string& text) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) say(text);
}

}  // namespace ozfp4::exec
