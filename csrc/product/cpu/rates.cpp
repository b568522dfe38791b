#include "product/cpu/rates.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "cpu/runtime/threads.hpp"
#include "cpu/units.hpp"
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

// Nothing is asked for that leaves one unit.
bool is_open(const Options& options) {
  return options.plan == nullptr && options.alphabet == nullptr && options.family == "least";
}

std::vector<UnitRate> rated(std::vector<UnitRate> units) {
  const MeasuredRates& found = rates();
  const double scale = kThreadFlops * thread_count();
  for (UnitRate& unit : units) {
    const double own = rate_of(found, *unit.alphabet);
    unit.rate = own > 0 ? own : unit.rate * scale;
  }
  return units;
}

}  // namespace

void set_measured_rates(const MeasuredRates& given) {
  measured = new MeasuredRates(given);
  ++generation;
}

int rates_generation() { return generation; }

std::vector<UnitRate> rated_units(const Options& options, int precision, std::int64_t k) {
  trusted_unit();
  std::vector<UnitRate> units = rated(cpu_units());
  while (is_open(options) && !units.empty()) {
    const std::vector<RankedUnit> ranked = ranked_units(options, precision, k, units);
    if (ranked.empty() || failure_of(*ranked.front().alphabet).empty()) return units;
    const auto is_best = [&](const UnitRate& unit) { return unit.alphabet == ranked.front().alphabet; };
    units.erase(std::find_if(units.begin(), units.end(), is_best));
  }
  return rated(cpu_units());  // of which the one that is taken is refused, if none passed
}

std::string reason_of(const Options& options, int precision, std::int64_t k) {
  if (!is_open(options)) return reason_of(options, precision, k, {}, "");  // rates are not looked at
  return reason_of(options, precision, k, rated_units(options, precision, k), rates().basis);
}

std::string fallback_of(const Options& options, int precision, std::int64_t k) {
  if (!is_open(options)) return "";
  const std::vector<RankedUnit> ranked = ranked_units(options, precision, k, rated(cpu_units()));
  return ranked.empty() ? "" : failure_of(*ranked.front().alphabet);
}

}  // namespace ozfp4::product
