// The relative rates of the units of this CPU: nominal figures, or measured ones where they are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/choice.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

// The CPU in lines of measured rates, operations a second by the names of alphabets. It has the unit for bytes now, and the
// number of threads, as rates do not grow with it alike.
std::string rates_device();

// A plan that was chosen before another number may rest on other rates.
std::int64_t rates_stamp();

// The units of this CPU, of which the cheapest for such a product passed its self-test, where any did. Throws as trusted_unit.
std::vector<UnitRate> rated_units(const Options& options, int precision, std::int64_t k);

// Why a product is made by this plan: what was asked for, or products and rates of each unit.
std::string reason_of(const Options& options, int precision, std::int64_t k);

// The unit of a plan, whatever its self-test finds, and why.
struct Cheapest {
  const Alphabet* alphabet;
  std::string reason;
};
Cheapest cheapest(const Options& options, int precision, std::int64_t k);

// Where the options leave the unit open, why the cheapest was not taken; empty: it passed its self-test.
std::string fallback_of(const Options& options, int precision, std::int64_t k);

}  // namespace ozfp4::product
