// Stand-alone check, without a GPU, that a GPU never lets fewer moduli serve than the CPU does: the limits of make_prefix_rule
// against moduli_needed, around each limit and over all magnitudes, for every kind of plan; and that scale and reconstruct
// count prefixes from the same one on.
//
//   nvcc -std=c++17 -O3 -I csrc tests/cuda/prefix_check.cu csrc/multiply/{gemm_problem,cuda_schedule}.cpp
//        csrc/plan/{plan,crt_constants}.cpp csrc/reconstruct/reconstruct_plan.cpp -o prefix_check
//
// Prints "N passed, N failed" and exits with 1 on a failure.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "check.cuh"
#include "multiply/cuda_schedule.hpp"
#include "reconstruct/reconstruct_plan.hpp"

// The one thing that cuda_schedule.cpp wants of the dispatch, which wants all kernels.
const char* ozfp4::cuda::kernel_name(Kernel) { return "a kernel"; }

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

// As PrefixRule says that the device chooses.
int chosen(const PrefixRule& rule, double norms) {
  for (int count = rule.least; count <= rule.all; ++count) {
    if (norms < rule.limit[count - 1]) return count;
  }
  return rule.all;
}

int by_cpu(const Plan& plan, const PrefixRule& rule, double norms) {
  return std::clamp(moduli_needed(plan, norms), rule.least, rule.all);
}

void check_plan(const Plan& plan, const std::string& name) {
  const PrefixRule rule = make_prefix_rule(plan);
  report(name + " all", rule.all == static_cast<int>(plan.groups.size()) && rule.least >= 1 && rule.least <= rule.all);
  if (plan.alphabet != Alphabet::fp64) {
    try {
      const ReconstructPlan reconstruct = make_reconstruct_plan(plan, 1);
      report(name + " prefixes of reconstruct", reconstruct.least == rule.least && reconstruct.all == rule.all);
    } catch (const std::length_error&) {  // more than reconstruct serves
    }
  }
  bool enough = true, no_waste = true, rises = true;
  const auto look = [&](double norms) {
    const int found = chosen(rule, norms);
    enough = enough && found >= by_cpu(plan, rule, norms);
    no_waste = no_waste && found <= by_cpu(plan, rule, norms * (1 + 0x1p-36));  // room for roundings, not more
  };
  for (int count = 1; count <= rule.all; ++count) {
    const double product = wide_to_double(moduli_product(plan, count)), quarter = product * product * 0.25;
    rises = rises && (count == 1 || rule.limit[count - 1] > rule.limit[count - 2]);
    for (const double center : {quarter, rule.limit[count - 1]}) {
      for (int e = 1; e <= 56; ++e) {
        for (const int m : {1, 3, 5, 7}) {
          look(center * (1 + std::ldexp(m, -e - 3)));
          look(center * (1 - std::ldexp(m, -e - 3)));
        }
      }
      look(center);
      look(std::nextafter(center, 0.0));
      look(std::nextafter(center, INFINITY));
    }
  }
  for (double norms = 0x1p-4; norms < 0x1p+520; norms *= 1.37) look(norms);
  look(0);
  report(name + " enough moduli", enough);
  report(name + " no more than needed", no_waste);
  report(name + " limits rise", rises);
}

}  // namespace

int main() {
  for (const Alphabet alphabet : {Alphabet::fp4, Alphabet::int8, Alphabet::fp64}) {
    for (const char* family : {"least", "paper", "paper-karatsuba"}) {
      for (const int bits : {2, 11, 24, 40, 53}) {
        for (const std::int64_t k :
             {std::int64_t(1), std::int64_t(300), std::int64_t(16384), std::int64_t(1) << 24, std::int64_t(1) << 31}) {
          Plan plan;
          try {
            plan = make_plan({Scheme::two, alphabet, family, bits, k});
          } catch (const std::exception&) {
            continue;  // no such family, or too long for it
          }
          check_plan(plan, std::string(family) + " alphabet " + std::to_string(static_cast<int>(alphabet)) + " bits " +
                               std::to_string(bits) + " k " + std::to_string(k));
        }
      }
    }
  }
  const PrefixRule none = make_prefix_rule(make_plan({Scheme::one, Alphabet::int8, "least", 53, 100}));
  report("scheme I has nothing to choose", none.all == 0 && none.least == 0);
  return finish();
}
