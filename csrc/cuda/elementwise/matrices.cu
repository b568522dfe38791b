#include "arith/accuracy/bound.hpp"
#include "arith/exact/conjugate.hpp"
#include "arith/float_fields.hpp"
#include "arith/host_device.hpp"
#include "arith/modulo.hpp"
#include "arith/update/part_sum.hpp"
#include "cuda/elementwise/loops.cuh"
#include "cuda/elementwise/matrices.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

__device__ __forceinline__ char* place_of(const StridedMatrices& x, std::int64_t matrix, std::int64_t row, std::int64_t column) {
  return x.data + matrix * x.matrix_stride + row * x.row_stride + column * x.column_stride;
}

// ---- Complex numbers -------------------------------------------------------------------------------------------------------

template <class T>
struct alignas(2 * sizeof(T)) Two {
  T re, im;
};

template <class T>
__device__ __forceinline__ Two<T> turned(const Two<T>& x) {
  return {-x.im, x.re};
}

// Entries that are aligned to their parts alone.
template <class T>
__device__ __forceinline__ Two<T> load_pair(const char* place) {
  const T* parts = reinterpret_cast<const T*>(place);
  return {parts[0], parts[1]};
}
template <class T>
__device__ __forceinline__ void store_pair(char* place, const Two<T>& x) {
  T* parts = reinterpret_cast<T*>(place);
  parts[0] = x.re;
  parts[1] = x.im;
}

template <class T>
__device__ __forceinline__ void copy_pair(const char* from, char* to, bool is_turned) {
  const Two<T> x = load_pair<T>(from);
  store_pair<T>(to, is_turned ? turned(x) : x);
}

