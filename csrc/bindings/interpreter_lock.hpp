// The interpreter's lock, released for a product and taken again. pybind11's own guards end the process where a daemon thread
// comes back to an interpreter that is being finalised. Python before 3.14 ends such a thread by unwinding its stack, and no
// destructor lets that through. Here it waits for the end of the process, as from Python 3.14 on.
#pragma once

#include <pybind11/pybind11.h>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#include <unistd.h>
#endif

namespace ozfp4::bindings {

template <class Take>
void take_or_wait(const Take& take) {
#if defined(__GLIBCXX__)
  try {
    take();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
#else
  take();
#endif
}

// While it lives the calling thread does not hold the lock, and touches no object of Python's. Precondition: it holds the lock
// before.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() {
    take_or_wait([this] { PyEval_RestoreThread(state_); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// While it lives the calling thread holds the lock. Precondition: the thread is Python's, within an Unlocked or not.
class Locked {
 public:
  Locked() {
    take_or_wait([this] { state_ = PyGILState_Ensure(); });
  }
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_{};
};

}  // namespace ozfp4::bindings
