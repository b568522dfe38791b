#include "product/trust/examination.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <stdexcept>
#include <utility>

#include "arith/accuracy/capacity.hpp"
#include "arith/limbs/e2m1.hpp"
#include "arith/multiples.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "product/options.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

struct WrongEntry {
  std::string reason;
};

std::vector<KernelName>& broken_kernels() {
  static auto* const kernels = new std::vector<KernelName>;
  return *kernels;
}

std::string text_of(std::int64_t x) { return std::to_string(x); }
std::string text_of(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

std::int64_t off_by_one(std::int64_t x) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) + 1); }
double off_by_one(double x) { return std::nextafter(x, HUGE_VAL); }

// Throws where one of the m x n entries differs; NaN is no entry of `expected`.
template <class T>
void compare(const std::string& about, std::int64_t m, std::int64_t n, std::vector<T> found, const std::vector<T>& expected,
             bool is_spoiled) {
  if (found.size() != expected.size()) throw std::runtime_error("the result has " + std::to_string(found.size()) + " entries");
  if (is_spoiled) found.back() = off_by_one(found.back());
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = expected.size(); i-- > 0;) {
    if (found[i] != expected[i]) ++wrong, first = i;
  }
  if (wrong == 0) return;
  const auto width = static_cast<std::size_t>(n);
  throw WrongEntry{about + "entry (" + std::to_string(first / width) + ", " + std::to_string(first % width) + ") is " +
                   text_of(found[first]) + ", exact is " + text_of(expected[first]) + ", " + std::to_string(wrong) + " of " +
                   std::to_string(m) + " x " + std::to_string(n) + " entries wrong"};
}

// Residues modulo all of them tell any two sums below 2^39 apart: pairwise coprime, each in a byte.
constexpr std::uint32_t kModuli[] = {256, 255, 253, 251, 247};

constexpr std::uint8_t kMinusZero = 8;

std::vector<std::uint8_t> plane_of(const std::vector<std::uint8_t>& entries, std::int64_t rows, std::int64_t k, Element element,
                                   std::int64_t pitch) {
  std::vector<std::uint8_t> plane(static_cast<std::size_t>(rows * pitch), kNoise);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::uint8_t* from = entries.data() + i * k;
    std::uint8_t* row = plane.data() + i * pitch;
    if (element != Element::e2m1) {
      std::copy(from, from + k, row);
      continue;
    }
    for (std::int64_t p = 0; p < k; p += 2) {
      row[p / 2] = static_cast<std::uint8_t>(from[p] | (p + 1 < k ? from[p + 1] << 4 : 0));
    }
  }
  return plane;
}

}  // namespace

void Examination::begin(const std::string& name) {
  ++count_;
  name_ = name;
}

void Examination::sums(const Case& own, const MultiplyCase& multiply) {
  begin(own.name);
  const std::vector<std::int64_t> whole = own.expected();
  std::map<std::int64_t, std::vector<std::int64_t>> residues{{0, whole}};
  for (Sums& found : multiply(own)) {
    std::vector<std::int64_t>& expected = residues[found.modulus];
    if (expected.empty()) {
      expected.reserve(whole.size());
      for (const std::int64_t x : whole) expected.push_back((x % found.modulus + found.modulus) % found.modulus);
    }
    const std::string modulo = found.modulus != 0 ? "modulo " + std::to_string(found.modulus) + " " : "";
    compare(own.name + ": " + found.by + modulo, own.m(), own.n(), std::move(found.entries), expected, seems_broken(kernel_));
  }
}

void Examination::whole(const WholeProduct& product, const Plan& plan, const MultiplyWhole& multiply) {
  begin(product.name + ", scheme " + name_of(plan.scheme) + " " + plan.alphabet.name + " " + plan.family + ", " +
        std::to_string(plan.bits) + " bits" + (product.updates ? ", as an update" : ""));
  compare(name_ + ": ", product.m, product.n, multiply(product, plan), product.expected, seems_broken(kernel_));
}

void Examination::integers(const std::string& name, std::int64_t m, std::int64_t n, const std::vector<std::int64_t>& expected,
                           const std::function<std::vector<std::int64_t>()>& multiply) {
  begin(name);
  compare(name + ": ", m, n, multiply(), expected, seems_broken(kernel_));
}

Plan test_plan(Scheme scheme, const Alphabet& alphabet, const char* family, int bits, std::int64_t k) {
  PlanRequest request;
  request.scheme = scheme;
  request.alphabet = alphabet;
  request.family = family;
  request.bits = bits;
  request.k = k;
  return make_plan(request);
}

