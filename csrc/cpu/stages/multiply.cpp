// CPU multiply: BLAS on decoded planes. FP32 accumulators are exact up to 2^24, FP64 ones up to 2^53; K is cut where a
// plan's products would exceed that, and the accumulator is folded between the pieces.
#include "cpu/stages/multiply.hpp"

#include <algorithm>
#include <type_traits>

#include "arith/limbs/residue.hpp"
#include "arith/limits.hpp"
#include "cpu/runtime/blas.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// Accumulator of one panel of rows: small enough for the last-level cache, where the fold finds it after the GEMM, and tall
// enough that packing the other operand costs the BLAS little.
constexpr std::int64_t kAccumulatorBytes = 16 << 20;
// Below this a second thread costs more than it brings: the BLAS leaves its own threads spinning.
constexpr std::int64_t kElementGrain = 500000;

template <class Real>
constexpr std::int64_t exact_limit() {
  return sizeof(Real) == 4 ? kFp32Exact : kFp64Exact;
}

// K in the fewest pieces of at most `longest` entries, all of about the same length.
std::int64_t even_piece(std::int64_t k, std::int64_t longest) {
  const std::int64_t pieces = (k + longest - 1) / longest;
  return (k + pieces - 1) / pieces;
}

std::int64_t panel_rows(const MultiplyShape& shape, std::int64_t real_bytes) {
  return std::clamp<std::int64_t>(kAccumulatorBytes / std::max<std::int64_t>(shape.columns * real_bytes, 1), 64,
                                  std::max<std::int64_t>(shape.rows, 64));
}

// Planes of one operand that the terms of a group take: they lie side by side.
struct PlaneRange {
  int first, count;
};
PlaneRange planes_of(const Plan& plan, const Group& group, int Term::* plane) {
  int first = plan.planes_a, end = 0;
  for (int t = group.first_term; t < group.first_term + group.terms; ++t) {
    const int own = plan.terms[static_cast<std::size_t>(t)].*plane;
    first = std::min(first, own);
    end = std::max(end, own + 1);
  }
  return {first, end - first};
}

int most_planes(const Plan& plan) {
  if (plan.scheme == Scheme::one) return plan.planes_a;
  int planes = 0;
  for (const Group& group : plan.groups) {
    planes = std::max({planes, planes_of(plan, group, &Term::a_plane).count, planes_of(plan, group, &Term::b_plane).count});
  }
  return planes;
}

// ---- Loops over contiguous entries ---------------------------------------------------------------------------------

OZFP4_VECTORISED void decode_entries(const std::int8_t* limbs, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(limbs[i]);
}

// acc = (acc mod m) * multiplier. Range: as reduce(); the product is a start value of at most (m/2 + 2) m.
OZFP4_VECTORISED void fold_entries(float* acc, std::int64_t n, float modulus, float inverse, float multiplier) {
  for (std::int64_t i = 0; i < n; ++i) acc[i] = reduce(acc[i], modulus, inverse) * multiplier;
}
OZFP4_VECTORISED void fold_entries(double* acc, std::int64_t n, double modulus, double inverse, double multiplier) {
  for (std::int64_t i = 0; i < n; ++i) acc[i] = reduce(acc[i], modulus, inverse) * multiplier;
}

// The residue in [0, m) of acc * multiplier + earlier. After the first fold everything is so small, at most (m/2 + 2) m + m,
// that the second one is canonical.
template <class Real, class Stored>
inline void finish_impl(const Real* acc, std::int64_t n, Real modulus, Real inverse, Real multiplier, bool accumulate,
                        Stored* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Real earlier = accumulate ? static_cast<Real>(out[i]) : Real(0);
    const Real small = reduce(acc[i], modulus, inverse);
    const Real r = reduce(small * multiplier + earlier, modulus, inverse);
    out[i] = static_cast<Stored>(static_cast<std::int32_t>(r < 0 ? r + modulus : r));
  }
}
OZFP4_VECTORISED void finish_entries(const float* acc, std::int64_t n, float modulus, float inverse, float multiplier,
                                     bool accumulate, std::uint8_t* out) {
  finish_impl(acc, n, modulus, inverse, multiplier, accumulate, out);
}
OZFP4_VECTORISED void finish_entries(const double* acc, std::int64_t n, double modulus, double inverse, double multiplier,
                                     bool accumulate, std::int32_t* out) {
  finish_impl(acc, n, modulus, inverse, multiplier, accumulate, out);
}

