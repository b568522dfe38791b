// Planes of FP64 are the same whether they pass the caches or not.
#include <cmath>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/stages/encode.hpp"
#include "cpu/stages/scale.hpp"

namespace {

using namespace ozfp4;

Plan plan_for(std::int64_t k) {
  PlanRequest request;
  request.scheme = Scheme::two;
  request.alphabet = Alphabet::fp64;
  request.k = k;
  return make_plan(request);
}

std::vector<double> encode(const Plan& plan, const OperandView& view, const Scales& scales, const Block& block) {
  const auto entries = static_cast<std::size_t>(plan.planes_a * block.outers * block.inners);
  std::vector<double> planes(entries + 8);
  std::memset(planes.data(), kPoison, planes.size() * sizeof(double));
  const double poison = planes.back();
  cpu_encode(plan, plan.count(), view, line_scales(scales), block, planes.data());
  bool is_untouched = true;
  for (std::size_t i = entries; i < planes.size(); ++i)
    is_untouched = is_untouched && std::memcmp(&planes[i], &poison, sizeof poison) == 0;
  report("nothing is written behind the planes", is_untouched);
  planes.resize(entries);
  return planes;
}

// Planes of more than 32 MiB, whose lines begin anywhere in a cache line, against those of one line at a time.
void check_streamed(bool is_turned) {
  constexpr std::int64_t outers = 850, inners = 1031, item = sizeof(double);
  const Plan plan = plan_for(inners);
  std::vector<double> entries(outers * inners);
  for (double& x : entries) x = std::ldexp(static_cast<double>(random_int(-(1LL << 53), 1LL << 53)), -40);
  const OperandView view{reinterpret_cast<const char*>(entries.data()),
                         ElementType::float64,
                         outers,
                         inners,
                         is_turned ? item : inners * item,
                         is_turned ? outers * item : item};
  const Scales scales = cpu_scale(view, {Accuracy::scaled, plan.bits, 53, false, false});
  const std::vector<double> all = encode(plan, view, scales, {0, outers, 0, inners});
  report("planes are large", all.size() * sizeof(double) > 32u << 20);
  bool is_right = true;
  for (std::int64_t line = 0; line < outers; line += 7) {
    const std::vector<double> own = encode(plan, view, scales, {line, 1, 0, inners});
    for (int p = 0; p < plan.planes_a; ++p) {
      is_right = is_right && std::memcmp(own.data() + p * inners, all.data() + (p * outers + line) * inners,
                                         static_cast<std::size_t>(inners) * sizeof(double)) == 0;
    }
  }
  report("streamed planes", is_right);
}

}  // namespace

int main() {
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    for (const bool is_turned : {false, true}) check_streamed(is_turned);
  }
  return finish();
}