__global__ void __launch_bounds__(kThreads)
    copy_kernel(const MatrixExtents extents, const StridedMatrices from, const StridedMatrices to, bool is_turned) {
  for_entries(extents, [&](std::int64_t matrix, std::int64_t row, std::int64_t column, bool is_inside) {
    if (!is_inside) return;
    const char* own = place_of(from, matrix, row, column);
    char* target = place_of(to, matrix, row, column);
    from.type == ElementType::float64 ? copy_pair<double>(own, target, is_turned) : copy_pair<float>(own, target, is_turned);
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads) expand_kernel(const ComplexMatrices from, Two<T>* to, bool reads_along_k) {
  const auto* data = static_cast<const Two<T>*>(from.data);
  const auto load = [&](std::int64_t matrix, std::int64_t n, std::int64_t k) {
    Two<T> x = data[matrix * from.matrix_stride + k * from.k_stride + n * from.n_stride];
    if (from.is_conjugated) x.im = -x.im;
    return from.is_turned ? turned(x) : x;
  };
  const auto store = [&](std::int64_t matrix, std::int64_t n, std::int64_t k, const Two<T>& x) {
    Two<T>* column = to + 2 * (matrix * from.n + n) * from.k + k;
    column[0] = {x.re, -x.im};
    column[from.k] = {x.im, x.re};
  };
  for_tiles<Two<T>>({from.matrices, from.n, from.k}, reads_along_k, load, store);
}

// All lanes of a warp. Entries that an approximate sum leaves open are summed exactly, one lane after the other in the digits of
// the warp.
template <class T>
__device__ __forceinline__ T rounded_sum(const PartSum& of, std::int64_t* digit) {
  T result = 0;
  bool is_settled = true;
  if (of.are_finite) {
    is_settled = settle_sum<T, true>(of, result);
  } else {
    result = special_sum<T>(of);
  }
  const unsigned lane = threadIdx.x % 32;
#pragma unroll 1
  for (unsigned open = __ballot_sync(0xffffffffu, !is_settled); open != 0; open &= open - 1) {
    for (unsigned i = lane; i < kExactDigits; i += 32) digit[i] = 0;
    __syncwarp();
    if (lane == static_cast<unsigned>(__ffs(static_cast<int>(open))) - 1) result = exact_sum<T>(of, digit);
    __syncwarp();
  }
  return result;
}

// All lanes of a warp, one after the other, as bounds are asked for by few. `own`: of the part, `other`: of the other one.
__device__ __forceinline__ double part_bound(double rounding, const double* alpha, double own, double other, bool is_inside,
                                             std::int64_t* digit) {
  double bound = float_from_bits<double>(kInfinityBits<double>);
  const unsigned lane = threadIdx.x % 32;
  const bool is_summed = is_inside && is_finite(rounding) && is_finite(own) && is_finite(other);
#pragma unroll 1
  for (unsigned open = __ballot_sync(0xffffffffu, is_summed); open != 0; open &= open - 1) {
    for (unsigned i = lane; i < kExactDigits; i += 32) digit[i] = 0;
    __syncwarp();
    if (lane == static_cast<unsigned>(__ffs(static_cast<int>(open))) - 1) {
      bound = sum_bound(digit, rounding, alpha[0], own, alpha[1], other);
    }
    __syncwarp();
  }
  return bound;
}

template <class T>
__device__ __forceinline__ void add_up(const ComplexMatrixSum& sum, std::int64_t* digit) {
  using Pair = Two<T>;
  const MatrixExtents& extents = sum.extents;
  for_entries(extents, [&](std::int64_t matrix, std::int64_t row, std::int64_t column, bool is_inside) {
    const std::int64_t at = (matrix * extents.rows + row) * extents.columns + column;
    ComplexSum of;
    if (is_inside && sum.product != nullptr) {
      const Pair x = reinterpret_cast<const Pair*>(sum.product)[at];
      of.add(0, x.re, x.im, sum.alpha[0], sum.alpha[1]);
    }
    if (is_inside && sum.rest != nullptr) {
      const Pair x = reinterpret_cast<const Pair*>(sum.rest)[at];
      of.add(1, is_finite(x.re) ? x.re : T(0), is_finite(x.im) ? x.im : T(0), sum.alpha[0], sum.alpha[1]);
    }
    if (is_inside && sum.addend.data != nullptr) {
      const char* place = place_of(sum.addend, matrix, row, column);
      if (sum.addend.type == sum.c.type) {
        const Pair x = load_pair<T>(place);
        of.add(2, x.re, x.im, sum.beta[0], sum.beta[1]);
      } else {
        const Two<float> x = load_pair<float>(place);
        of.add(2, x.re, x.im, sum.beta[0], sum.beta[1]);
      }
    }
    Pair result;
    result.re = rounded_sum<T>(of.real, digit);
    result.im = rounded_sum<T>(of.imaginary, digit);
    if (is_inside) store_pair<T>(place_of(sum.c, matrix, row, column), result);
    if (sum.bound.data == nullptr) return;
    Two<double> lost{0, 0}, bound;
    if (is_inside && sum.lost != nullptr) lost = reinterpret_cast<const Two<double>*>(sum.lost)[at];
    bound.re = part_bound(rounding_bound(result.re, Rounding::nearest), sum.alpha, lost.re, lost.im, is_inside, digit);
    bound.im = part_bound(rounding_bound(result.im, Rounding::nearest), sum.alpha, lost.im, lost.re, is_inside, digit);
    if (is_inside) store_pair<double>(place_of(sum.bound, matrix, row, column), bound);
  });
}

// One block of a multiprocessor at least: with registers for two the terms of both parts do not fit them.
__global__ void __launch_bounds__(kThreads, 1) sum_kernel(const __grid_constant__ ComplexMatrixSum sum) {
  __shared__ std::int64_t digits[kThreads / 32][kExactDigits];
  std::int64_t* digit = digits[threadIdx.x / 32];
  sum.c.type == ElementType::float64 ? add_up<double>(sum, digit) : add_up<float>(sum, digit);
}

// ---- Integers --------------------------------------------------------------------------------------------------------------

template <class T>
__device__ std::uint64_t word_of(const char* entry) {
  return static_cast<std::uint64_t>(*reinterpret_cast<const T*>(entry));
}

// The bits of an entry; signed integers in two's complement of 64 bits.
__device__ std::uint64_t load_word(ElementType type, const char* entry) {
  switch (type) {
    case ElementType::int8: return word_of<std::int8_t>(entry);
    case ElementType::uint8: return word_of<std::uint8_t>(entry);
    case ElementType::int16: return word_of<std::int16_t>(entry);
    case ElementType::uint16: return word_of<std::uint16_t>(entry);
    case ElementType::int32: return word_of<std::int32_t>(entry);
    case ElementType::float32:
    case ElementType::uint32: return word_of<std::uint32_t>(entry);
    default: return word_of<std::uint64_t>(entry);
  }
}

// The lower bits, which are the same of signed and unsigned integers.
__device__ void store_word(ElementType type, char* entry, std::uint64_t word) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8: *reinterpret_cast<std::uint8_t*>(entry) = static_cast<std::uint8_t>(word); return;
    case ElementType::int16:
    case ElementType::uint16: *reinterpret_cast<std::uint16_t*>(entry) = static_cast<std::uint16_t>(word); return;
    case ElementType::float32:
    case ElementType::int32:
    case ElementType::uint32: *reinterpret_cast<std::uint32_t*>(entry) = static_cast<std::uint32_t>(word); return;
    default: *reinterpret_cast<std::uint64_t*>(entry) = word;
  }
}

__global__ void __launch_bounds__(kThreads) widen_kernel(const __grid_constant__ IntegerLines from, std::int64_t* to) {
  for_entries(
      {from.matrices, from.lines, from.entries}, [&](std::int64_t matrix, std::int64_t line, std::int64_t entry, bool is_inside) {
        if (!is_inside) return;
        const char* const own = from.data + matrix * from.matrix_stride + line * from.line_stride + entry * from.entry_stride;
        const std::uint64_t word = load_word(from.type, own);
        auto x = static_cast<std::int64_t>(word);
        if (from.modulus != 0) {
          x = from.type == ElementType::uint64 ? nearest_residue(word, from.modulus) : nearest_residue(x, from.modulus);
        }
        to[(matrix * from.lines + line) * from.entries + entry] = x;
      });
}

