// Which kernels of this CPU are trusted: each is tested on exact integers before its first use in a process. An earlier process
// of this build on the same processor counts, too. One that fails is disabled, and the next one is used. A known verdict costs
// one look.
#pragma once

#include <optional>
#include <vector>

#include "cpu/bytes/kernels/kernel.hpp"
#include "plan/alphabet.hpp"
#include "product/trust/verdict.hpp"

namespace ozfp4::product {

// A kernel for planes of an alphabet: a unit for bytes, or floating point where there is none. Or integers as machine words
// (`cpu/direct`), or small products of floating-point numbers in words (`cpu/words`) or limbs (`cpu/limbs`).
struct CpuKernel {
  enum class Kind : std::uint8_t { planes, integers, words, limbs };

  Kind kind;
  const ByteKernel* unit = nullptr;
  const Alphabet* alphabet = nullptr;

  KernelName name() const;
  bool operator==(const CpuKernel& other) const { return kind == other.kind && unit == other.unit && alphabet == other.alphabet; }
};
CpuKernel planes_kernel(const ByteKernel* unit, const Alphabet& alphabet);

// The kernels of this CPU: for each alphabet the best first, but for bytes in plain loops; then those without planes, limbs where
// there is a unit.
std::vector<CpuKernel> cpu_kernels();

// The kernel of that name, among them bytes and limbs in plain loops. Throws std::invalid_argument where there is none.
CpuKernel find_cpu_kernel(const KernelName& name);

// On a kernel about to be used: what is known, else that of the short form, tried now. Throws as examine.
const Verdict& verdict_of(const CpuKernel& kernel);

// The verdict of this process or an earlier one; nothing before the first test.
std::optional<Verdict> known_verdict(const CpuKernel& kernel);

// Tries it now, whatever is known, and keeps the verdict here and on disk.
const Verdict& test(const CpuKernel& kernel, bool is_short);

// How often a verdict became known in this process, and how often one of a kernel that failed; which those are.
int verdict_count();
int failure_count();
std::vector<CpuKernel> failed_kernels();

// Knows as little as a new process, which reads the environment.
void forget_cpu_verdicts();

}  // namespace ozfp4::product
