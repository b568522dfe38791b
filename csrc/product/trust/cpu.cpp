#include "product/trust/cpu.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "arith/accuracy/capacity.hpp"
#include "cpu/direct/matmul.hpp"
#include "cpu/limbs/unit.hpp"
#include "cpu/matmul.hpp"
#include "cpu/multiply/multiply.hpp"
#include "cpu/runtime/environment.hpp"
#include "product/options.hpp"
#include "product/trust/child.hpp"
#include "product/trust/examination.hpp"
#include "product/trust/known.hpp"
#include "product/trust/machine.hpp"

namespace ozfp4::product {
namespace {

using Kind = CpuKernel::Kind;

// ---- One kernel on chosen entries ----

// By a plan of one digit: its only output are the sums of products.
template <class Entry>
std::vector<Sums> sums_of_planes(const Case& own, const Alphabet& alphabet) {
  const auto entry = [](std::int32_t limb) { return static_cast<Entry>(limb); };
  const std::vector<Entry> a = own.lines_of_a<Entry>(entry), b = own.lines_of_b<Entry>(entry);
  Sums found{0, std::vector<std::int64_t>(static_cast<std::size_t>(own.m() * own.n()))};
  multiply_planes(test_plan(Scheme::one, alphabet, "least", kLeastBits, 1), 1, {own.m(), own.n(), own.k()}, a.data(), b.data(),
                  found.entries.data());
  return {std::move(found)};
}

// A result of 64 bits takes words of as many where the norms do not fit fewer, one of 32 bits always takes those of 32.
template <class Result>
Sums sums_in_words(const Case& own, std::int64_t modulus, ElementType type) {
  const auto entry = [](std::int32_t limb) { return static_cast<std::int64_t>(limb); };
  const std::vector<std::int64_t> a = own.lines_of_a<std::int64_t>(entry), b = own.lines_of_b<std::int64_t>(entry);
  const auto view = [&](const std::vector<std::int64_t>& lines, std::int64_t outer) {
    return OperandView{reinterpret_cast<const char*>(lines.data()), ElementType::int64, outer, own.k(), 8 * own.k(), 8};
  };
  std::vector<Result> found(static_cast<std::size_t>(own.m() * own.n()), Result(0x5A));
  const std::int64_t bytes = sizeof(Result);
  const ResultView c{reinterpret_cast<char*>(found.data()), type, own.m(), own.n(), bytes * own.n(), bytes};
  const OperandView of_a = view(a, own.m()), of_b = view(b, own.n());
  DirectMatmul direct(of_a, of_b, {c, 0}, false);
  if (direct.needs_norms()) direct.look(of_a, of_b);
  if (!direct.prepare(kDefaultWorkspace)) throw std::runtime_error("the product was not made in words");
  direct.multiply(of_a, of_b, c, {});
  return {modulus, {found.begin(), found.end()}};
}

std::vector<double> whole_product(const WholeProduct& product, const Plan& plan, Way way) {
  const OperandMemory a = memory_of(product, false), b = memory_of(product, true);
  const std::int64_t entry = entry_bytes(product.type());
  std::vector<char> found = memory_of_result(product), zeros(found.size(), 0);
  const auto view = [&](std::vector<char>& bytes) {
    return ResultView{bytes.data(), product.type(), product.m, product.n, entry * product.n, entry};
  };
  Target target{view(found)};
  if (product.updates) target.update = {true, Update::of(1, 1), view(zeros)};
  MatmulOptions options;
  options.workspace_limit = kDefaultWorkspace;
  options.way = way;
  options.promise = {product.accuracy, product.is_single ? 24 : 53};
  options.without_planes_only = way != Way::planes;
  const MatmulOutcome outcome = cpu_matmul(plan, MatmulOperand(a.view()), MatmulOperand(b.view()), target, options);
  if ((way == Way::words && outcome.in_words.count == 0) || (way == Way::limbs && outcome.by_limbs.count == 0)) {
    throw std::runtime_error("the product was not made in words or by limbs");
  }
  return numbers_in(found, product.type());
}

// ---- The test of a kernel ----

void try_planes(Examination& examination, const CpuKernel& kernel, bool is_short) {
  const ForcedKernel forced(kernel.unit);
  const Alphabet& alphabet = *kernel.alphabet;
  const auto multiply = [&](const Case& own) {
    return alphabet.entry == PlaneEntry::fp64 ? sums_of_planes<double>(own, alphabet)
                                              : sums_of_planes<std::int8_t>(own, alphabet);
  };
  const auto multiply_whole = [](const WholeProduct& product, const Plan& plan) {
    return whole_product(product, plan, Way::planes);
  };
  try_planes(examination, {alphabet.name, alphabet, {&alphabet}, multiply, multiply_whole}, is_short);
}

// In all accuracies and as updates: in words with none, one and two residues; by four, seven, eight and nine limbs. These do not
// hold the integers of chained products of float64.
void try_numbers(Examination& examination, Way way, bool is_short) {
  const bool has_limbs = way == Way::limbs;
  const auto multiply = [way](const WholeProduct& product, const Plan& plan) { return whole_product(product, plan, way); };
  for (const bool is_single : {false, true}) {
    if (is_single && is_short && !has_limbs) continue;
    const int precision = is_single ? 24 : 53, longest = accuracy_bits(Accuracy::correct, precision);
    std::vector<int> scaled = is_single ? std::vector<int>{24, 40} : std::vector<int>{53, 62};
    if (has_limbs && !is_single) scaled.push_back(70);
    for (const WholeProduct& product : number_products(is_short, is_single)) {
      for (const int bits : scaled) try_numbers(examination, product, Accuracy::scaled, bits, true, multiply);
      for (const Accuracy accuracy : {Accuracy::standard, Accuracy::correct}) {
        try_numbers(examination, product, accuracy, longest, true, multiply);
      }
    }
    if (has_limbs && !is_single) continue;
    try_numbers(examination, chained_product(is_single, 5), Accuracy::standard, accuracy_bits(Accuracy::standard, precision),
                true, multiply);
  }
}

Verdict tried(const CpuKernel& kernel, bool is_short) {
  return examine(kernel.name(), is_short, [&](Examination& examination) {
    switch (kernel.kind) {
      case Kind::planes: return try_planes(examination, kernel, is_short);
      case Kind::words: return try_numbers(examination, Way::words, is_short);
      case Kind::limbs: return try_numbers(examination, Way::limbs, is_short);
      case Kind::integers: break;
    }
    for_each_case(case_alphabet("integers"), is_short, [&](const Case& own) {
      examination.sums(own, [](const Case& given) {
        return std::vector<Sums>{sums_in_words<std::int64_t>(given, 0, ElementType::int64),
                                 sums_in_words<std::uint32_t>(given, std::int64_t(1) << 32, ElementType::uint32)};
      });
    });
  });
}

// Instructions of a matrix unit trap where a system or an emulator says that it has them and does not.
Verdict tried_where_it_may(const CpuKernel& kernel, bool is_short) {
  const bool is_by_limbs = kernel.kind == Kind::limbs && amx_limbs.is_here();
  if (goes_apart(kernel.unit != &amx_kernel && !is_by_limbs)) {
    if (std::optional<Verdict> found = examine_in_copy(is_short, [&] { return tried(kernel, is_short); }))
      return *std::move(found);
  }
  return tried(kernel, is_short);
}

// ---- What is known ----

KnownVerdicts<CpuKernel> known;
std::atomic<int> verdicts{0}, failures{0};

// One test at a time: who comes waits by yielding. A forked child has it free, whoever held it: what it guards is whole at any
// time.
struct Testing {
  static inline std::atomic<bool> is_held{false};

