// The CPUs that a thread may run on.
#pragma once

#if defined(__linux__)
#include <sched.h>
#endif

namespace ozfp4 {

// A set of CPUs. Where the system has none, or more CPUs than fit, it is not known, and applying it does nothing.
class CpuSet {
 public:
  // The CPUs that the calling thread may run on.
  static CpuSet of_this_thread();
  bool is_known() const { return is_known_; }
  // How many; 0 where they are not known.
  int count() const;
  // Takes out the CPU that the calling thread runs on, unless none were left.
  void remove_current();
  // From now on the calling thread runs on these. Best effort: it works anywhere.
  void apply() const;
  bool operator==(const CpuSet& other) const;
  bool operator!=(const CpuSet& other) const { return !(*this == other); }

 private:
  bool is_known_ = false;
#if defined(__linux__)
  cpu_set_t set_{};
#endif
};

// How many CPUs the calling thread may run on, at least 1.
int available_cpus();

}  // namespace ozfp4
