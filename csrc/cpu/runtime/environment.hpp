// The variables of the environment that products follow. They are read when the library is loaded, and again by an
// explicit call only: getenv crashes where another thread sets a variable meanwhile.
#pragma once

#include <string>

namespace ozfp4 {

struct Environment {
  std::string thread_text;  // OZFP4_NUM_THREADS
  int threads = 0;          // its number; 0 where it is unset or empty, -1 where it is no number in 1..most_threads
  int openmp_threads = 0;   // the outermost number of OMP_NUM_THREADS, which may be a list such as 4,2; 0 where it has none
  std::string cpu_kernel;   // OZFP4_CPU_KERNEL
  // The folder of verdicts and measured rates: OZFP4_CACHE_DIR, else the folder ozfp4 in the system's cache folder; empty:
  // nowhere.
  std::string cache_folder;
  // OZFP4_SELFTEST: whether kernels are tested "here", in this process, or "apart", each in a separate one. Else those are tested
  // apart that this code has hardly run. OZFP4_SELFTEST_SECONDS: how long the short form may take there.
  std::string selftest;
  int selftest_seconds = 60;

  bool operator==(const Environment& other) const;
};

// As it was last read. The reference stays valid for the life of the process.
const Environment& environment();

// Precondition: no other thread sets a variable meanwhile.
void read_environment();

}  // namespace ozfp4
