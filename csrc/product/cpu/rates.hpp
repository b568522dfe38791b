// How fast the units of this CPU are beside each other: nominal figures, or measured ones where they are known.
#pragma once

#include <string>
#include <vector>

#include "plan/choice.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

// Operations a second of the units of planes; 0: not measured.
struct MeasuredRates {
  double fp64 = 0, int8 = 0, fp4 = 0;
  std::string basis = "typical figures of a thread";
};

// In place of those before. Any thread may call it.
void set_measured_rates(const MeasuredRates& rates);

// Counts the calls of set_measured_rates: a plan that was chosen before another number may rest on other rates.
int rates_generation();

// The units of this CPU, of which the cheapest for such a product passed its self-test, where any did. Throws as trusted_unit.
std::vector<UnitRate> rated_units(const Options& options, int precision, std::int64_t k);

// Why a product is made by this plan: what was asked for, or products and rates of each unit.
std::string reason_of(const Options& options, int precision, std::int64_t k);

// Where the options leave the unit open, why the cheapest was not taken; empty: it passed its self-test.
std::string fallback_of(const Options& options, int precision, std::int64_t k);

}  // namespace ozfp4::product