void try_planes(Examination& examination, const PlaneKernel& kernel, bool is_short) {
  for_each_case(case_alphabet(kernel.element), is_short, [&](const Case& own) { examination.sums(own, kernel.multiply); });
  const Alphabet& alphabet = kernel.alphabet;
  const auto try_whole = [&](const WholeProduct& product, const Plan& plan) {
    examination.whole(product, plan, kernel.multiply_whole);
  };
  for (const WholeProduct& product : whole_products(is_short)) {
    try_whole(product, test_plan(Scheme::two, alphabet, "least", 53, product.k));
    if (is_short) continue;
    if (alphabet.has_paper_families) {
      for (const char* family : {"paper", "paper-karatsuba"}) {
        try_whole(product, test_plan(Scheme::two, alphabet, family, 53, product.k));
      }
    }
    for (const Alphabet* digits : kernel.digits) try_whole(product, test_plan(Scheme::one, *digits, "least", 53, product.k));
  }
  std::vector<WholeProduct> certified{chained_product()};
  if (!is_short) {
    certified = long_products();
    certified.insert(certified.begin(), {repaired_product(), chained_product()});
  }
  for (const WholeProduct& product : certified) {
    try_whole(product, test_plan(Scheme::two, alphabet, "least", accuracy_bits(product.accuracy, 53), product.k));
  }
}

void try_numbers(Examination& examination, WholeProduct product, Accuracy accuracy, int bits, bool also_updates,
                 const MultiplyWhole& multiply) {
  const Plan plan = test_plan(Scheme::two, Alphabet::int8, "least", bits, product.k);
  product.accuracy = accuracy;
  examination.whole(product, plan, multiply);
  product.updates = true;
  if (also_updates) examination.whole(product, plan, multiply);
}

const char* name_of(Element element) { return element == Element::u8 ? "u8" : element == Element::s8 ? "s8" : "e2m1"; }

std::vector<Sums> sums_by_planes(const Case& own, Element element, const RunPlanes& run) {
  const auto byte = [&](std::int32_t limb) {
    if (element != Element::e2m1) return static_cast<std::uint8_t>(limb);
    return own.minus_zero && limb == 0 ? kMinusZero : static_cast<std::uint8_t>(e2m1_encode(limb));
  };
  PlaneProduct product{element, static_cast<int>(own.m()), static_cast<int>(own.n()), static_cast<int>(own.k()), 0, {}, {}, {},
                       0};
  product.pitch = round_up(row_bytes(element, own.k()), 16);
  product.a = plane_of(own.lines_of_a<std::uint8_t>(byte), own.m(), own.k(), element, product.pitch);
  product.b = plane_of(own.lines_of_b<std::uint8_t>(byte), own.n(), own.k(), element, product.pitch);
  for (int i = 0; i < own.repeats; ++i) product.moduli.insert(product.moduli.end(), std::begin(kModuli), std::end(kModuli));
  product.out_pitch = round_up(own.n(), 16);
  const std::vector<std::uint8_t> left = run(product);
  if (std::any_of(left.end() - kBehind, left.end(), [](std::uint8_t x) { return x != kNoise; })) {
    throw std::runtime_error("the kernel wrote behind its output");
  }
  std::vector<Sums> found;
  const std::uint8_t* row = left.data();
  for (const std::uint32_t modulus : product.moduli) {
    found.push_back({modulus, {}});
    found.back().entries.reserve(static_cast<std::size_t>(own.m() * own.n()));
    for (std::int64_t i = 0; i < own.m(); ++i, row += product.out_pitch) {
      found.back().entries.insert(found.back().entries.end(), row, row + own.n());
    }
  }
  return found;
}

Verdict examine(const KernelName& kernel, bool is_short, const std::function<void(Examination&)>& tries) {
  const auto start = std::chrono::steady_clock::now();
  Verdict verdict;
  verdict.is_short = is_short;
  Examination examination(kernel);
  const auto fail = [&](const std::string& reason) {
    verdict.is_passed = false;
    verdict.reason = reason;
  };
  try {
    const DefaultFpMode mode;
    tries(examination);
  } catch (const WrongEntry& wrong) {
    fail(wrong.reason);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    const auto* refusal = dynamic_cast<const Refusal*>(&error);
    if (refusal != nullptr && refusal->fault() == Fault::out_of_memory) throw;
    verdict.is_lasting = false;
    fail("after " + examination.name() + ": " + error.what());
  }
  verdict.cases = examination.count();
  verdict.microseconds = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
  return verdict;
}

void break_kernels(std::vector<KernelName> kernels) { broken_kernels() = std::move(kernels); }

bool seems_broken(const KernelName& kernel) {
  const std::vector<KernelName>& broken = broken_kernels();
  return std::find(broken.begin(), broken.end(), kernel) != broken.end();
}

}  // namespace ozfp4::product
