#include "interpose/call/choice.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <stdexcept>

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/threading/child_lock.hpp"
#include "interpose/process/fork.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/settings.hpp"
#include "interpose/process/table.hpp"

namespace ozfp4::interpose {
namespace {

constexpr double margin = 1.1;  // native has to take so many times as long as ours
constexpr double share = 0.01;  // of the time in real routines on the CPU, which measuring may take
// Nanoseconds of what comes once: of ozfp4's first product in a process, which tries what multiplies on exact integers (40 to 50
// ms on Zen 4, 72 where others were at work beside it), and of the first of a class, for which a plan is made.
constexpr double expected_first = 60e6, expected_plan = 0.5e6;
constexpr double share_of_life = 0.02,
                 at_once = 40e6;  // of the process's time, and nanoseconds: what measuring on a GPU may take
constexpr double expected_once = 1.5e6, expected_rate = 2500;  // nanoseconds of each, and multiplications in one more
constexpr std::int64_t least_on_device = 1024;                 // the least extent that is measured there
constexpr std::size_t capacity = 4096;                         // classes
enum : int { unknown, ours_is_faster, native_is_faster };

struct State {
  std::atomic<std::int64_t> native_time;  // nanoseconds of the program's own products
  std::atomic<std::int64_t> native_size;  // multiplications of these, at most 2^62
  std::atomic<int> verdict;
  std::atomic<std::int64_t> ours, native;  // nanoseconds of the measured product
  void forget() { native_time = native_size = ours = native = 0, verdict = unknown; }
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

// What is measured on a processor: extents and multiplications up to these.
struct Reach {
  std::int64_t extent;
  double size;
};
constexpr Reach on_gpu{8192, 0x1p36}, on_cpu{2048, 0x1p28};
// With AMX real products as large as these may take less time than native ones, and smaller ones more.
constexpr Reach on_amx{4096, 0x1p36};

// As it is found first. Where nothing was asked for the CPU alone is asked: the system's permission, which changes what signal
// stacks a program may have, is for when a product is made.
bool has_amx() {
  enum : int { unasked, has_none, is_there };
  static std::atomic<int> found{unasked};
  int known = found.load(std::memory_order_relaxed);
  if (known == unasked) {
    try {
      const bool has = is_byte_kernel_asked() ? serving_byte_kernel() == &amx_kernel : has_amx_instructions();
      known = has ? is_there : has_none;
    } catch (const std::invalid_argument&) {  // of OZFP4_CPU_KERNEL, which every product refuses
      known = has_none;
    }
    found.store(known, std::memory_order_relaxed);
  }
  return known == is_there;
}

Reach reach(Type type, bool is_on_device) { return is_on_device ? on_gpu : !is_complex(type) && has_amx() ? on_amx : on_cpu; }

// How many native products of this size measuring is expected to take, before either is known: with AMX ours takes as long as
// four at most from 64^3 on, and as two of large ones, of which cpu_times.cpp has three made in place of eight.
double expected_products(double size) {
  if (size < 0x1p18 || !has_amx()) return 64;
  return size < 0x1p32 ? 20 : 6;
}

// What the program's own products of the class took for its shape, in nanoseconds; 0 where there were none.
double native_once(const ShapeClass& of, const State& state) {
  const double size = static_cast<double>(state.native_size.load(std::memory_order_relaxed));
  return size > 0 ? static_cast<double>(state.native_time.load(std::memory_order_relaxed)) / size * size_of(of) : 0;
}

bool is_affordable(const ShapeClass& of, const State& state) {
  if (of.is_on_device) {
    const double life = static_cast<double>(now() - born.load(std::memory_order_relaxed));
    const double expected = expected_once + size_of(of) / expected_rate;
    return static_cast<double>(spent_on_device.load(std::memory_order_relaxed)) + expected <= at_once + share_of_life * life;
  }
  const double once = native_once(of, state);
  if (once <= 0) return false;
  const double first = has_tried.load(std::memory_order_relaxed) ? 0 : expected_first;
  const double expected = first + expected_plan + expected_products(size_of(of)) * once;
  const double budget = share * static_cast<double>(all_native.load(std::memory_order_relaxed));
  return static_cast<double>(spent.load(std::memory_order_relaxed)) + expected <= budget;
}

void measure(const ShapeClass& of, State& state, const Arena& arena) {
  const std::int64_t began = now();
  Product extents;
  extents.type = of.type, extents.m = of.m, extents.n = of.n, extents.k = of.k, extents.batch = of.batch;
  extents.triangle = of.is_triangle ? lower_triangle : 0;
  Times times = arena.measure(arena.context, extents);
  // One product by itself, whose threads were asleep, may take half as long again as one of many.
  if (const double once = native_once(of, state); once > 0 && times.native > 0) {
    times.native = std::max<std::int64_t>(1, std::min(times.native, static_cast<std::int64_t>(once)));
  }
  const bool is_faster = times.ours > 0 && static_cast<double>(times.ours) * margin <= static_cast<double>(times.native);
  state.ours = times.ours;
  state.native = times.native;
  state.verdict.store(is_faster ? ours_is_faster : native_is_faster, std::memory_order_release);
  (arena.is_on_device ? spent_on_device : spent) += now() - began;
  if (!arena.is_on_device) has_tried = true;
}

// Those of the product's class, for its own size.
Times expected(const Product& product, bool is_on_device) {
  if (product.m == 0 || product.n == 0 || product.k == 0 || product.batch == 0) return {};
  const ShapeClass of = class_of(product, is_on_device);
  const State* state = classes.at(of);
  if (!state) return {};
  const double scale = size_of(product) / size_of(of);
  const auto scaled = [scale](std::int64_t time) { return static_cast<std::int64_t>(static_cast<double>(time) * scale); };
  return {scaled(state->ours.load()), scaled(state->native.load())};
}

}  // namespace

std::int64_t level(std::int64_t extent) {
  const std::int64_t power = std::int64_t(1) << (63 - __builtin_clzll(static_cast<unsigned long long>(extent)));
  const std::int64_t middle = power + power / 2;
  return power > 1 && extent >= middle ? middle : power;
}

ShapeClass class_of(const Product& p, bool is_on_device) {
  const Reach most_of = reach(p.type, is_on_device);
  const std::int64_t most = most_of.extent;
  ShapeClass found{p.type, is_on_device,   level(std::min(p.m, most)), level(std::min(p.n, most)), level(std::min(p.k, most)),
                   1,      p.triangle != 0};
  const auto is_too_large = [&found, most_of] {
    const double entries = static_cast<double>(std::max({found.m, found.n, found.k})) * static_cast<double>(found.batch);
    return size_of(found) > most_of.size || entries > 0x1p20;
  };
  while (found.batch <= p.batch / 4) found.batch *= 4;
  while (found.batch > 1 && is_too_large()) found.batch /= 4;
  while (size_of(found) > most_of.size) {
    std::int64_t& extent = found.m >= found.n && found.m >= found.k ? found.m : found.n >= found.k ? found.n : found.k;
    extent = level(extent - 1);
    if (found.is_triangle && &extent == &found.m) found.n = found.m;
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

Reason known_by_time(const Product& product, bool is_on_device) {
  const ShapeClass of = class_of(product, is_on_device);
  const State* state = classes.at(of);
  const int verdict = state ? state->verdict.load(std::memory_order_acquire) : unknown;
  if (verdict != unknown) return verdict == native_is_faster ? Reason::slower : Reason::faster;
  if (state && is_affordable(of, *state)) return Reason::always;
  return is_on_device ? Reason::not_measured_on_device : Reason::not_measured;
}

Reason by_time(const Product& product, const Arena& arena) {
  const Reason known = known_by_time(product, arena.is_on_device);
  if (known != Reason::always) return known;
  const ShapeClass of = class_of(product, arena.is_on_device);
  State& state = *classes.at(of);
  const std::unique_lock<ChildLock> hold(measuring, std::try_to_lock);
  if (!hold) return arena.is_on_device ? Reason::not_measured_on_device : Reason::not_measured;
  if (state.verdict == unknown) measure(of, state, arena);
  return state.verdict == ours_is_faster ? Reason::faster : Reason::slower;
}

std::int64_t native_time_of(const Product& product, bool is_on_device) { return expected(product, is_on_device).native; }

std::int64_t gain_of(const Product& product, bool is_on_device) {
  const Times times = expected(product, is_on_device);
  return times.native - times.ours;
}

void has_cost(std::int64_t nanoseconds) { spent_on_device += nanoseconds; }

void native_took(const Product& product, std::int64_t nanoseconds) {
  // In larger amounts, and of a class its rate alone: threads that call at once do not wait for each other's.
  static thread_local std::int64_t pending __attribute__((tls_model("initial-exec"))) = 0;
  static thread_local unsigned calls __attribute__((tls_model("initial-exec"))) = 0;
  pending += nanoseconds;
  if (pending >= 100000) {
    all_native.fetch_add(pending, std::memory_order_relaxed);
    pending = 0;
  }
  State* state = classes.at(class_of(product, false));
  if (!state || state->verdict.load(std::memory_order_relaxed) != unknown) return;
  if (calls++ % 16 != 0 && state->native_size.load(std::memory_order_relaxed) != 0) return;
  state->native_time.fetch_add(nanoseconds, std::memory_order_relaxed);
  state->native_size.fetch_add(static_cast<std::int64_t>(std::min(size_of(product), 0x1p50)), std::memory_order_relaxed);
}

std::string measured_text(const Kind& kind) {
  if (kind.m < 1 || kind.n < 1 || kind.k < 1 || kind.batch < 1) return "";
  Product product;
  product.type = kind.type, product.m = kind.m, product.n = kind.n, product.k = kind.k, product.batch = kind.batch;
  product.triangle = makes_triangle(kind.routine) ? lower_triangle : 0;
  const ShapeClass of = class_of(product, is_on_device(kind.routine));
  const State* state = classes.at(of);
  if (!state || !state->native) return "";
  char text[192];
  const int length = of.batch == 1 ? 0 : std::snprintf(text, sizeof text, "%lld of ", static_cast<long long>(of.batch));
  std::string found = "measured at " + std::string(text, static_cast<std::size_t>(length));
  std::snprintf(text, sizeof text, "%lld x %lld x %lld: %.4g ms, native %.4g ms", static_cast<long long>(of.m),
                static_cast<long long>(of.n), static_cast<long long>(of.k), 1e-6 * static_cast<double>(state->ours.load()),
                1e-6 * static_cast<double>(state->native.load()));
  return found + text;
}

}  // namespace ozfp4::interpose
