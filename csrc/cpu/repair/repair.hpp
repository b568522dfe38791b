// Repair of entries of "correct" that the rounding test does not settle.
#pragma once

#include <cstdint>
#include <mutex>

#include "cpu/reconstruct/certified.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/scale/scale.hpp"

namespace ozfp4 {

// The counts of all ranges of a loop: body(begin, end, counts).
template <class Body>
EntryCounts count_over(std::int64_t count, std::int64_t grain, const Body& body) {
  EntryCounts total;
  std::mutex lock;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    EntryCounts counts;
    body(begin, end, counts);
    const std::lock_guard<std::mutex> hold(lock);
    total.extend(counts);
  });
  return total;
}

// Puts fl(sum_k a_k b_k), rounded as the target says, and its bound where one is wanted, in the place of each listed entry of a
// block, whose first row and column are given. A thread may use `panel_bytes` for columns that lie scattered. Precondition:
// finite lines with facts; b is seen from its columns.
EntryCounts cpu_repair(const OperandView& a, const Scales& scale_a, const OperandView& b, const Scales& scale_b, std::int64_t row,
                       std::int64_t column, const Target& target, const Listed& listed, std::int64_t panel_bytes);

// Lines are disjoint that are nonzero at no common index, so that every product is zero (docs/accuracy.md): their entries need no
// repair. The most that cpu_settle_disjoint allocates for a block whose lines have k entries.
std::int64_t disjoint_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k);

// Puts the exact zero, or what it is added to, and its bound where one is wanted, in the place of each listed entry whose lines
// are disjoint, and takes it off the list; such entries count as exact. Arguments and their range as for cpu_repair.
EntryCounts cpu_settle_disjoint(const OperandView& a, const Scales& scale_a, const OperandView& b, const Scales& scale_b,
                                std::int64_t row, std::int64_t column, const Target& target, Listed& listed);

}  // namespace ozfp4
