// Sums of complex matrices times factors: what an approximate sum decides is what the exact one rounds to, and on a GPU every
// entry has the bits of combine_complex. Ties, zeros, what cancels, the whole range, NaN and infinity.
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "arith/update/part_sum.hpp"
#include "check.hpp"
#include "cpu/complex/combine.hpp"
#include "cuda/elementwise/matrices.hpp"
#include "cuda/gpu.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

using Bytes = std::vector<char>;

// Integers of 53 bits; of 3; times powers of two that a few numbers reach; of any exponent; NaN and infinity among them.
enum class Kind { full, small, deep, wide, special };
constexpr Kind kKinds[] = {Kind::full, Kind::small, Kind::deep, Kind::wide, Kind::special};

template <class T>
T number(Kind kind) {
  constexpr int digits = std::numeric_limits<T>::digits;
  const std::int64_t most = kind == Kind::small ? 4 : (std::int64_t(1) << digits) - 1;
  const auto x = static_cast<T>(random_int(-most, most));
  if (kind == Kind::special && random_int(0, 5) == 0) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    const T specials[] = {infinity, -infinity, std::numeric_limits<T>::quiet_NaN(), T(0)};
    return specials[random_int(0, 3)];
  }
  if (kind == Kind::full || kind == Kind::small) return x;
  if (kind == Kind::deep) return std::ldexp(x, random_int(-60, 0));
  constexpr int top = std::numeric_limits<T>::max_exponent;
  return std::ldexp(x, random_int(-top - 60, top) - digits);
}

template <class T>
T factor(Kind kind) {
  return number<T>(kind == Kind::special || random_int(0, 1) == 0 ? Kind::small : kind);
}

int left_open = 0;  // though no operation could underflow or overflow

template <class T>
void check_part(Kind kind) {
  PartSum of;
  for (int i = 0; i < 2 * kMostSummed; ++i) of.put(i, number<T>(kind), factor<T>(kind));
  if (random_int(0, 2) == 0) of.put(1, -of.x[0], of.factor[0]);  // cancels
  if (!of.are_finite) return;
  ExactSum sum;
  const T exact = exact_sum<T>(of, sum.digit);
  T fused = 0, halves = 0;
  const bool is_settled = settle_sum<T, true>(of, fused);
  report("with and without an instruction that fuses", is_settled == (settle_sum<T, false>(of, halves)));
  left_open += !is_settled && of.is_safe;
  if (!is_settled) return;
  report("settled", float_bits(fused) == float_bits(exact) && float_bits(halves) == float_bits(exact),
         std::to_string(static_cast<double>(fused)) + " for " + std::to_string(static_cast<double>(exact)));
}

void check_host() {
  for (int i = 0; i < 20000; ++i) {
    for (const Kind kind : kKinds) {
      check_part<double>(kind);
      check_part<float>(kind);
    }
  }
  report("little is left open", left_open < 20, std::to_string(left_open));
}

// ---- On a GPU ----

struct Memory {
  char* data = nullptr;
  explicit Memory(const Bytes& from) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), from.size()));
    REQUIRE(cudaMemcpy(data, from.data(), from.size(), cudaMemcpyHostToDevice));
  }
  Memory(const Memory&) = delete;
  ~Memory() { cudaFree(data); }
  Bytes read(std::size_t bytes) const {
    Bytes found(bytes);
    REQUIRE(cudaMemcpy(found.data(), data, bytes, cudaMemcpyDeviceToHost));
    return found;
  }
};

template <class T>
Bytes numbers(Kind kind, std::int64_t pairs) {
  Bytes bytes(static_cast<std::size_t>(pairs) * 2 * sizeof(T));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    const T x = number<T>(kind);
    std::memcpy(&bytes[at], &x, sizeof x);
  }
  return bytes;
}

template <class T>
T finite_factor() {
  const T factors[] = {0, 1, -1, 3, number<T>(Kind::full), number<T>(Kind::wide)};
  return factors[random_int(0, 5)];
}

template <class T>
void clear_special(Bytes& bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T x;
    std::memcpy(&x, &bytes[at], sizeof x);
    if (!std::isfinite(x)) x = 0;
    std::memcpy(&bytes[at], &x, sizeof x);
  }
}

