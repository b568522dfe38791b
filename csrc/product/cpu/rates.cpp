#include "product/cpu/rates.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cpu/runtime/threads.hpp"
#include "product/choose.hpp"
#include "product/cpu/units.hpp"
#include "product/measured.hpp"

namespace ozfp4::product {
namespace {

constexpr double kThreadFlops = 40e9;  // DGEMM of one thread: 16 operations a clock at 2.5 GHz

// Rates of the kernels for planes of bytes, by OZFP4_CPU_KERNEL's names, against planes of FP64. Planes of FP32 have twice the
// rate, less what decoding takes: 1.8 to 2.1 measured. AVX-512 VNNI does eight times the operations of FP64 a clock and
// attains most of them. AMX does 64 times as many and attains 24 times FP64 on 16 processors of a Xeon, bound by power.
struct ByteRate {
  const char* setting;
  double rate;
};
constexpr ByteRate kByteRates[] = {{"sgemm", 1.9}, {"portable", 0.1}, {"avx_vnni", 7.0}, {"avx512_vnni", 7.0}, {"amx", 25.0}};

std::string threads_text() {
  const int count = thread_count();
  return std::to_string(count) + (count == 1 ? " thread" : " threads");
}

std::string serving_setting() {
  const ByteKernel* const kernel = serving_byte_kernel();
  return kernel != nullptr ? kernel->setting : "sgemm";
}

// The rates with the kernel for bytes now; alphabets taken first among equals in front.
std::vector<UnitRate> cpu_units() {
  const std::string setting = serving_setting();
  double rate = 0;
  for (const ByteRate& known : kByteRates) {
    if (setting == known.setting) rate = known.rate;
  }
  return {{&Alphabet::fp64, 1.0}, {&Alphabet::int8, rate}, {&Alphabet::fp4, rate}};
}

// Nothing is asked for that leaves one unit.
bool is_open(const Options& options) {
  return options.plan == nullptr && options.alphabet == nullptr && options.family == "least";
}

// Where some are measured they are taken, and the typical figures for the others.
struct Rated {
  std::vector<UnitRate> units;
  bool is_measured = false;
};

Rated rated() {
  Rated found{cpu_units()};
  const std::string device = has_measured() ? rates_device() : "";
  for (UnitRate& unit : found.units) {
    const std::optional<std::int64_t> own = measured(device, unit.alphabet->name);
    unit.rate = own ? static_cast<double>(*own) : unit.rate * kThreadFlops * thread_count();
    found.is_measured |= own.has_value();
  }
  return found;
}

std::string reason_of(const Options& options, int precision, std::int64_t k, const Rated& own) {
  const std::string basis = own.is_measured ? "measured on this machine with " + threads_text() : "typical figures of a thread";
  return reason_of(options, precision, k, own.units, {1e12, " TOPS (" + basis + ")"});
}

// The rates of units, without the cheapest ones for such a product that failed their self-test.
Rated trusted(const Options& options, int precision, std::int64_t k) {
  trusted_unit();
  Rated own = rated();
  while (is_open(options) && !own.units.empty()) {
    const std::vector<RankedUnit> ranked = ranked_units(options, precision, k, own.units);
    if (ranked.empty() || failure_of(*ranked.front().alphabet).empty()) return own;
    const auto is_best = [&](const UnitRate& unit) { return unit.alphabet == ranked.front().alphabet; };
    own.units.erase(std::find_if(own.units.begin(), own.units.end(), is_best));
  }
  return rated();  // of which the one that is taken is refused, if none passed
}

}  // namespace

std::string rates_device() { return cpu_name() + ", " + serving_setting() + ", " + threads_text(); }

std::int64_t rates_stamp() {
  return (static_cast<std::int64_t>(measured_generation()) << 32) + (has_measured() ? thread_count() : 0);
}

std::vector<UnitRate> rated_units(const Options& options, int precision, std::int64_t k) {
  return trusted(options, precision, k).units;
}

std::string reason_of(const Options& options, int precision, std::int64_t k) {
  if (!is_open(options)) return reason_of(options, precision, k, {}, {});  // rates are not looked at
  return reason_of(options, precision, k, trusted(options, precision, k));
}

Cheapest cheapest(const Options& options, int precision, std::int64_t k) {
  const Rated own = rated();
  return {alphabets_for(options, precision, k, own.units).front(), reason_of(options, precision, k, own)};
}

std::string fallback_of(const Options& options, int precision, std::int64_t k) {
  if (!is_open(options)) return "";
  const std::vector<RankedUnit> ranked = ranked_units(options, precision, k, rated().units);
  return ranked.empty() ? "" : failure_of(*ranked.front().alphabet);
}

}  // namespace ozfp4::product
