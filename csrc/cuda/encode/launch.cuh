// How the kernels of encode are launched: which there are for the words of a plan, and what each is given.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "cuda/encode/kernel.cuh"
#include "cuda/encode/launch.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {

// The plan's tables for a kernel.
template <EncodeKind Kind>
void set_plan(EncodeParameters<Kind>& arguments, const EncodePlan& plan) {
  if (plan.units > kUnitRoom<Kind>) throw std::logic_error("more units than an encode kernel has room for");
  std::copy_n(plan.unit, plan.units, arguments.unit);
  arguments.units = plan.units;
  arguments.planes = plan.planes;
  arguments.table_entries = plan.table_entries;
}
template <EncodeKind Kind>
TableOf<Kind> table_of(const EncodePlan& plan) {
  TableOf<Kind> table;
  if constexpr (kHasLimbTable<Kind>) std::copy_n(plan.table, kMaxTableEntries, table.entry);
  return table;
}

template <class T, EncodeKind Kind, int Words, bool Counts>
void launch_kernel(const EncodeLaunch& how) {
  EncodeParameters<Kind> parameters{};
  EncodeArguments& arguments = parameters;
  cut_operands(how, arguments);
  if (arguments.tiles == 0) return;
  set_plan(parameters, how.plan);
  arguments.units_used = how.plan.units > 0 && Kind != EncodeKind::int8_limbs ? how.units_used : nullptr;
  // Code that cannot wait is not launched before scale has ended.
  arguments.reads_early = how.after_scale;

  const auto kernel = encode_kernel<T, Kind, Words, Counts>;
  LaunchConfig config(Stage::encode, nullptr, kEncodeThreads, how.stream, how.after_scale);
  config.shared_bytes = encode_shared_bytes<Kind, Words>(arguments);
  const LaunchDevice device = current_device(Stage::encode);
  arguments.has_fast_fp64 = device.has_fast_fp64;
  const auto resident = static_cast<unsigned>(blocks_per_multiprocessor(kernel, config) * device.multiprocessors);
  config.grid = dim3(std::min(resident, arguments.tiles));
  launch(kernel, config, parameters, table_of<Kind>(how.plan));
}

// Entries of both floating-point types are encoded by one kernel, but for FP32 ones that become integers of one word. Among those
// of at most two words, the accuracies have records of FP32 entries at 47 bits alone; integers of more words are encoded by one
// kernel whether their rounded entries are counted or not.
template <EncodeKind Kind, int Words>
void launch_floats(const EncodeLaunch& how) {
  const bool counts = how.a.counts || how.b.counts;
  if constexpr (Words == 1) {
    const bool is_double = how.type() == ElementType::float64;
    is_double ? launch_kernel<double, Kind, 1, false>(how) : launch_kernel<float, Kind, 1, false>(how);
  } else if constexpr (Words == 2) {
    counts ? launch_kernel<AnyFloat, Kind, 2, true>(how) : launch_kernel<AnyFloat, Kind, 2, false>(how);
  } else {
    launch_kernel<AnyFloat, Kind, Words, true>(how);
  }
}

// Words: those that there are kernels for. Precondition: the plan's are among them.
template <EncodeKind Kind, int... Words>
void launch_words(const EncodeLaunch& how) {
  const auto try_words = [&](auto words) {
    if (how.plan.words == words.value) launch_floats<Kind, words.value>(how);
  };
  (try_words(std::integral_constant<int, Words>()), ...);
}

template <EncodeKind Kind>
void launch_integers(const EncodeLaunch& how) {
  how.plan.words == 1 ? launch_kernel<std::int64_t, Kind, 1, false>(how) : launch_kernel<std::int64_t, Kind, 3, false>(how);
}

}  // namespace ozfp4::cuda
