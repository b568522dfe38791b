#include "cpu/partial/partial.hpp"

#include <cstring>

#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kAddGrain = 1 << 18;  // residues that a thread adds at least

// Moduli are below 2^31, so that the sum of two residues fits 32 bits.
template <class T>
void add_modulo(T* sum, const T* part, std::int64_t n, std::uint32_t modulus) {
  parallel_for(n, kAddGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint32_t x = std::uint32_t(sum[i]) + std::uint32_t(part[i]);
      sum[i] = static_cast<T>(x >= modulus ? x - modulus : x);
    }
  });
}

}  // namespace

void cpu_residues(const Plan& plan, int count, const EncodedOperand& a, const EncodedOperand& b, std::int64_t workspace_limit,
                  void* output) {
  const std::int64_t rows = a.view.outer, columns = b.view.outer, inner = a.view.inner;
  const std::int64_t entry = plan.output_bytes(), groups = plan.groups_of(count);
  if (rows == 0 || columns == 0) return;
  if (inner == 0) {
    std::memset(output, 0, static_cast<std::size_t>(groups * rows * columns * entry));
    return;
  }
  const BlockShape shape = choose_blocks(plan, rows, columns, inner, workspace_limit);
  StageTimes times;
  run_blocks(plan, count, a, b, shape, times, {}, [&](const OutputBlock& block) {
    const char* from = static_cast<const char*>(block.output);
    const std::int64_t bytes = block.columns * entry;
    for (std::int64_t line = 0; line < groups * block.rows; ++line, from += bytes) {
      const std::int64_t group = line / block.rows, row = block.row + line % block.rows;
      std::memcpy(static_cast<char*>(output) + ((group * rows + row) * columns + block.column) * entry, from,
                  static_cast<std::size_t>(bytes));
    }
  });
}

void cpu_add_residues(const Plan& plan, int count, std::int64_t entries, void* sum, const void* part) {
  for (int g = 0; g < plan.groups_of(count); ++g) {
    const auto modulus = static_cast<std::uint32_t>(plan.groups[static_cast<std::size_t>(g)].modulus);
    const std::int64_t first = g * entries;
    if (plan.output_bytes() == 1) {
      add_modulo(static_cast<std::uint8_t*>(sum) + first, static_cast<const std::uint8_t*>(part) + first, entries, modulus);
    } else {
      add_modulo(static_cast<std::uint32_t*>(sum) + first, static_cast<const std::uint32_t*>(part) + first, entries, modulus);
    }
  }
}

}  // namespace ozfp4
