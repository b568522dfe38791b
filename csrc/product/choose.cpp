#include "product/choose.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "arith/accuracy/capacity.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

void check_agrees(const Options& options, const Plan& plan) {
  const auto contradicts = [](const char* name, const std::string& value, const std::string& planned) {
    refuse_value(name, value, std::string("contradicts the plan, whose ") + name + " is " + planned);
  };
  if (options.has_scheme && options.scheme != plan.scheme) contradicts("scheme", name_of(options.scheme), name_of(plan.scheme));
  if (options.alphabet != nullptr && std::string(options.alphabet->name) != plan.alphabet.name) {
    contradicts("backend", options.alphabet->name, plan.alphabet.name);
  }
  if (options.bits != 0 && options.bits != plan.bits)
    contradicts("bits", std::to_string(options.bits), std::to_string(plan.bits));
  if (options.has_family && options.family != plan.family) contradicts("family", options.family, plan.family);
}

void check_serves(const Options& options, const Plan& plan, int precision, std::int64_t k, bool is_paired) {
  check_agrees(options, plan);
  if (plan.is_complex && !is_paired) refuse_option("plan", "it is of complex products; these operands are not both complex");
  const int needed = bits_of(options, precision);
  if (options.accuracy != Accuracy::scaled && plan.bits < needed) {
    refuse_option("plan", "its bits are " + std::to_string(plan.bits) + ", the accuracy '" + name_of(options.accuracy) +
                              "' needs " + std::to_string(needed) + "; 'scaled' takes it");
  }
  if (k > plan.k_max) {
    refuse_option("plan", "its limit is K <= " + std::to_string(plan.k_max) + ", the inner dimension is " + std::to_string(k) +
                              ", " + std::to_string(k - plan.k_max) + " too long");
  }
}

PlanRequest request_of(const Options& options, int precision, std::int64_t k) {
  if (options.family != "least" && options.accuracy != Accuracy::scaled) {
    refuse_value("family", "'" + options.family + "'",
                 std::string("is for the accuracy 'scaled'; it has 53 bits, and '") + name_of(options.accuracy) + "' takes " +
                     std::to_string(bits_of(options, precision)));
  }
  PlanRequest request;
  request.scheme = options.scheme;
  request.family = options.family;
  request.bits = bits_of(options, precision);
  request.k = std::max<std::int64_t>(k, 1);
  return request;
}

}  // namespace

int bits_of(const Options& options, int precision) {
  return options.accuracy != Accuracy::scaled ? accuracy_bits(options.accuracy, precision)
         : options.bits != 0                  ? options.bits
                                              : precision;
}

std::vector<RankedUnit> ranked_units(const Options& options, int precision, std::int64_t k, const std::vector<UnitRate>& units) {
  return rank_units(request_of(options, precision, k), units);
}

std::vector<const Alphabet*> alphabets_for(const Options& options, int precision, std::int64_t k,
                                           const std::vector<UnitRate>& units) {
  if (options.plan != nullptr) return {&options.plan->alphabet};
  if (options.alphabet != nullptr) return {options.alphabet};
  if (options.family != "least") return {&Alphabet::fp4};  // of which the families of the paper are
  std::vector<const Alphabet*> found;
  for (const RankedUnit& unit : ranked_units(options, precision, k, units)) found.push_back(unit.alphabet);
  if (found.empty()) found.push_back(units.front().alphabet);
  return found;
}

std::shared_ptr<const Plan> plan_for(const Options& options, int precision, std::int64_t k, bool is_paired,
                                     const std::vector<UnitRate>& units) {
  if (options.plan != nullptr) {
    check_serves(options, *options.plan, precision, k, is_paired);
    return options.plan;
  }
  PlanRequest request = request_of(options, precision, k);
  request.alphabet = *alphabets_for(options, precision, k, units).front();
  return find_plan(request, is_paired);
}

std::string reason_of(const Options& options, int precision, std::int64_t k, const std::vector<UnitRate>& units,
                      const RateBasis& basis) {
  if (options.plan != nullptr || options.alphabet != nullptr) return "asked for";
  if (options.family != "least") return "family '" + options.family + "' is made of limbs of fp4";
  std::string text;
  for (const RankedUnit& unit : ranked_units(options, precision, k, units)) {
    double rate = 0;
    for (const UnitRate& own : units) rate = own.alphabet == unit.alphabet ? own.rate : rate;
    char figures[64];
    std::snprintf(figures, sizeof figures, " %d at %.4g", unit.products, rate / basis.one);
    text += std::string(text.empty() ? "" : ", ") + unit.alphabet->name + figures;
  }
  if (text.empty()) return "no backend has a plan";
  return "least products / rate: " + text + basis.text;
}

void check_inner(const Options& options, std::int64_t k, bool has_bound) {
  if (k > kLongestCertified && (options.accuracy != Accuracy::scaled || has_bound)) {
    refuse_option(Fault::unsupported, "accuracy",
                  "entries of rows and columns are counted up to K <= 2^31, the inner dimension is " + std::to_string(k) +
                      "; 'scaled' without a bound has no such limit");
  }
}

}  // namespace ozfp4::product
