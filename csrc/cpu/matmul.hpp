// One matmul on the CPU: scale, encode, multiply, reconstruct.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cpu/block_runner.hpp"
#include "cpu/limbs/unit.hpp"
#include "cpu/prepared.hpp"
#include "cpu/reconstruct/certified.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/scale/scale.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// How a product is made: by the planes of its plan, in words (cpu/words), or by limbs of eight bits (cpu/limbs) on any processor.
// It is in words where limbs do not hold its integers. All make the same ones.
enum class Way : std::uint8_t { cheaper, planes, words, limbs };

// The products that were made one way, and the most that any of them took.
struct WayOutcome {
  std::int64_t count = 0;
  int moduli_used = 0;  // in words the bridges; 0 for scheme I and by limbs
  int products = 0;     // of planes; in words of entries, by limbs of these

  void extend(const WayOutcome& other);
};

// Where a product goes, as the caller holds it.
struct Targets {
  Targets(const Target& only) : first(&only), count(1) {}
  Targets(const std::vector<Target>& all) : first(all.data()), count(all.size()) {}

  const Target* begin() const { return first; }
  const Target* end() const { return first + count; }

  const Target* first;
  std::size_t count;
};

struct MatmulOutcome {
  WayOutcome by_planes, in_words, by_limbs;
  int limbs = 0;  // the most of any product by limbs
  const LimbUnit* limb_unit = nullptr;
  std::int64_t workspace = 0;
  LineRange exponents, capacities;
  EntryCounts entries;  // of all targets together; none where nothing but the scaled product is promised
  std::int64_t special_rows = 0, special_columns = 0;
  StageTimes times;
  const ByteKernel* kernel = nullptr;  // of planes; nullptr: floating point

  // The way that a report is about: planes, where any product was made by them.
  const WayOutcome& reported() const { return by_planes.count > 0 ? by_planes : by_limbs.count > 0 ? by_limbs : in_words; }
  bool is_without_planes() const { return by_planes.count == 0 && in_words.count + by_limbs.count > 0; }

  // As that of a further product of the same plan, next to this one.
  void extend(const MatmulOutcome& other);
};

struct MatmulOptions {
  std::int64_t workspace_limit = 0;
  std::function<void(double)> progress;  // called with the fraction done; may throw to stop
  Promise promise;
  Way way = Way::planes;             // words or limbs where possible, which is no promise: other products are made by planes
  bool wants_times = true;           // of the stages
  bool without_planes_only = false;  // or is not made: then nothing is written, and the outcome has no products
  // For a real form, the transpose of the complex product that was asked for: Exchanged::columns (cpu/standard/chain.hpp).
  bool is_exchanged = false;
};

// A B into every target, from one multiplication of the planes. `b` is seen from its columns: outer = columns of B, inner = K.
// Precondition: equal inner dimensions at most plan.k_max, 1 or more where there is an update; float64 or float32 operands.
// Targets have equal extents, one or more, and overlap neither them nor each other. For a complex plan, operands are expanded by
// kPair, and results have even columns. plan.bits is c where the accuracy is scaled, else at least accuracy_bits of the promise;
// roundings are to nearest unless the accuracy is correct. Prepared operands are so by this plan, for their side, this accuracy
// and precision.
MatmulOutcome cpu_matmul(const Plan& plan, const MatmulOperand& a, const MatmulOperand& b, const Targets& targets,
                         const MatmulOptions& options);

}  // namespace ozfp4
