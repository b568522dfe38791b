// Plans as values of the interface.
#include <algorithm>
#include <string>

#include "c_api/arguments.hpp"
#include "c_api/options.hpp"
#include "c_api/status.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

ozfp4_plan_info describe(const Plan& plan) {
  ozfp4_plan_info info = {};
  info.scheme = plan.scheme == Scheme::one ? OZFP4_SCHEME_I : OZFP4_SCHEME_II;
  info.backend = backend_of(plan.alphabet);
  info.family = family_of(plan.family);
  info.bits = plan.bits;
  info.products = plan.products();
  info.planes = plan.planes_a;
  info.moduli = plan.has_moduli() ? plan.count() : 0;
  info.is_complex = plan.is_complex ? 1 : 0;
  info.k_max = plan.k_max;
  return info;
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4;
using namespace ozfp4::c_api;  // of the definitions below alone

extern "C" {

ozfp4_status ozfp4_plan_create(ozfp4_type type, int64_t k, const ozfp4_options* options, ozfp4_plan** plan) {
  return guarded([&] {
    check_pointer("plan", plan, true);
    const EntryType entry = float_type("type", type);
    check_extent("k", k);
    const std::int64_t inner = entry.is_complex ? 2 * k : k;
    *plan =
        new ozfp4_plan{plan_for(read_options(options, Entries::numbers, Unit::cpu), entry.precision(), inner, entry.is_complex)};
  });
}

void ozfp4_plan_destroy(ozfp4_plan* plan) { delete plan; }

ozfp4_status ozfp4_plan_describe(const ozfp4_plan* plan, ozfp4_plan_info* info) {
  return guarded([&] {
    check_pointer("plan", plan, true);
    check_pointer("info", info, true);
    if (info->size < sizeof info->size + sizeof info->scheme) {
      refuse("info->size: " + std::to_string(info->size) + " is not the size of the structure");
    }
    const ozfp4_plan_info own = describe(*plan->plan);
    write_sized(info, &own, info->size, sizeof own);
  });
}

ozfp4_status ozfp4_plan_moduli(const ozfp4_plan* plan, int64_t* moduli, int32_t count) {
  return guarded([&] {
    check_pointer("plan", plan, true);
    check_extent("count", count);
    check_pointer("moduli", moduli, count > 0);
    const Plan& own = *plan->plan;
    for (int i = 0; own.has_moduli() && i < std::min<int>(count, own.count()); ++i) moduli[i] = own.modulus(i);
  });
}

}  // extern "C"