  Testing() {
    while (is_held.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  ~Testing() { is_held.store(false, std::memory_order_release); }
  Testing(const Testing&) = delete;
  Testing& operator=(const Testing&) = delete;
};
#if defined(__unix__) || defined(__APPLE__)
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] { Testing::is_held = false; });
#endif

// Disabled is what failed for any alphabet.
void disable_failed() {
  std::vector<const ByteKernel*> units;
  bool has_limbs = false;
  for (const CpuKernel& kernel : failed_kernels()) {
    if (kernel.unit != nullptr) units.push_back(kernel.unit);
    has_limbs = has_limbs || kernel.kind == Kind::limbs;
  }
  disable_byte_kernels(units);
  disable_limb_unit(has_limbs);
}

// Precondition: a Testing is held.
const Verdict& adopt(const CpuKernel& kernel, Verdict verdict) {
  const Verdict& kept = known.keep(kernel, std::move(verdict));
  disable_failed();
  ++verdicts;
  failures += kept.is_passed ? 0 : 1;
  return kept;
}

const Verdict& tested(const CpuKernel& kernel, bool is_short) {
  Verdict found = tried_where_it_may(kernel, is_short);
  store_verdict(key_of(cpu_facts(), kernel.name()), found);
  return adopt(kernel, std::move(found));
}

}  // namespace

KernelName CpuKernel::name() const {
  switch (kind) {
    case Kind::integers: return {"integers in machine words", "integers"};
    case Kind::words: return {"numbers in machine words", "words"};
    case Kind::limbs: return {"numbers by limbs of eight bits", "limbs"};
    case Kind::planes: break;
  }
  const bool has_limbs = !alphabet->residue_is_limb();
  if (unit != nullptr)
    return {std::string(unit->name) + (has_limbs ? " on packed limbs" : " on packed residues"), alphabet->name};
  const bool is_fp64 = alphabet->entry == PlaneEntry::fp64;
  return {is_fp64 ? "FP64 on residues" : has_limbs ? "FP32 on decoded limbs" : "FP32 on balanced residues", alphabet->name};
}

CpuKernel planes_kernel(const ByteKernel* unit, const Alphabet& alphabet) {
  const ByteKernel* taken = alphabet.entry == PlaneEntry::fp64 ? nullptr : unit;
  for (const Alphabet* known_one : alphabets()) {
    if (known_one->name == alphabet.name) return {Kind::planes, taken, known_one};  // a plan's own copy shares the name
  }
  return {Kind::planes, taken, &find_alphabet(alphabet.name)};
}

std::vector<CpuKernel> cpu_kernels() {
  std::vector<CpuKernel> found;
  for (const Alphabet* alphabet : alphabets()) {
    for (const ByteKernel* unit : byte_kernels()) {
      if (unit != &portable_bytes_kernel && alphabet->entry != PlaneEntry::fp64) found.push_back(planes_kernel(unit, *alphabet));
    }
    found.push_back(planes_kernel(nullptr, *alphabet));
  }
  found.insert(found.end(), {{Kind::integers}, {Kind::words}});
  if (amx_limbs.is_here()) found.push_back({Kind::limbs});
  return found;
}

CpuKernel find_cpu_kernel(const KernelName& name) {
  std::vector<CpuKernel> candidates = cpu_kernels();
  candidates.push_back({Kind::limbs});
  for (const Alphabet* alphabet : alphabets()) candidates.push_back(planes_kernel(&portable_bytes_kernel, *alphabet));
  for (const CpuKernel& kernel : candidates) {
    if (kernel.name() == name) return kernel;
  }
  throw std::invalid_argument("kernel: '" + name.name + "' (" + name.element + ") is none of this CPU");
}

const Verdict& verdict_of(const CpuKernel& kernel) {
  if (const Verdict* found = known.find(kernel)) return *found;
  const Testing alone;
  if (const Verdict* found = known.find(kernel)) return *found;
  if (std::optional<Verdict> stored = load_verdict(key_of(cpu_facts(), kernel.name()))) return adopt(kernel, *std::move(stored));
  return tested(kernel, true);
}

std::optional<Verdict> known_verdict(const CpuKernel& kernel) {
  const Verdict* found = known.find(kernel);
  return found != nullptr ? *found : load_verdict(key_of(cpu_facts(), kernel.name()));
}

const Verdict& test(const CpuKernel& kernel, bool is_short) {
  const Testing alone;
  return tested(kernel, is_short);
}

int verdict_count() { return verdicts.load(std::memory_order_relaxed); }
int failure_count() { return failures.load(std::memory_order_relaxed); }

std::vector<CpuKernel> failed_kernels() { return known.failed(); }

void forget_cpu_verdicts() {
  const Testing alone;
  known.forget();
  disable_failed();
  ++verdicts;
  read_environment();
}

}  // namespace ozfp4::product
