// The steps around every product on the CPU from Python: the interpreter's lock, warnings of failed kernels, repaired entries,
// and what is told of it.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

#include "bindings/interpreter_lock.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::bindings {

// Calls ozfp4._trust.guard.tell_failures where a kernel of the CPU failed since it was last called. Precondition: the
// interpreter's lock is held; of Python's errors, none is set.
void warn_of_failures();

// Returns or throws as `body` does, after such a call.
template <class Body>
auto warning_of_failures(const Body& body) {
  try {
    auto result = body();
    warn_of_failures();
    return result;
  } catch (const pybind11::error_already_set&) {
    throw;
  } catch (...) {
    warn_of_failures();
    throw;
  }
}

// How many entries the calling thread's products of real scaled numbers have made from their row and column alone, in its life.
inline std::int64_t& repaired_here() {
  static thread_local std::int64_t count = 0;
  return count;
}

// Calls multiply(ran) without the interpreter's lock.
template <class Multiply>
product::Ran run(const Multiply& multiply) {
  const product::Ran ran = warning_of_failures([&] {
    product::Ran made;
    const Unlocked unlocked;
    multiply(made);
    return made;
  });
  const auto& entries = ran.outcome.entries;
  repaired_here() += entries.chains + entries.pairs + entries.exact_sums;
  return ran;
}

// ---- The findings, as dictionaries from which Python makes its reports ----

// With the plan, None where the options have one, and why it was taken. `k` and `precision`: those by which it was chosen.
pybind11::dict outcome_dict(const product::Ran& ran, const product::Options& options, int precision, std::int64_t k);

// The same of integers, by a plan for so many bits; in words alone there is no "plan". `is_exact`: words are used where they wrap
// nothing.
pybind11::dict outcome_dict(const product::IntegersRan& ran, const product::Options& options, int bits, std::int64_t k,
                            bool is_exact);

}  // namespace ozfp4::bindings
