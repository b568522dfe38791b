// Work that pthread_cancel does not end in its midst.
#pragma once

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace ozfp4 {

// While it lives the calling thread is not cancelled: that unwinds the stack, and ends the process at the first function that
// lets nothing through. Who was asked to end meanwhile does so at its next cancellation point.
class NoCancel {
 public:
#if defined(__unix__) || defined(__APPLE__)
  NoCancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() { pthread_setcancelstate(before_, &before_); }
#else
  NoCancel() {}  // so that one that is only there is no unused variable
#endif
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

#if defined(__unix__) || defined(__APPLE__)
 private:
  int before_ = 0;
#endif
};

}  // namespace ozfp4
