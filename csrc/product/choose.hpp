// The plan of a product, by what was asked for and by the units of a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plan/choice.hpp"
#include "plan/plan.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

// Up to here arith/accuracy and arith/exact prove certificates, bounds and exact sums.
inline constexpr std::int64_t kLongestCertified = std::int64_t(1) << 31;

// Number formats that the options allow, the cheapest of `units` first.
std::vector<const Alphabet*> alphabets_for(const Options& options, int precision, std::int64_t k,
                                           const std::vector<UnitRate>& units);

// The units that have a plan, the cheapest first.
std::vector<RankedUnit> ranked_units(const Options& options, int precision, std::int64_t k, const std::vector<UnitRate>& units);

// The plan of a product of real operands of inner dimension k, or of two complex ones made real; by the cheapest of `units` where
// the options leave it open. Throws Refusal for a plan in the options that is not suitable.
std::shared_ptr<const Plan> plan_for(const Options& options, int precision, std::int64_t k, bool is_paired,
                                     const std::vector<UnitRate>& units);

// The basis of rates: the operations a second of a rate of 1, and a text with their unit and source.
struct RateBasis {
  double one = 1;
  std::string text;
};

// Why a product is made by the plan of the cheapest unit: what was asked for, or products and rates of each.
std::string reason_of(const Options& options, int precision, std::int64_t k, const std::vector<UnitRate>& units,
                      const RateBasis& basis);

// Throws Refusal where certificates do not reach so far.
void check_inner(const Options& options, std::int64_t k, bool has_bound);

// Bits of the scaled integers.
int bits_of(const Options& options, int precision);

}  // namespace ozfp4::product