template <class T>
void check_sum(Kind kind, std::int64_t matrices, std::int64_t rows, std::int64_t columns, int held, bool has_addend) {
  constexpr std::int64_t pair = 2 * sizeof(T);
  const std::int64_t stride = (columns + 1) * pair, matrix_stride = (rows + 1) * stride + pair, own = rows * columns * pair;
  const Bytes product = numbers<T>(kind, matrices * rows * columns);
  Bytes rest = numbers<T>(kind, matrices * rows * columns);
  Bytes c = numbers<T>(kind, matrices * matrix_stride / pair);
  const Memory product_there(product), rest_there(rest), c_there(c);
  ComplexMatrixSum sum;
  const ElementType part = sizeof(T) == 8 ? ElementType::float64 : ElementType::float32;
  sum.extents = {matrices, rows, columns};
  sum.c = {c_there.data, part, stride, pair, matrix_stride};
  if (has_addend) sum.addend = sum.c;
  if (held > 0) sum.product = product_there.data;
  if (held > 1) sum.rest = rest_there.data;
  for (double& x : sum.alpha) x = finite_factor<T>();
  if (has_addend) sum.beta[0] = 1, sum.beta[1] = finite_factor<T>();
  launch_sum(sum, nullptr);
  const Bytes found = c_there.read(c.size());
  clear_special<T>(rest);
  for (std::int64_t i = 0; i < matrices; ++i) {
    std::vector<ComplexTerm> terms;
    char* place = c.data() + i * matrix_stride;
    if (held > 0) terms.push_back({{sum.alpha[0], sum.alpha[1]}, product.data() + i * own, columns * pair});
    if (held > 1) terms.push_back({{sum.alpha[0], sum.alpha[1]}, rest.data() + i * own, columns * pair});
    if (has_addend) terms.push_back({{sum.beta[0], sum.beta[1]}, place, stride});
    combine_complex(terms, part, rows, columns, place, stride);
  }
  report("the sum of " + std::to_string(sizeof(T)) + " bytes, kind " + std::to_string(static_cast<int>(kind)) + ", " +
             std::to_string(matrices) + " x " + std::to_string(rows) + " x " + std::to_string(columns) + ", " +
             std::to_string(held) + (has_addend ? " and C" : ""),
         found == c);
}

template <class T>
void check_copy(std::int64_t matrices, std::int64_t rows, std::int64_t columns, std::int64_t step, bool is_turned) {
  constexpr std::int64_t pair = 2 * sizeof(T);
  constexpr ElementType part = sizeof(T) == 8 ? ElementType::float64 : ElementType::float32;
  const std::int64_t stride = (columns + 2) * step * pair, matrix_stride = rows * stride + pair;
  const Bytes from = numbers<T>(Kind::wide, matrices * matrix_stride / pair);
  Bytes expected(static_cast<std::size_t>(matrices * rows * columns * pair));
  const Memory there(from), to(expected);
  launch_copy({matrices, rows, columns}, {there.data, part, stride, step * pair, matrix_stride},
              {to.data, part, columns * pair, pair, rows * columns * pair}, is_turned, nullptr);
  char* place = expected.data();
  for (std::int64_t line = 0; line < matrices * rows; ++line) {
    const char* row = from.data() + line / rows * matrix_stride + line % rows * stride;
    for (std::int64_t j = 0; j < columns; ++j, place += pair) {
      T x[2];
      std::memcpy(x, row + j * step * pair, sizeof x);
      const T turned[2] = {-x[1], x[0]};
      std::memcpy(place, is_turned ? turned : x, sizeof x);
    }
  }
  report(is_turned ? "i times a matrix" : "a copy of a matrix", to.read(expected.size()) == expected);
}

template <class T>
void check_type() {
  for (const Kind kind : kKinds) {
    for (const int held : {0, 1, 2}) {
      for (const bool has_addend : {false, true}) {
        for (int i = 0; i < 4; ++i) {
          check_sum<T>(kind, 1, 1, 1, held, has_addend);
          check_sum<T>(kind, 3, 7, 41, held, has_addend);
          check_sum<T>(kind, 1, 5, 700, held, has_addend);
          check_sum<T>(kind, 2, 300, 3, held, has_addend);
        }
      }
    }
  }
  for (const bool is_turned : {false, true}) {
    check_copy<T>(1, 1, 1, 1, is_turned);
    check_copy<T>(3, 40, 257, 2, is_turned);
    check_copy<T>(2, 5, 700, 1, is_turned);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!is_for_gpu(argc, argv)) {
    check_host();
    return finish();
  }
  check_type<double>();
  check_type<float>();
  return finish();
}
