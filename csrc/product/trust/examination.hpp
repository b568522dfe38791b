// The self-test of one kernel: every case, until one is wrong. It neither looks at nor changes what is known of the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cuda/multiply/schedule.hpp"
#include "plan/plan.hpp"
#include "product/trust/cases.hpp"
#include "product/trust/verdict.hpp"
#include "product/trust/whole.hpp"

namespace ozfp4::product {

// The sums of a case as a kernel leaves them, m x n, modulo a number; 0: the sums themselves.
struct Sums {
  std::int64_t modulus = 0;
  std::vector<std::int64_t> entries;
  std::string by{};  // which of a kernel's ways made them, with a space behind it; empty: there is one
};
using MultiplyCase = std::function<std::vector<Sums>(const Case&)>;
using MultiplyWhole = std::function<std::vector<double>(const WholeProduct&, const Plan&)>;

// Counts the cases. Each of `sums`, `whole` and `integers` counts a case and throws where it is wrong.
class Examination {
 public:
  explicit Examination(KernelName kernel) : kernel_(std::move(kernel)) {}

  void sums(const Case& own, const MultiplyCase& multiply);
  void whole(const WholeProduct& product, const Plan& plan, const MultiplyWhole& multiply);
  // A whole product of integers modulo 2^64.
  void integers(const std::string& name, std::int64_t m, std::int64_t n, const std::vector<std::int64_t>& expected,
                const std::function<std::vector<std::int64_t>()>& multiply);

  int count() const { return count_; }
  const std::string& name() const { return name_; }

 private:
  void begin(const std::string& name);

  const KernelName kernel_;
  int count_ = 0;
  std::string name_ = "first case";
};

Plan test_plan(Scheme scheme, const Alphabet& alphabet, const char* family, int bits, std::int64_t k);

// A kernel for planes of an alphabet: all cases of an element, and whole products by a plan of each kind. `digits`: the alphabets
// with plans of scheme I that it multiplies.
struct PlaneKernel {
  std::string element;
  const Alphabet& alphabet;
  std::vector<const Alphabet*> digits;
  MultiplyCase multiply;
  MultiplyWhole multiply_whole;
};
void try_planes(Examination& examination, const PlaneKernel& kernel, bool is_short);

// Tests a function that makes products without planes: the product with an accuracy, by a plan of residues of so many bits, and
// as an update, too.
void try_numbers(Examination& examination, WholeProduct product, Accuracy accuracy, int bits, bool also_updates,
                 const MultiplyWhole& multiply);

// ---- Cases as the multiply kernels of a GPU take them (csrc/cuda/multiply/contract.hpp) ----

// One plane of each operand, rows at a multiple of 16 bytes with noise behind them, times each other modulo several numbers.
struct PlaneProduct {
  Element element;
  int m, n, k;
  std::int64_t pitch;              // of rows of A and of B
  std::vector<std::uint8_t> a, b;  // rows of A, columns of B
  std::vector<std::uint32_t> moduli;
  std::int64_t out_pitch;  // of rows of the output, a matrix for each modulus

  std::int64_t out_bytes() const { return static_cast<std::int64_t>(moduli.size()) * m * out_pitch; }
};

// Bytes behind the output, which must stay as they were, and what all of it holds before.
inline constexpr std::int64_t kBehind = 256;
inline constexpr std::uint8_t kNoise = 0x5A;

// The output and what is behind it.
using RunPlanes = std::function<std::vector<std::uint8_t>(const PlaneProduct&)>;

// The result of a kernel for a case. Throws std::runtime_error where it wrote behind its output.
std::vector<Sums> sums_by_planes(const Case& own, Element element, const RunPlanes& run);

const char* name_of(Element element);

// ---- The verdict ----

// The verdict of what `tries` makes of it, in the default floating-point mode: an exception of the kernel fails it. Throws
// std::bad_alloc, and Refusal Fault::out_of_memory: where there is no memory for the test, nothing is said about the kernel.
Verdict examine(const KernelName& kernel, bool is_short, const std::function<void(Examination&)>& tries);

// For tests: from now on these kernels, and no others, seem to be off by one in the last entry of each product.
void break_kernels(std::vector<KernelName> kernels);
bool seems_broken(const KernelName& kernel);

}  // namespace ozfp4::product
