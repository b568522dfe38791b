#include "interpose/call/choice.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>

#include "cpu/runtime/fp_mode.hpp"
#include "cpu/threading/child_lock.hpp"
#include "interpose/process/fork.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/settings.hpp"
#include "interpose/process/table.hpp"

namespace ozfp4::interpose {
namespace {

constexpr double margin = 1.1;  // native has to take so many times as long as ours
constexpr double share = 0.01;  // of the time in real routines on the CPU, which products for the sake of their times may take
// Nanoseconds of what comes once: of ozfp4's first product in a process, which tries what multiplies on exact integers (40 to 50
// ms on Zen 4, 72 where others were at work beside it), and of the first of a class, for which a plan is made.
constexpr double expected_first = 60e6, expected_plan = 0.5e6;
constexpr int native_runs = 4, own_runs = 2;  // products of a class on the CPU that are timed at least, and at most
constexpr double hopeless = 4;                // times native in the first: no other is needed
constexpr double share_of_life = 0.02,
                 at_once = 40e6;  // of the process's time, and nanoseconds: what measuring on a GPU may take
constexpr double expected_once = 1.5e6, expected_rate = 2500;          // nanoseconds of each, and multiplications in one more
constexpr std::int64_t least_on_device = 1024, most_on_device = 8192;  // extents that are measured there
constexpr double largest_on_device = 0x1p36;                           // multiplications
constexpr std::size_t capacity = 4096;                                 // classes
enum : int { unknown, ours_is_faster, native_is_faster };

struct State {
  std::atomic<int> verdict, native_timed, own_timed;  // the last two count products
  std::atomic<double> native, ours;                   // the least nanoseconds a multiplication; 0: not known
  void forget() { verdict = unknown, native_timed = own_timed = 0, native = ours = 0; }
};

Table<ShapeClass, State, capacity> classes;
std::atomic<std::int64_t> all_native{0}, spent{0}, spent_on_device{0};
std::atomic<bool> has_tried{false};  // what multiplies; a child need not
ChildLock measuring;                 // over whole products, for which fork() does not wait
std::atomic<std::int64_t> born{now()};
void forget() { classes.forget(), all_native = spent = spent_on_device = 0, born = now(); }
const bool forgets = (forget_in_children(forget), true);

double size_of(const ShapeClass& of) {
  return static_cast<double>(of.m) * static_cast<double>(of.n) * static_cast<double>(of.k) * static_cast<double>(of.batch);
}

void lower(std::atomic<double>& least, double value) {
  double known = least.load(std::memory_order_relaxed);
  while ((known == 0 || value < known) && !least.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

// How many native products one of ozfp4's may take as long as. With AMX it is four at most from 64^3 on, and
// two of large ones.
double expected_products(double size) { return size < 0x1p18 ? 64 : size < 0x1p32 ? 20 : 6; }

bool is_affordable(const Product& product, const State& state) {
  if (state.native_timed.load(std::memory_order_relaxed) < native_runs) return false;
  const double size = size_of(product), once = state.native.load(std::memory_order_relaxed) * size;
  const double first = has_tried.load(std::memory_order_relaxed) ? 0 : expected_first;
  const double expected = first + expected_plan + expected_products(size) * once;
  const double budget = share * static_cast<double>(all_native.load(std::memory_order_relaxed));
  return static_cast<double>(spent.load(std::memory_order_relaxed)) + expected <= budget;
}

bool is_affordable_on_device(const ShapeClass& of) {
  const double life = static_cast<double>(now() - born.load(std::memory_order_relaxed));
  const double expected = expected_once + size_of(of) / expected_rate;
  return static_cast<double>(spent_on_device.load(std::memory_order_relaxed)) + expected <= at_once + share_of_life * life;
}

Reason reason_of(const State& state) {
  const int verdict = state.verdict.load(std::memory_order_acquire);
  return verdict == unknown ? Reason::always : verdict == ours_is_faster ? Reason::faster : Reason::slower;
}

void measure_on_device(const ShapeClass& of, State& state, Measure measure, void* cublas) {
  const std::int64_t began = now();
  Product extents;
  extents.type = of.type, extents.m = of.m, extents.n = of.n, extents.k = of.k, extents.batch = of.batch;
  const Times times = measure(cublas, extents);
  const bool is_faster = times.ours > 0 && static_cast<double>(times.ours) * margin <= static_cast<double>(times.native);
  state.ours = static_cast<double>(times.ours) / size_of(of);
  state.native = static_cast<double>(times.native) / size_of(of);
  state.verdict.store(is_faster ? ours_is_faster : native_is_faster, std::memory_order_release);
  spent_on_device += now() - began;
}

}  // namespace

std::int64_t level(std::int64_t extent) {
  const std::int64_t power = std::int64_t(1) << (63 - __builtin_clzll(static_cast<unsigned long long>(extent)));
  const std::int64_t middle = power + power / 2;
  return power > 1 && extent >= middle ? middle : power;
}

ShapeClass class_of(const Product& p, bool is_on_device) {
  const std::int64_t most = is_on_device ? most_on_device : std::max({p.m, p.n, p.k});
  ShapeClass found{p.type, is_on_device,   level(std::min(p.m, most)), level(std::min(p.n, most)), level(std::min(p.k, most)),
                   1,      p.triangle != 0};
  if (!is_on_device) return found;
  const auto is_too_large = [&found] {
    const double entries = static_cast<double>(std::max({found.m, found.n, found.k})) * static_cast<double>(found.batch);
    return size_of(found) > largest_on_device || entries > 0x1p20;
  };
  while (found.batch <= p.batch / 4) found.batch *= 4;
  while (found.batch > 1 && is_too_large()) found.batch /= 4;
  while (size_of(found) > largest_on_device) {
    std::int64_t& extent = found.m >= found.n && found.m >= found.k ? found.m : found.n >= found.k ? found.n : found.k;
    extent = level(extent - 1);
  }
  return found;
}

Reason by_extents(const Product& product) {
  const Settings& asked = settings();
  if (product.m == 0 || product.n == 0 || product.k == 0 || product.batch == 0) return Reason::nothing_to_multiply;
  if (!asked.types[static_cast<int>(product.type)]) return Reason::type_not_asked;
  if (size_of(product) < asked.min_size) return Reason::below_min_size;
  return Reason::always;
}

Reason by_extents_on_device(const Product& product) {
  const Reason found = by_extents(product);
  const bool is_small = std::min({product.m, product.n, product.k}) < least_on_device;
  return found == Reason::always && is_small && !settings().always ? Reason::small_on_device : found;
}

Reason by_factors(const Product& product) {
  if (!DefaultFpMode::rounds_to_nearest()) return Reason::other_rounding;
  const Factor alpha = factor(product.type, product.alpha);
  if (alpha.real == 0 && alpha.imaginary == 0) return Reason::nothing_to_multiply;
  return has_finite_factors(product) ? Reason::always : Reason::factor_not_finite;
}

bool has_finite_factors(const Product& product) {
  const Factor alpha = factor(product.type, product.alpha), beta = factor(product.type, product.beta);
  const auto is_finite = [](const Factor& x) { return std::isfinite(x.real) && std::isfinite(x.imaginary); };
  return is_finite(alpha) && is_finite(beta);
}

Reason by_call(const Product& product) {
  const Reason found = by_extents(product);
  return found == Reason::always ? by_factors(product) : found;
}

Reason by_time(const Product& product) {
  const State* state = classes.at(class_of(product, false));
  if (!state) return Reason::not_measured;
  const Reason known = reason_of(*state);
  if (known != Reason::always) return known;
  return is_affordable(product, *state) ? Reason::timed : Reason::not_measured;
}

void native_took(const Product& product, std::int64_t nanoseconds) {
  // In larger amounts, and of a class some products: threads that call at once do not wait for each other's.
  static thread_local std::int64_t pending __attribute__((tls_model("initial-exec"))) = 0;
  static thread_local unsigned calls __attribute__((tls_model("initial-exec"))) = 0;
  pending += nanoseconds;
  if (pending >= 100000) {
    all_native.fetch_add(pending, std::memory_order_relaxed);
    pending = 0;
  }
  State* state = classes.at(class_of(product, false));
  if (!state || state->verdict.load(std::memory_order_relaxed) != unknown) return;
  if (calls++ % 16 != 0 && state->native_timed.load(std::memory_order_relaxed) >= native_runs) return;
  lower(state->native, static_cast<double>(nanoseconds) / size_of(product));
  state->native_timed.fetch_add(1, std::memory_order_relaxed);
}

void ours_took(const Product& product, std::int64_t nanoseconds, bool is_typical) {
  spent += nanoseconds;
  const bool is_first = !has_tried.exchange(true);
  State* state = classes.at(class_of(product, false));
  if (is_first || !is_typical || !state) return;
  lower(state->ours, static_cast<double>(nanoseconds) / size_of(product));
  const double ours = state->ours, native = state->native;
  if (ours * margin <= native) {
    state->verdict.store(ours_is_faster, std::memory_order_release);
  } else if (++state->own_timed >= own_runs || ours > hopeless * native) {
    state->verdict.store(native_is_faster, std::memory_order_release);
  }
}

Reason known_on_device(const Product& product) {
  const ShapeClass of = class_of(product, true);
  const State* state = classes.at(of);
  const Reason known = state ? reason_of(*state) : Reason::not_measured_on_device;
  return known == Reason::always && !is_affordable_on_device(of) ? Reason::not_measured_on_device : known;
}

Reason by_time_on_device(const Product& product, Measure measure, void* cublas) {
  const Reason known = known_on_device(product);
  if (known != Reason::always) return known;
  const ShapeClass of = class_of(product, true);
  State& state = *classes.at(of);
  const std::unique_lock<ChildLock> hold(measuring, std::try_to_lock);
  if (!hold) return Reason::not_measured_on_device;
  if (state.verdict == unknown) measure_on_device(of, state, measure, cublas);
  return reason_of(state);
}

std::int64_t native_time_of(const Product& product) {
  const State* state = classes.at(class_of(product, false));
  return state ? static_cast<std::int64_t>(state->native * size_of(product)) : 0;
}

std::string measured_text(const Kind& kind) {
  if (kind.m < 1 || kind.n < 1 || kind.k < 1 || kind.batch < 1) return "";
  Product product;
  product.type = kind.type, product.m = kind.m, product.n = kind.n, product.k = kind.k, product.batch = kind.batch;
  product.triangle = makes_triangle(kind.routine) ? lower_triangle : 0;
  const ShapeClass of = class_of(product, is_on_device(kind.routine));
  const State* state = classes.at(of);
  if (!state || state->native == 0) return "";
  char text[192];
  const int length = of.batch == 1 ? 0 : std::snprintf(text, sizeof text, "%lld of ", static_cast<long long>(of.batch));
  std::string found = "measured at " + std::string(text, static_cast<std::size_t>(length));
  std::snprintf(text, sizeof text, "%lld x %lld x %lld: %.4g ms, native %.4g ms", static_cast<long long>(of.m),
                static_cast<long long>(of.n), static_cast<long long>(of.k), 1e-6 * state->ours * size_of(of),
                1e-6 * state->native * size_of(of));
  return found + text;
}

}  // namespace ozfp4::interpose
