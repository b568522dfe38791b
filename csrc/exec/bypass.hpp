// Calls that go straight to the real routine: what the real routine calls itself.
#pragma once

namespace ozfp4::exec {

// How many Bypass this thread is in. The library is there from the start of the process, so that this costs one instruction.
inline thread_local int bypass_depth __attribute__((tls_model("initial-exec"))) = 0;

class Bypass {
 public:
  Bypass() { ++bypass_depth; }
  ~Bypass() { --bypass_depth; }
  Bypass(const Bypass&) = delete;
  Bypass& operator=(const Bypass&) = delete;
};

}  // namespace ozfp4::exec
