// Threads of ours take no signal that is for the program.
#pragma once

#if defined(__unix__) || defined(__APPLE__)
#include <csignal>
#endif

namespace ozfp4 {

// Threads that are started while it lives have most signals blocked from their first moment on, as a thread begins with the mask
// of who starts it. Signals are for the threads of the program, whose system calls they are to interrupt; those that a thread
// raises by what it does, and the clock of profilers, stay its own.
class SignalsLeftToOthers {
 public:
#if defined(__unix__) || defined(__APPLE__)
  SignalsLeftToOthers() {
    sigset_t set;
    sigfillset(&set);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF}) sigdelset(&set, own);
    is_set_ = pthread_sigmask(SIG_BLOCK, &set, &before_) == 0;
  }
  ~SignalsLeftToOthers() {
    if (is_set_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
#else
  SignalsLeftToOthers() {}  // so that one that is only there is no unused variable
#endif
  SignalsLeftToOthers(const SignalsLeftToOthers&) = delete;
  SignalsLeftToOthers& operator=(const SignalsLeftToOthers&) = delete;

#if defined(__unix__) || defined(__APPLE__)
 private:
  sigset_t before_;
  bool is_set_;
#endif
};

}  // namespace ozfp4
