// How the library lives in a process that is not its own: lines on stderr, signals, forks, and calls that it makes itself.
#pragma once

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>

namespace ozfp4::exec {

// While it lives the calling thread writes where there is no reader, or more than a file may hold, without the signals of that
// (SIGPIPE, SIGXFSZ): its calls fail. Signals that were pending before are pending afterwards.
class NoSignals {
 public:
  NoSignals() {
    sigset_t pending;
    sigemptyset(&own_);
    sigpending(&pending);
    for (const int each : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, each) != 1) sigaddset(&own_, each);
    }
    pthread_sigmask(SIG_BLOCK, &own_, &before_);
  }
  ~NoSignals() {
    const std::timespec now{0, 0};
    while (sigtimedwait(&own_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t own_, before_;
};

// At most 511 bytes.
__attribute__((format(printf, 1, 2))) inline std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

// At once.
inline void write_on_stderr(const std::string& text) {
  const NoSignals own;
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // there is no one left to report to
}

// As a line, with the library's name before it; the first one of a process alone.
inline void say(const std::string& text) { write_on_stderr("ozfp4 exec: " + text + "\n"); }
inline void say_once(const std::string& text) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) say(text);
}

// How many Bypass this thread is in. The library is there from the start of the process, so that this costs one instruction.
inline thread_local int bypass_depth __attribute__((tls_model("initial-exec"))) = 0;

// While it lives, calls of this thread go straight to the real routine: what the real routine calls itself.
class Bypass {
 public:
  Bypass() { ++bypass_depth; }
  ~Bypass() { --bypass_depth; }
  Bypass(const Bypass&) = delete;
  Bypass& operator=(const Bypass&) = delete;
};

// Guards what is found once and kept. fork() waits for it. It is never held within the dynamic linker or the driver, as a caller
// may hold their locks.
inline std::mutex table_lock;
using Guard = std::lock_guard<std::mutex>;

}  // namespace ozfp4::exec