__global__ void __launch_bounds__(kThreads) combine_kernel(const __grid_constant__ IntegerMatrixSum sum) {
  for_entries(sum.extents, [&](std::int64_t matrix, std::int64_t row, std::int64_t column, bool is_inside) {
    if (!is_inside) return;
    std::uint64_t word = 0;
    if (sum.x.data != nullptr) word = sum.alpha * load_word(sum.x.type, place_of(sum.x, matrix, row, column));
    if (sum.beta != 0) word += sum.beta * load_word(sum.addend.type, place_of(sum.addend, matrix, row, column));
    store_word(sum.to.type, place_of(sum.to, matrix, row, column), sum.is_truth ? word != 0 : word);
  });
}

// ---- Gram matrices ---------------------------------------------------------------------------------------------------------

__device__ __forceinline__ char* place_of(const Mirrored& m, std::int64_t matrix, std::int64_t row, std::int64_t column) {
  return m.data + matrix * m.matrix_stride + row * m.row_stride + column * m.column_stride;
}

// The rows [first, last) left of `first`, or up to the diagonal.
OZFP4_HD MatrixExtents extents_of(const Mirrored& m) {
  return {m.matrices, m.last - m.first, m.has_real_diagonal ? m.last : m.first};
}

__global__ void __launch_bounds__(kThreads) mirror_kernel(const __grid_constant__ Mirrored m) {
  const auto load = [&](std::int64_t matrix, std::int64_t row, std::int64_t column) {
    return load_word(m.part, place_of(m, matrix, column, m.first + row));
  };
  const auto store = [&](std::int64_t matrix, std::int64_t row, std::int64_t column, std::uint64_t x) {
    if (column < m.first + row) store_word(m.part, place_of(m, matrix, m.first + row, column), x);
  };
  for_tiles<std::uint64_t>(extents_of(m), false, load, store);
}

// A pair of an adjoint; on its diagonal the imaginary part is NaN where the line is not finite.
template <class T>
__device__ __forceinline__ void mirror_pairs(const Mirrored& m) {
  const auto load = [&](std::int64_t matrix, std::int64_t row, std::int64_t column) {
    return load_pair<T>(place_of(m, matrix, column, m.first + row));
  };
  const auto store = [&](std::int64_t matrix, std::int64_t row, std::int64_t column, Two<T> x) {
    const bool is_diagonal = column == m.first + row;
    if (column > m.first + row || (is_diagonal && !m.is_conjugated)) return;
    if (m.is_conjugated) x.im = !is_diagonal ? conjugated(x.im) : magnitude_bits(x.im) <= kInfinityBits<T> ? T(0) : x.im;
    store_pair<T>(place_of(m, matrix, m.first + row, column), x);
  };
  for_tiles<Two<T>>(extents_of(m), false, load, store);
}

__global__ void __launch_bounds__(kThreads) mirror_pairs_kernel(const __grid_constant__ Mirrored m) {
  m.part == ElementType::float64 ? mirror_pairs<double>(m) : mirror_pairs<float>(m);
}

}  // namespace

void launch_copy(const MatrixExtents& extents, const StridedMatrices& from, const StridedMatrices& to, bool is_turned,
                 cudaStream_t stream) {
  const LaunchConfig config = config_of_entries(Stage::reconstruct, "copies of complex matrices", extents, stream);
  launch(copy_kernel, config, extents, from, to, is_turned);
}

void launch_expand(const ComplexMatrices& from, void* to, cudaStream_t stream) {
  const auto length = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  const bool reads_along_k = length(from.k_stride) < length(from.n_stride);
  const MatrixExtents extents{from.matrices, from.n, from.k};
  const LaunchConfig config = config_of_tiles(Stage::encode, "columns of a complex operand", extents, stream);
  if (from.type == ElementType::float64) {
    launch(expand_kernel<double>, config, from, static_cast<Two<double>*>(to), reads_along_k);
  } else {
    launch(expand_kernel<float>, config, from, static_cast<Two<float>*>(to), reads_along_k);
  }
}

void launch_sum(const ComplexMatrixSum& sum, cudaStream_t stream) {
  launch(sum_kernel, config_of_entries(Stage::reconstruct, "complex factors", sum.extents, stream), sum);
}

void launch_widen(const IntegerLines& from, char* to, cudaStream_t stream) {
  const MatrixExtents extents{from.matrices, from.lines, from.entries};
  const LaunchConfig config = config_of_entries(Stage::encode, "integers of 64 bits", extents, stream);
  launch(widen_kernel, config, from, reinterpret_cast<std::int64_t*>(to));
}

void launch_combine(const IntegerMatrixSum& sum, cudaStream_t stream, Stage stage) {
  launch(combine_kernel, config_of_entries(stage, "integers with factors", sum.extents, stream), sum);
}

void launch_mirror(const Mirrored& matrix, cudaStream_t stream) {
  const MatrixExtents extents = extents_of(matrix);
  if (extents.rows == 0 || extents.columns == 0) return;
  const LaunchConfig config = config_of_tiles(Stage::reconstruct, "the lower part of a Gram matrix", extents, stream);
  launch(matrix.is_complex ? mirror_pairs_kernel : mirror_kernel, config, matrix);
}

}  // namespace ozfp4::cuda
