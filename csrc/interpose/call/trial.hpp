// What products of one place in a program turn out to be. Measured are matrices of random numbers, which need no repair; of a
// program's own, eigenvectors that fall off along their lines for instance, nearly all entries may.
#pragma once

#include <atomic>
#include <cstdint>

#include "interpose/call/product.hpp"

namespace ozfp4::interpose {

struct Trial {
  enum : int { open, passed, failed };
  std::atomic<int> verdict, slow;   // the second counts products that took longer than the real routine should
  std::atomic<bool> is_watched;     // by a thread, whose product decides
  std::atomic<std::int64_t*> told;  // where a device tells how many entries it repaired; null: nowhere
  void forget() { verdict = open, slow = 0, is_watched = false, told = nullptr; }
};

// Where a product runs: on the CPU, or in a context of a device, by its number.
struct Site {
  bool is_on_device = false;
  std::uint64_t context = 0;
};

// That of the shapes that are measured together and have about as many entries in C, and of the code that calls. Null: as many
// are kept apart as can be, and this one is not among them.
Trial* trial_of(const Product& product, const Site& site, const void* caller);

// So many entries of one of its matrices can be repaired in a small part of the time that is gained.
std::int64_t most_repaired(const Product& product);

}  // namespace ozfp4::interpose
