// The first units of a plan that certifies: those that lines of as many bits as the result's precision need (short ones of
// a few more, as they have), whatever their entries. Most data need no more, so one launch scales and encodes these; a
// second one follows where they do not suffice.
#pragma once

#include <optional>

#include "cuda/encode/encode.hpp"

namespace ozfp4::cuda {

struct LeadingUnits {
  EncodePlan encode;
  int planes = 0;
  int most_capacity = 0;  // of the lines that it encodes right

  // As launch_encode_rest is told of them.
  EncodedUnits encoded(const int* widest_capacity) const { return {encode.units, planes, most_capacity, widest_capacity}; }
};

// Of products with inner dimension k and results of `precision` bits. None where the plan runs whole, or cuts its integers.
std::optional<LeadingUnits> make_leading_units(const Plan& plan, const PrefixRule& prefixes, int k, int precision, bool as_codes);

}  // namespace ozfp4::cuda
