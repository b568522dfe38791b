// The terms of one modulus as Horner's rule.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace ozfp4 {

// Orders the terms so that each weight is a multiple of the next one modulo m, least final multiplier first. Throws
// std::logic_error where no order is.
std::vector<Step> make_chain(const std::vector<Term>& terms, std::int64_t m);

}  // namespace ozfp4