template <class Real>
inline void flush_impl(const Real* acc, std::int64_t n, std::int64_t weight, bool accumulate, std::int64_t* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = (accumulate ? out[i] : 0) + static_cast<std::int64_t>(acc[i]) * weight;
}
OZFP4_VECTORISED void flush_entries(const float* acc, std::int64_t n, std::int64_t weight, bool accumulate, std::int64_t* out) {
  flush_impl(acc, n, weight, accumulate, out);
}
OZFP4_VECTORISED void flush_entries(const double* acc, std::int64_t n, std::int64_t weight, bool accumulate, std::int64_t* out) {
  flush_impl(acc, n, weight, accumulate, out);
}

// ---- Planes --------------------------------------------------------------------------------------------------------

// Planes as the BLAS reads them: FP64 planes as they are, int8 planes decoded to FP32, a group at a time.
template <class Real>
class Planes {
 public:
  Planes(const void* planes, std::int64_t outers, std::int64_t inners, Real* decoded)
      : planes_(planes), size_(outers * inners), decoded_(decoded) {}

  void decode(const PlaneRange& range) {
    if constexpr (sizeof(Real) == 4) {
      first_ = range.first;
      const auto* limbs = static_cast<const std::int8_t*>(planes_) + first_ * size_;
      parallel_for(range.count * size_, kElementGrain,
                   [&](std::int64_t begin, std::int64_t end) { decode_entries(limbs + begin, end - begin, decoded_ + begin); });
    } else {
      (void)range;
    }
  }

  const Real* plane(int p) const {
    if constexpr (sizeof(Real) == 4) return decoded_ + (p - first_) * size_;
    return static_cast<const Real*>(planes_) + p * size_;
  }

 private:
  const void* planes_;
  std::int64_t size_;
  Real* decoded_;
  int first_ = 0;
};

template <class Real>
struct Operands {
  const MultiplyShape& shape;
  Planes<Real> a, b;
};

// acc += A_plane[rows row0 ..] B_plane^T over [k0, k0 + k).
template <class Real>
void multiply_piece(const Operands<Real>& operands, int a_plane, int b_plane, std::int64_t row0, std::int64_t rows,
                    std::int64_t k0, std::int64_t k, bool accumulate, Real* acc) {
  const std::int64_t ld = operands.shape.inners;
  gemm_nt(rows, operands.shape.columns, k, operands.a.plane(a_plane) + row0 * ld + k0, ld, operands.b.plane(b_plane) + k0, ld,
          accumulate, acc, operands.shape.columns);
}

template <class Real>
using Residue = std::conditional_t<sizeof(Real) == 4, std::uint8_t, std::int32_t>;

// One modulus, one panel of rows: Horner's rule over the chain, K cut where the accumulator demands it.
template <class Real>
void multiply_chain(const Group& group, const Operands<Real>& operands, std::int64_t row0, std::int64_t rows, bool accumulate,
                    Residue<Real>* out, Real* acc) {
  const std::int64_t entries = rows * operands.shape.columns;
  const std::int64_t limit = exact_limit<Real>() - group.modulus;  // reduce() needs |acc| <= limit
  const std::int64_t piece =
      even_piece(operands.shape.inners, accumulator_k_max(group.max_product, limit, group.modulus / 2 + 2));
  const Real modulus = static_cast<Real>(group.modulus), inverse = Real(1) / modulus;
  std::int64_t held = 0;  // bound of |acc|
  bool started = false;
  auto fold = [&](std::int64_t multiplier) {
    parallel_for(entries, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      fold_entries(acc + begin, end - begin, modulus, inverse, static_cast<Real>(multiplier));
    });
    held = (group.modulus / 2 + 2) * multiplier;
  };
  for (const Step& step : group.chain) {
    for (std::int64_t k0 = 0; k0 < operands.shape.inners; k0 += piece) {
      const std::int64_t k = std::min(piece, operands.shape.inners - k0);
      if (held + k * group.max_product > limit) fold(1);
      multiply_piece(operands, step.a_plane, step.b_plane, row0, rows, k0, k, started, acc);
      started = true;
      held += k * group.max_product;
    }
    if (step.multiplier != 0 && &step != &group.chain.back()) fold(step.multiplier);
  }
  const Real last = static_cast<Real>(group.chain.back().multiplier);
  parallel_for(entries, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    finish_entries(acc + begin, end - begin, modulus, inverse, last, accumulate, out + begin);
  });
}

