// A plan as the multiply kernel walks it: units of steps, with every fold's range proved when the schedule is built.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/multiply/contract.hpp"
#include "plan/plan.hpp"

namespace ozfp4::cuda {

struct Schedule {
  std::vector<GemmStep> steps;
  std::vector<int> unit_begin;
  Element element = Element::u8;
  std::uint32_t product_bound = 0;
  int planes = 0;        // of each operand
  int out_planes = 0;    // bytes per entry of the output (1 for int32)
  int least_splits = 1;  // scheme I: K must be cut into at least so many splits for the sums to fit 32 bits
  bool may_split = true;

  int unit_count() const { return static_cast<int>(unit_begin.size()) - 1; }
};

// The planes of a plan that the kernel multiplies. Throws std::invalid_argument where it takes none of the plan's.
Element element_of(const Plan& plan, Kernel kernel);

// Schemes I and II and INT8 products, for the fp4 and int8 alphabets; INT8 products are of bytes. Throws std::length_error,
// naming the limit, where `k` exceeds what the kernel can sum exactly. `whole_k`: of the product of which these are `k`
// entries, the others being added to its outputs; scheme I has the digits for it.
Schedule make_schedule(const Plan& plan, Element element, int k, int whole_k);
inline Schedule make_schedule(const Plan& plan, Element element, int k) { return make_schedule(plan, element, k, k); }

}  // namespace ozfp4::cuda
