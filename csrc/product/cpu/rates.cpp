#include "product/cpu/rates.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>

#include "cpu/runtime/threads.hpp"
#include "product/choose.hpp"
#include "product/cpu/units.hpp"

namespace ozfp4::product {
namespace {

constexpr double kThreadFlops = 40e9;  // DGEMM of one thread: 16 operations a clock at 2.5 GHz

std::atomic<const MeasuredRates*> measured{nullptr};  // what was there before stays, for those that read it
std::atomic<int> generation{0};

const MeasuredRates& rates() {
  static const MeasuredRates none;
  const MeasuredRates* found = measured;
  return found != nullptr ? *found : none;
}

double rate_of(const MeasuredRates& found, const Alphabet& alphabet) {
  return &alphabet == &Alphabet::fp64 ? found.fp64 : &alphabet == &Alphabet::int8 ? found.int8 : found.fp4;
}

}  // namespace

void set_measured_rates(const MeasuredRates& given) {
  measured = new MeasuredRates(given);
  ++generation;
}

int rates_generation() { return generation; }

std::vector<UnitRate> rated_units() {
  std::vector<UnitRate> units = trusted_units();
  const MeasuredRates& found = rates();
  const double scale = kThreadFlops * thread_count();
  for (UnitRate& unit : units) {
    const double own = rate_of(found, *unit.alphabet);
    unit.rate = own > 0 ? own : unit.rate * scale;
  }
  return units;
}

std::string reason_of(const Options& options, int precision, std::int64_t k) {
  if (options.plan != nullptr || options.alphabet != nullptr) return "asked for";
  if (options.family != "least") return "family '" + options.family + "' is made of limbs of fp4";
  const std::vector<UnitRate> units = rated_units();
  std::string text;
  for (const RankedUnit& unit : ranked_units(options, precision, k, units)) {
    double rate = 0;
    for (const UnitRate& own : units) rate = own.alphabet == unit.alphabet ? own.rate : rate;
    char figures[64];
    std::snprintf(figures, sizeof figures, " %d at %.4g", unit.products, rate / 1e12);
    text += std::string(text.empty() ? "" : ", ") + unit.alphabet->name + figures;
  }
  if (text.empty()) return "no backend has a plan";
  return "least products / rate: " + text + " TOPS (" + rates().basis + ")";
}

}  // namespace ozfp4::product
