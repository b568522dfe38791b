// The planes of a complex plan from the residues of the entries, which come in pairs x, y along K. Also the residues of the parts
// of a result from those that multiply leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace ozfp4 {

// Holds the residues of one line of kLine entries, as the joined plan encodes it. Precondition: a complex plan.
class PairPlanes {
 public:
  PairPlanes(const Plan& plan, int count);

  // [modulus][kLine], balanced.
  void* residues() { return residues_.data(); }

  // The planes of their first n pairs; `pitch` is the distance between planes in entries.
  void write(std::int64_t n, void* planes, std::int64_t pitch) const;

 private:
  const Plan& plan_;
  int count_;
  std::vector<std::uint64_t> residues_;
};

// output[g][row][column] of the groups of a complex plan, as cpu_multiply leaves them, becomes [modulus][row][2 column + part]:
// residues of the real result in [0, m). `scratch` has cpu_join_scratch bytes.
void cpu_join_parts(const Plan& plan, int count, std::int64_t rows, std::int64_t columns, void* output, void* scratch);
std::int64_t cpu_join_scratch(const Plan& plan, std::int64_t rows, std::int64_t columns);

}  // namespace ozfp4
