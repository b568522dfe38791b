// Writing that nobody is ended by who has no part in it.
#pragma once

#include <csignal>
#include <ctime>
#include <initializer_list>

namespace ozfp4::exec {

// While it lives the calling thread writes where nobody reads, or more than a file may hold, without the signals of that
// (SIGPIPE, SIGXFSZ): the calls of it fail. Those that were pending before are pending afterwards.
class NoSignals {
 public:
  NoSignals() {
    sigemptyset(&own_);
    sigaddset(&own_, SIGPIPE);
    sigaddset(&own_, SIGXFSZ);
    sigset_t pending;
    if (sigpending(&pending) != 0) sigemptyset(&pending);
    for (const int each : {SIGPIPE, SIGXFSZ}) {
      if (sigismember(&pending, each) == 1) sigdelset(&own_, each);
    }
    is_blocked_ = pthread_sigmask(SIG_BLOCK, &own_, &before_) == 0;
  }
  ~NoSignals() {
    if (!is_blocked_) return;
    const std::timespec now{0, 0};
    while (sigtimedwait(&own_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t own_, before_;
  bool is_blocked_ = false;
};

}  // namespace ozfp4::exec
