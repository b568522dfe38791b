// Plans as values of the interface, and the workspace that products take.
#include <algorithm>
#include <string>

#include "c_api/checked/arguments.hpp"
#include "c_api/checked/options.hpp"
#include "c_api/checked/status.hpp"
#include "cpu/blocks.hpp"
#include "cpu/words/product.hpp"
#include "plan/cuts.hpp"
#include "product/choose.hpp"
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

// Of a real product, by planes or in words.
std::int64_t real_bytes(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t limit,
                        const CallOptions& options) {
  const std::int64_t by_planes = choose_blocks(plan, m, n, k, limit, options.accuracy).bytes;
  const Promise promise{options.accuracy, 24};
  if (plan.is_complex || !may_go_direct(options) || !ways_that_pay(m, n, k, promise, plan.bits).any()) return by_planes;
  const std::int64_t words = std::max(words_workspace(m, n, k, options.accuracy), words_workspace(n, m, k, options.accuracy));
  return std::max(by_planes, std::min(words, limit));
}

// Of a row-major complex product whose copies take so much: as many of them as fit in half of the limit.
std::int64_t complex_bytes(const Plan& plan, const Extents& of, std::int64_t inner, const CopyBytes& copies, std::int64_t limit,
                           const CallOptions& options) {
  const Extents block = cut_for_copies(of.rows, of.columns, copies, limit / 2);
  const std::int64_t rows = std::min(block.rows, of.rows), columns = std::min(block.columns, of.columns);
  const std::int64_t copied = rows * copies.row + columns * copies.column + rows * columns * copies.entry;
  if (copied >= limit) {
    refuse_option(Fault::workspace, "workspace_limit",
                  std::to_string(limit) + " bytes are too few, copies of complex operands for the smallest block take " +
                      std::to_string(copied));
  }
  return copied + real_bytes(plan, rows, 2 * columns, inner, limit - copied, options);
}

// Whatever the factors are: A is copied or not, C where beta is imaginary, and the product kept where a factor has both parts.
std::int64_t complex_bytes(const Plan& plan, const EntryType& type, const Extents& of, std::int64_t k,
                           const CallOptions& options) {
  const std::int64_t line = k * type.bytes();
  std::int64_t most = 0;
  for (const std::int64_t kept :
       {std::int64_t(0), std::int64_t(type.bytes()), both_parts_entry_bytes(type, options.accuracy, k)}) {
    const Extents block = cut_for_copies(of.rows, of.columns, {0, 0, kept}, options.workspace_limit / 2);
    const Extents own{std::min(block.rows, of.rows), std::min(block.columns, of.columns)};
    const std::int64_t held = own.rows * own.columns * kept, limit = options.workspace_limit - held;
    if (limit <= 0) continue;
    for (const std::int64_t row : {std::int64_t(0), line}) {
      for (const std::int64_t entry : {std::int64_t(0), std::int64_t(type.bytes())}) {
        most = std::max(most, held + complex_bytes(plan, own, 2 * k, {row, 2 * line, entry}, limit, options));
      }
    }
  }
  return most;
}

std::int64_t workspace_bytes(EntryType type, std::int64_t m, std::int64_t n, std::int64_t k, const CallOptions& options) {
  const std::int64_t inner = type.is_complex ? 2 * k : k;
  check_inner(options, inner, options.bound != nullptr);
  const bool is_paired = type.is_complex && !complex_words_pay(options, m, n, k);
  const std::shared_ptr<const Plan> plan = plan_for(options, type.precision(), inner, is_paired);
  if (m == 0 || n == 0 || k == 0) return 0;
  check_matrices(m, n, k);
  std::int64_t most = 0;
  for (const Extents& of : {Extents{m, n}, Extents{n, m}}) {  // row-major; column-major
    const std::int64_t own = type.is_complex ? complex_bytes(*plan, type, of, k, options)
                                             : real_bytes(*plan, of.rows, of.columns, inner, options.workspace_limit, options);
    most = std::max(most, own);
  }
  return most;
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
    *plan = new ozfp4_plan{plan_for(read_options(options), entry.precision(), inner, entry.is_complex)};
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

ozfp4_status ozfp4_workspace_size(ozfp4_type type, int64_t m, int64_t n, int64_t k, const ozfp4_options* options,
                                  int64_t* bytes) {
  return guarded([&] {
    check_pointer("bytes", bytes, true);
    const EntryType entry = float_type("type", type);
    *bytes = workspace_bytes(entry, check_extent("m", m), check_extent("n", n), check_extent("k", k), read_options(options));
  });
}

}  // extern "C"
