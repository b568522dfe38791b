// The routine that a program would have called without this library.
#pragma once

#include <atomic>
#include <cstdint>

#include "exec/names.hpp"

namespace ozfp4::exec {

// Functions of a libcublas that tell of a handle; null where it has none of that name.
struct CublasState {
  int (*get_stream)(void*, void**) = nullptr;
  int (*get_pointer_mode)(void*, int*) = nullptr;
  int (*get_version)(void*, int*) = nullptr;
};

struct Real {
  const void* caller = nullptr;  // where the call returns to
  Routine routine{};
  void* address = nullptr;  // null where no library has it: ozfp4 replaces it, and cannot leave a product to it
  bool is_64_bit = false;   // its library has integers of 64 bits under names without a suffix for it
  bool is_spared = false;   // by what `--only` and `--spare` name
  CublasState cublas;       // of the library that holds it, which stays loaded
  // Products that ozfp4 made for the caller: one had many repairs; on a GPU the number that counts as few, 0 before the first.
  mutable std::atomic<bool> has_many_repairs{false};
  mutable std::atomic<std::int64_t> few_repairs{0};
};

// As the dynamic linker would have bound the symbol for this caller. First all that is visible to the whole process, then the
// libraries of the caller's library, which may be hidden from all others (Python's extensions), then any loaded library.
// Remembered for each place that calls: some nanoseconds from the second call on. A program that only looks for such a routine (a
// weak reference, dlsym) finds that of this library: for the CPU there may then be no other. One of cuBLAS, which has no handle
// then, ends the process as the dynamic linker does, with a line and status 127.
const Real& real_routine(Routine routine, const void* caller);

}  // namespace ozfp4::exec
