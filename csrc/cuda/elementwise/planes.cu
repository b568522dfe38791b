#include <stdexcept>
#include <string>

#include "cuda/dependent_launch.cuh"
#include "cuda/elementwise/add_bytes.hpp"
#include "cuda/elementwise/loops.cuh"
#include "cuda/elementwise/planes.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

struct JoinParameters {
  uint4* outputs;
  std::int64_t pieces;  // of 16 bytes, of a plane
  const int* moduli_used;
  JoinPlan plan;
};

// One part of four entries, with residues (first, second) in the halves of two words.
__device__ __forceinline__ std::uint32_t join_word(std::uint32_t low, std::uint32_t high, const ByteModulus<1>& part) {
  ByteModulus<1> upper = part;
  upper.weight[0] <<= 16;
  const std::uint32_t r0 = residue_byte(IntegerBytes<1>{{low}}, part), r1 = residue_byte(IntegerBytes<1>{{low}}, upper);
  const std::uint32_t r2 = residue_byte(IntegerBytes<1>{{high}}, part), r3 = residue_byte(IntegerBytes<1>{{high}}, upper);
  return __byte_perm(__byte_perm(r0, r1, 0x0040), __byte_perm(r2, r3, 0x0040), 0x5410);
}

__device__ __forceinline__ void join_words(std::uint32_t& first, std::uint32_t& second, const JoinedModulus& modulus) {
  const std::uint32_t low = __byte_perm(first, second, 0x5140), high = __byte_perm(first, second, 0x7362);
  first = join_word(low, high, modulus.re);
  second = join_word(low, high, modulus.im);
}

// blockIdx.y is the modulus.
__global__ void __launch_bounds__(kThreads) join_kernel(const __grid_constant__ JoinParameters p) {
  const int i = static_cast<int>(blockIdx.y);
  const JoinedModulus modulus = p.plan.modulus[i];
  if (!modulus.is_joined || (p.moduli_used != nullptr && i >= __ldcg(p.moduli_used))) return;
  uint4* const first = p.outputs + kPair * i * p.pieces;
  uint4* const second = first + p.pieces;
  for_indices(p.pieces, [&](std::int64_t at) {
    uint4 x = first[at], y = second[at];
    join_words(x.x, y.x, modulus);
    join_words(x.y, y.y, modulus);
    join_words(x.z, y.z, modulus);
    join_words(x.w, y.w, modulus);
    first[at] = x;
    second[at] = y;
  });
}

// Constants of first x + second y from the bytes x, y.
ByteModulus<1> part_of(int m, std::int64_t first, std::int64_t second) {
  ByteModulus<1> part;
  part.weight[0] = static_cast<std::uint32_t>(first) | static_cast<std::uint32_t>(second) << 8;
  set_quotient(part, m, most_byte_sum(m, 2), 0);
  return part;
}

// ---- Sums over parts of K --------------------------------------------------------------------------------------------------

struct ByteSums {
  ByteParts at;
  int planes, planes_per_modulus;
  bool has_carries;
  std::uint16_t modulus[kMaxUnits];
};

// Every thread takes four entries: of residues those of plane blockIdx.y; of digits those of all planes, the lowest digit first,
// part after part. The last digit is a byte in two's complement: its modulus is 256, and its carry goes nowhere.
__global__ void __launch_bounds__(kThreads) add_bytes_kernel(const __grid_constant__ ByteSums p) {
  let_next_kernel_start();
  wait_for_previous_kernel();
  const ByteParts& at = p.at;
  const auto own = static_cast<int>(blockIdx.y);
  if (!p.has_carries && at.moduli_used != nullptr && own >= __ldcg(at.moduli_used) * p.planes_per_modulus) return;
  for_indices(at.bytes / 4, [&](std::int64_t i) {
    const auto sum_at = [&](int plane) { return reinterpret_cast<std::uint32_t*>(at.sum + plane * at.plane_stride) + i; };
    const auto part_at = [&](int part, int plane) {
      return reinterpret_cast<const std::uint32_t*>(at.part + part * at.part_stride + plane * at.plane_stride)[i];
    };
    if (p.has_carries) {
      for (int part = 0; part < at.parts; ++part) {
        std::uint32_t carry = 0;
        for (int plane = 0; plane < p.planes; ++plane) {
          *sum_at(plane) = add_bytes(*sum_at(plane), part_at(part, plane), p.modulus[plane], carry);
        }
      }
    } else {
      std::uint32_t sum = *sum_at(own);
#pragma unroll 4
      for (int part = 0; part < at.parts; ++part) {
        std::uint32_t carry = 0;
        sum = add_bytes(sum, part_at(part, own), p.modulus[own], carry);
      }
      *sum_at(own) = sum;
    }
  });
}

}  // namespace

JoinPlan make_join_plan(const Plan& plan) {
  JoinPlan made;
  if (!plan.is_complex) return made;
  constexpr int most = kMaxModuli / kPair;
  if (plan.count() > most) {
    throw std::length_error("a complex product on a GPU takes at most " + std::to_string(most) + " moduli; the plan has " +
                            std::to_string(plan.count()));
  }
  made.moduli = plan.count();
  for (int i = 0; i < made.moduli; ++i) {
    const Group &first = plan.groups[static_cast<std::size_t>(plan.groups_of(i))],
                &second = plan.groups[static_cast<std::size_t>(plan.groups_of(i) + 1)];
    const auto m = static_cast<int>(first.modulus);
    JoinedModulus& modulus = made.modulus[i];
    modulus.is_joined = first.joined.im != 0 || second.joined.re != 0;
    if (!modulus.is_joined) continue;
    modulus.re = part_of(m, first.joined.re, second.joined.re);
    modulus.im = part_of(m, first.joined.im, second.joined.im);
  }
  return made;
}

void launch_join_parts(const JoinPlan& plan, std::uint8_t* outputs, std::int64_t plane_stride, const int* moduli_used,
                       cudaStream_t stream) {
  const JoinParameters p{reinterpret_cast<uint4*>(outputs), plane_stride / 16, moduli_used, plan};
  LaunchConfig config = config_of_blocks(Stage::accumulate, nullptr, ceil_div(p.pieces, kThreads), stream);
  config.grid.y = static_cast<unsigned>(plan.moduli);
  launch(join_kernel, config, p);
}

void launch_add_bytes(const Schedule& schedule, const ByteParts& at, cudaStream_t stream) {
  ByteSums p{};
  p.at = at;
  p.planes = schedule.out_planes;
  p.planes_per_modulus = schedule.planes_per_modulus();
  if (p.planes > kMaxUnits || at.bytes % 4 != 0) {
    throw std::invalid_argument("accumulate: " + std::to_string(p.planes) + " planes of " + std::to_string(at.bytes) +
                                " bytes; it takes at most " + std::to_string(kMaxUnits) + " of a multiple of 4");
  }
  for (const GemmStep& step : schedule.steps) {
    if (step.action != Action::store_residue && step.action != Action::store_digit) continue;
    p.modulus[step.out_plane] = static_cast<std::uint16_t>(step.modulus);
    p.has_carries = p.has_carries || step.action == Action::store_digit;
  }
  LaunchConfig config = config_of_blocks(Stage::accumulate, nullptr, ceil_div(at.bytes / 4, kThreads), stream);
  if (!p.has_carries) config.grid.y = static_cast<unsigned>(p.planes);
  config.overlap_previous = at.overlap_previous;
  launch(add_bytes_kernel, config, p);
}

}  // namespace ozfp4::cuda