// One group of plain integer terms, one panel of rows.
template <class Real>
void multiply_sums(const Plan& plan, const Group& group, const Operands<Real>& operands, std::int64_t row0, std::int64_t rows,
                   bool accumulate, std::int64_t* out, Real* acc) {
  const std::int64_t entries = rows * operands.shape.columns;
  const std::int64_t piece = even_piece(operands.shape.inners, accumulator_k_max(group.max_product, exact_limit<Real>()));
  std::int64_t held = 0, weight = 0;
  bool started = false;
  auto flush = [&] {
    parallel_for(entries, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      flush_entries(acc + begin, end - begin, weight, accumulate, out + begin);
    });
    accumulate = true;
    started = false;
    held = 0;
  };
  for (int t = group.first_term; t < group.first_term + group.terms; ++t) {
    const Term& term = plan.terms[static_cast<std::size_t>(t)];
    if (started && term.weight != weight) flush();
    weight = term.weight;
    for (std::int64_t k0 = 0; k0 < operands.shape.inners; k0 += piece) {
      const std::int64_t k = std::min(piece, operands.shape.inners - k0);
      if (held + k * group.max_product > exact_limit<Real>()) flush();
      multiply_piece(operands, term.a_plane, term.b_plane, row0, rows, k0, k, started, acc);
      started = true;
      held += k * group.max_product;
    }
  }
  flush();
}

template <class Real>
void multiply_all(const Plan& plan, int count, const MultiplyShape& shape, const void* planes_a, const void* planes_b,
                  bool accumulate, void* output, void* scratch, const std::function<void(double)>& progress) {
  const std::int64_t decoded = sizeof(Real) == 4 ? most_planes(plan) * shape.inners : 0;
  auto* workspace = static_cast<Real*>(scratch);
  Operands<Real> operands{shape,
                          {planes_a, shape.rows, shape.inners, workspace},
                          {planes_b, shape.columns, shape.inners, workspace + decoded * shape.rows}};
  Real* acc = workspace + decoded * (shape.rows + shape.columns);
  const std::int64_t panel = panel_rows(shape, sizeof(Real));
  if (plan.scheme == Scheme::one) {
    operands.a.decode({0, plan.planes_a});
    operands.b.decode({0, plan.planes_b});
  }
  const int groups = plan.groups_of(count);
  int terms = 0, terms_done = 0;
  for (int g = 0; g < groups; ++g) terms += plan.groups[static_cast<std::size_t>(g)].terms;
  for (int g = 0; g < groups; ++g) {
    const Group& group = plan.groups[static_cast<std::size_t>(g)];
    if (plan.scheme != Scheme::one) {
      operands.a.decode(planes_of(plan, group, &Term::a_plane));
      operands.b.decode(planes_of(plan, group, &Term::b_plane));
    }
    for (std::int64_t row0 = 0; row0 < shape.rows; row0 += panel) {
      const std::int64_t rows = std::min(panel, shape.rows - row0);
      const std::int64_t offset = (g * shape.rows + row0) * shape.columns;
      if (plan.has_moduli()) {
        multiply_chain(group, operands, row0, rows, accumulate, static_cast<Residue<Real>*>(output) + offset, acc);
      } else {
        multiply_sums(plan, group, operands, row0, rows, accumulate, static_cast<std::int64_t*>(output) + offset, acc);
      }
      if (progress) {
        const double of_group = static_cast<double>(row0 + rows) / static_cast<double>(shape.rows);
        progress((terms_done + group.terms * of_group) / terms);
      }
    }
    terms_done += group.terms;
  }
}

}  // namespace

OutputType output_type(const Plan& plan) {
  if (!plan.has_moduli()) return OutputType::sum64;
  return plan.alphabet.residue_bytes == 1 ? OutputType::residue8 : OutputType::residue32;
}

std::int64_t output_entry_bytes(const Plan& plan) {
  switch (output_type(plan)) {
    case OutputType::residue8: return 1;
    case OutputType::residue32: return 4;
    case OutputType::sum64: return 8;
  }
  return 8;
}

std::int64_t cpu_multiply_scratch(const Plan& plan, const MultiplyShape& shape) {
  const bool is_decoded = plan.alphabet.entry == PlaneEntry::int8;
  const std::int64_t real_bytes = is_decoded ? sizeof(float) : sizeof(double);
  const std::int64_t decoded = is_decoded ? most_planes(plan) * (shape.rows + shape.columns) * shape.inners : 0;
  return (decoded + std::min(panel_rows(shape, real_bytes), shape.rows) * shape.columns) * real_bytes;
}

void cpu_multiply(const Plan& plan, int count, const MultiplyShape& shape, const void* planes_a, const void* planes_b,
                  bool accumulate, void* output, void* scratch, const std::function<void(double)>& progress) {
  if (plan.alphabet.entry == PlaneEntry::fp64) {
    multiply_all<double>(plan, count, shape, planes_a, planes_b, accumulate, output, scratch, progress);
  } else {
    multiply_all<float>(plan, count, shape, planes_a, planes_b, accumulate, output, scratch, progress);
  }
}

}  // namespace ozfp4
