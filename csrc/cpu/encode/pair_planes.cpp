#include "cpu/encode/pair_planes.hpp"

#include <cstring>

#include "cpu/encode/residue.hpp"
#include "cpu/encode/wide_encoder.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kEntryGrain = 100000;

// re x + im y of two residues modulo m, and m. Weights and residues are balanced, at most m / 2 in magnitude: for m < 2^8 the sum
// is below 2^15, for m < 2^23.5 below 2^46, in the range of reduce.
template <class Real>
struct Combination {
  Real re, im, modulus, inverse;

  Combination(PartWeights weights, std::int64_t m)
      : re(balanced(weights.re, m)), im(balanced(weights.im, m)), modulus(static_cast<Real>(m)), inverse(Real(1) / modulus) {}

  static Real balanced(std::int64_t w, std::int64_t m) { return static_cast<Real>(w > m / 2 ? w - m : w); }
};

// Residues of the pairs of a line. A plane that is one of the two parts is copied: modulo an even number reduce might leave m /
// 2.
template <class Limb, class Real>
inline void combine_impl(const Limb* pairs, std::int64_t n, const Combination<Real>& to, Limb* plane) {
  if (to.im == 0 || to.re == 0) {
    const int part = to.im == 0 ? 0 : 1;
    for (std::int64_t i = 0; i < n; ++i) plane[i] = pairs[kPair * i + part];
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const Real sum = static_cast<Real>(pairs[kPair * i]) * to.re + static_cast<Real>(pairs[kPair * i + 1]) * to.im;
    plane[i] = static_cast<Limb>(reduce(sum, to.modulus, to.inverse));
  }
}
OZFP4_VECTORISED void combine_line(const std::int8_t* pairs, std::int64_t n, const Combination<float>& to, std::int8_t* plane) {
  combine_impl(pairs, n, to, plane);
}
OZFP4_VECTORISED void combine_line(const double* pairs, std::int64_t n, const Combination<double>& to, double* plane) {
  combine_impl(pairs, n, to, plane);
}

template <class Limb, class Real>
void write_pairs(const Plan& plan, int count, const Limb* residues, std::int64_t n, Limb* planes, std::int64_t pitch) {
  for (int g = 0; g < plan.groups_of(count); ++g) {
    const Group& group = plan.groups[static_cast<std::size_t>(g)];
    combine_line(residues + g / kPair * kLine, n, Combination<Real>(group.encoded, group.modulus),
                 planes + group.first_plane * pitch);
  }
}

// The same of residues that are written in limbs.
void write_pair_limbs(const Plan& plan, int count, const std::int8_t* residues, std::int64_t n, std::int8_t* planes,
                      std::int64_t pitch) {
  std::int8_t balanced[kLine];
  std::uint8_t own[kLine];
  for (int g = 0; g < plan.groups_of(count); ++g) {
    const Group& group = plan.groups[static_cast<std::size_t>(g)];
    const auto m = static_cast<int>(group.modulus);
    combine_line(residues + g / kPair * kLine, n, Combination<float>(group.encoded, m), balanced);
    for (std::int64_t i = 0; i < n; ++i) own[i] = static_cast<std::uint8_t>(balanced[i] < 0 ? balanced[i] + m : balanced[i]);
    write_table_planes(group, own, n, planes + group.first_plane * pitch, pitch);
  }
}

// One part of the results, every second entry of `out`, from residues in [0, m). The sum is below 2^17 for m below 2^8, and below
// 2^47 for m below 2^23.5.
template <class Stored, class Real>
inline void join_impl(const Stored* first, const Stored* second, std::int64_t n, const Combination<Real>& to, Stored* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Real sum = static_cast<Real>(first[i]) * to.re + static_cast<Real>(second[i]) * to.im;
    const Real r = reduce(sum, to.modulus, to.inverse);
    out[kPair * i] = static_cast<Stored>(static_cast<std::int32_t>(r < 0 ? r + to.modulus : r));
  }
}
OZFP4_VECTORISED void join_line(const std::uint8_t* first, const std::uint8_t* second, std::int64_t n,
                                const Combination<float>& to, std::uint8_t* out) {
  join_impl(first, second, n, to, out);
}
OZFP4_VECTORISED void join_line(const std::uint32_t* first, const std::uint32_t* second, std::int64_t n,
                                const Combination<double>& to, std::uint32_t* out) {
  join_impl(first, second, n, to, out);
}

template <class Stored, class Real>
void join_parts(const Plan& plan, int count, std::int64_t entries, Stored* output, Stored* scratch) {
  for (int i = 0; i < count; ++i, output += kPair * entries) {
    std::memcpy(scratch, output, static_cast<std::size_t>(kPair * entries) * sizeof(Stored));
    const Group &first = plan.groups[static_cast<std::size_t>(plan.groups_of(i))],
                &second = plan.groups[static_cast<std::size_t>(plan.groups_of(i) + 1)];
    const Combination<Real> re({first.joined.re, second.joined.re}, first.modulus);
    const Combination<Real> im({first.joined.im, second.joined.im}, first.modulus);
    parallel_for(entries, kEntryGrain, [&](std::int64_t begin, std::int64_t end) {
      join_line(scratch + begin, scratch + entries + begin, end - begin, re, output + kPair * begin);
      join_line(scratch + begin, scratch + entries + begin, end - begin, im, output + kPair * begin + 1);
    });
  }
}

}  // namespace

PairPlanes::PairPlanes(const Plan& plan, int count)
    : plan_(plan),
      count_(count),
      residues_(static_cast<std::size_t>(count * kLine * plan.alphabet.entry_bytes()) / sizeof(std::uint64_t) + 1) {}

void PairPlanes::write(std::int64_t n, void* planes, std::int64_t pitch) const {
  if (plan_.alphabet.entry == PlaneEntry::fp64) {
    write_pairs<double, double>(plan_, count_, reinterpret_cast<const double*>(residues_.data()), n, static_cast<double*>(planes),
                                pitch);
    return;
  }
  const auto* residues = reinterpret_cast<const std::int8_t*>(residues_.data());
  auto* bytes = static_cast<std::int8_t*>(planes);
  if (plan_.alphabet.residue_is_limb()) {
    write_pairs<std::int8_t, float>(plan_, count_, residues, n, bytes, pitch);
  } else {
    write_pair_limbs(plan_, count_, residues, n, bytes, pitch);
  }
}

std::int64_t cpu_join_scratch(const Plan& plan, std::int64_t rows, std::int64_t columns) {
  return plan.is_complex ? kPair * rows * columns * plan.output_bytes() : 0;
}

void cpu_join_parts(const Plan& plan, int count, std::int64_t rows, std::int64_t columns, void* output, void* scratch) {
  if (plan.output_bytes() == 1) {
    join_parts<std::uint8_t, float>(plan, count, rows * columns, static_cast<std::uint8_t*>(output),
                                    static_cast<std::uint8_t*>(scratch));
  } else {
    join_parts<std::uint32_t, double>(plan, count, rows * columns, static_cast<std::uint32_t*>(output),
                                      static_cast<std::uint32_t*>(scratch));
  }
}

}  // namespace ozfp4
