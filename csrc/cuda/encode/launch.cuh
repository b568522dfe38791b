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
  arguments.moduli_used = how.plan.units > 0 && Kind != EncodeKind::int8_limbs ? how.moduli_used : nullptr;
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

// Integers of one word or three, which entries may be themselves.
template <EncodeKind Kind, int Words>
inline constexpr bool kTakesIntegers =
    (Words == 1 || Words == 3) &&
    (Kind == EncodeKind::residues || Kind == EncodeKind::limb_tables || Kind == EncodeKind::limb_codes);

// Entries of all types are encoded by one kernel, whether those that are rounded are counted or not. There are two for residues
// of two words, of which counting would take registers: the accuracies count FP32 entries at 47 bits alone there.
template <EncodeKind Kind, int Words>
void launch_entries(const EncodeLaunch& how) {
  using Entry = std::conditional_t<kTakesIntegers<Kind, Words>, AnyEntry, AnyFloat>;
  if constexpr (Words == 2 && Kind == EncodeKind::residues) {
    if (!how.a.counts && !how.b.counts) return launch_kernel<Entry, Kind, Words, false>(how);
  }
  launch_kernel<Entry, Kind, Words, (Words > 1)>(how);
}

// Words: those that there are kernels for. Precondition: the plan's are among them.
template <EncodeKind Kind, int... Words>
void launch_words(const EncodeLaunch& how) {
  const auto try_words = [&](auto words) {
    if (how.plan.words == words.value) launch_entries<Kind, words.value>(how);
  };
  (try_words(std::integral_constant<int, Words>()), ...);
}

}  // namespace ozfp4::cuda
