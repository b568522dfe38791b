// cublas?syrk, ?herk and ?trsm by blocks: what is off the diagonal is a product, which is decided on and counted as one; blocks
// on the diagonal, which are small, are cuBLAS's.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "interpose/call/bypass.hpp"
#include "interpose/call/reason.hpp"
#include "interpose/cublas/call.hpp"
#include "interpose/cublas/device/device.hpp"
#include "interpose/cublas/device/native.hpp"
#include "interpose/cublas/factors.hpp"

namespace ozfp4::interpose::cublas {
namespace {

constexpr std::int64_t block = 256;  // rows of what cuBLAS makes on the diagonal

std::int64_t half_of(std::int64_t n) { return (n / 2 + block - 1) / block * block; }  // range: n > block

// One product of them, by ozfp4 or by cuBLAS.
struct Products {
  const Real& real;
  const Place& place;

  Status make(const Product& p) const {
    return serve_or_leave(real, p, Reason::always, place,
                          [&] { return native_on_device(real.library, p, place.stream) ? success : internal_error; });
  }
};

// Factors 1 and -1 and those of a type, on the host.
struct Factors {
  double one[2] = {1, 0}, minus_one[2] = {-1, 0};
  float one_single[2] = {1, 0}, minus_one_single[2] = {-1, 0};
  const void* plus(Type type) const { return is_single(type) ? static_cast<const void*>(one_single) : one; }
  const void* minus(Type type) const { return is_single(type) ? static_cast<const void*>(minus_one_single) : minus_one; }
};
constexpr Factors factors;

const void* move(const void* matrix, Type type, std::int64_t row, std::int64_t column, std::int64_t leading) {
  return static_cast<const char*>(matrix) + (row + column * leading) * static_cast<std::int64_t>(size_of(type));
}
void* move(void* matrix, Type type, std::int64_t row, std::int64_t column, std::int64_t leading) {
  return static_cast<char*>(matrix) + (row + column * leading) * static_cast<std::int64_t>(size_of(type));
}

// What time tells of a block is not of the shape that is counted.
bool is_by_time(Reason reason) { return reason >= Reason::not_measured && reason <= Reason::many_chains; }

// Blocks are worth it where ozfp4 makes the largest product off the diagonal: Reason::always or faster, or why not. What it
// leaves of the others needs a handle of our own, which is asked for last. Range: factors on the host.
Reason reason_of_blocks(const Real& real, const Product& largest, Place* place) {
  const Reason reason = DeviceAttempt(real, largest).foresee(place);
  if (!is_caught(reason)) return is_by_time(reason) ? Reason::blocks_left : reason;
  if (is_captured(place->stream)) return Reason::captured_blocks;
  return can_make_native(place->cublas, largest.type) ? reason : Reason::no_memory;
}

// ---- C = alpha A op(A) + beta C of a triangle --------------------------------------------------------------------------

// Complex: alpha and beta are real numbers of the part's type, and the product Hermitian.
struct RankK {
  Type type;
  int fill, trans;
  std::int64_t n, k;
  const void* alpha;
  const void* a;
  std::int64_t lda;
  const void* beta;
  void* c;
  std::int64_t ldc;

  std::int64_t order() const { return n; }
  bool is_zero() const { return false; }  // what alpha says, the product's does
  void stand_in(FactorsOnDevice& on_device) {
    on_device.stand_in(is_single(type) ? Type::float32 : Type::float64, &alpha, &beta);
  }
  // Rows `first` and on, as many of them, of op(A).
  const void* rows(std::int64_t first) const {
    return trans == op_n ? move(a, type, first, 0, lda) : move(a, type, 0, first, lda);
  }
  // What is off the diagonal where C is cut after `half` rows. `parts` holds the factors where they become complex.
  Product off_diagonal(std::int64_t half, double (*parts)[2], float (*singles)[2]) const {
    const bool is_lower = fill == lower;
    Product p;
    p.type = type;
    const int turned = is_complex(type) ? conjugate_transpose : transpose;
    p.transpose_a = trans == op_n ? no_transpose : turned, p.transpose_b = trans == op_n ? turned : no_transpose;
    p.m = is_lower ? n - half : half, p.n = is_lower ? half : n - half, p.k = k;
    p.a = rows(is_lower ? half : 0), p.b = rows(is_lower ? 0 : half);
    p.lda = p.ldb = lda, p.ldc = ldc;
    p.c = is_lower ? move(c, type, half, 0, ldc) : move(c, type, 0, half, ldc);
    p.alpha = alpha, p.beta = beta;
    if (type == Type::complex128) {
      parts[0][0] = *static_cast<const double*>(alpha), parts[1][0] = *static_cast<const double*>(beta);
      p.alpha = parts[0], p.beta = parts[1];
    } else if (type == Type::complex64) {
      singles[0][0] = *static_cast<const float*>(alpha), singles[1][0] = *static_cast<const float*>(beta);
      p.alpha = singles[0], p.beta = singles[1];
    }
    return p;
  }
  RankK first(std::int64_t half) const {
    RankK found = *this;
    found.n = half;
    return found;
  }
  RankK second(std::int64_t half) const {
    RankK found = *this;
    found.n = n - half;
    found.a = rows(half);
    found.c = move(c, type, half, half, ldc);
    return found;
  }
};

template <class Diagonal>
Status by_blocks(const Products& products, const RankK& all, const Diagonal& diagonal) {
  if (all.n <= block) return diagonal(all);
  const std::int64_t half = half_of(all.n);
  double parts[2][2] = {};
  float singles[2][2] = {};
  Status status = products.make(all.off_diagonal(half, parts, singles));
  if (status == success) status = by_blocks(products, all.first(half), diagonal);
  return status == success ? by_blocks(products, all.second(half), diagonal) : status;
}

// ---- op(A) X = alpha B, or X op(A) = alpha B, X in the place of B ---------------------------------------------------------

struct Triangular {
  Type type;
  int side, fill, trans, diag;
  std::int64_t m, n;
  const void* alpha;
  const void* a;
  std::int64_t lda;
  void* b;
  std::int64_t ldb;

  std::int64_t order() const { return side == left ? m : n; }
  // A is not read then, infinite or not. Range: alpha on the host.
  bool is_zero() const {
    const Factor found = factor(type, alpha);
    return found.real == 0 && found.imaginary == 0;
  }
  void stand_in(FactorsOnDevice& on_device) { on_device.stand_in(type, &alpha, nullptr); }
  Triangular part(std::int64_t first, std::int64_t count, const void* factor) const {
    Triangular found = *this;
    (side == left ? found.m : found.n) = count;
    found.a = move(a, type, first, first, lda);
    found.b = side == left ? move(b, type, first, 0, ldb) : move(b, type, 0, first, ldb);
    found.alpha = factor;
    return found;
  }
  // Whether the unknowns of the first rows (columns) are found first.
  bool goes_down() const {
    const bool is_lower = (fill == lower) == (trans == op_n);
    return is_lower == (side == left);
  }
  // alpha times the part of B that is solved last, less the product of what is off the diagonal with what was solved first.
  Product update(std::int64_t half) const {
    const bool down = goes_down();
    const std::int64_t rest = order() - half, known = down ? half : rest, wanted = down ? rest : half;
    const void* off = fill == lower ? move(a, type, half, 0, lda) : move(a, type, 0, half, lda);
    Product p;
    p.type = type;
    p.alpha = factors.minus(type), p.beta = alpha, p.k = known;
    void* solved = side == left ? move(b, type, down ? 0 : half, 0, ldb) : move(b, type, 0, down ? 0 : half, ldb);
    p.c = side == left ? move(b, type, down ? half : 0, 0, ldb) : move(b, type, 0, down ? half : 0, ldb);
    p.ldc = ldb;
    if (side == left) {
      p.m = wanted, p.n = n;
      p.transpose_a = transpose_of(trans), p.transpose_b = no_transpose;
      p.a = off, p.lda = lda, p.b = solved, p.ldb = ldb;
    } else {
      p.m = m, p.n = wanted;
      p.transpose_a = no_transpose, p.transpose_b = transpose_of(trans);
      p.a = solved, p.lda = ldb, p.b = off, p.ldb = lda;
    }
    return p;
  }
};

template <class Diagonal>
Status by_blocks(const Products& products, const Triangular& all, const Diagonal& diagonal) {
  if (all.order() <= block) return diagonal(all);
  const std::int64_t half = half_of(all.order()), rest = all.order() - half;
  const bool down = all.goes_down();
  const Triangular first = down ? all.part(0, half, all.alpha) : all.part(half, rest, all.alpha);
  // The update has multiplied the rest by alpha.
  const Triangular second = down ? all.part(half, rest, factors.plus(all.type)) : all.part(0, half, factors.plus(all.type));
  Status status = by_blocks(products, first, diagonal);
  if (status == success) status = products.make(all.update(half));
  return status == success ? by_blocks(products, second, diagonal) : status;
}

// Arguments that cuBLAS takes.
bool is_valid(const RankK& p) {
  const std::int64_t line = p.trans == op_n ? p.n : p.k;
  const bool is_op = p.trans == op_n || p.trans == (is_complex(p.type) ? op_c : op_t) || (!is_complex(p.type) && p.trans == op_c);
  return (p.fill == lower || p.fill == upper) && is_op && p.n >= 0 && p.k >= 0 && p.lda >= std::max<std::int64_t>(line, 1) &&
         p.ldc >= std::max<std::int64_t>(p.n, 1);
}

bool is_valid(const Triangular& p) {
  return (p.side == left || p.side == right) && (p.fill == lower || p.fill == upper) && transpose_of(p.trans) != 0 &&
         (p.diag == 0 || p.diag == 1) && p.m >= 0 && p.n >= 0 && p.lda >= std::max<std::int64_t>(p.order(), 1) &&
         p.ldb >= std::max<std::int64_t>(p.m, 1);
}

// By blocks where that serves, else by `forward`, counted as one product of the extents of `whole`. Blocks read the factors:
// where these are on the device, `all` becomes the same with its factors on the host, which those on the diagonal take by a
// handle of ours.
template <class Problem, class Cut, class Diagonal, class Forward>
Status run(const Real& real, Handle handle, Problem& all, const Product& whole, const Cut& largest, const Diagonal& diagonal,
           const Forward& forward) {
  if (bypass_depth > 0) return forward();
  Place place;
  FactorsOnDevice factors_on_device;
  std::optional<OwnHandle> own;
  const auto reason_of_all = [&] {
    if (!is_valid(all) || !begin_place(real, handle, &place)) return Reason::refused_by_blas;
    if (whole.m == 0 || whole.n == 0 || whole.k == 0) return Reason::nothing_to_multiply;
    if (all.order() <= block) return Reason::one_block;
    const bool is_on_device = !place.is_host_factor;
    if (is_on_device) all.stand_in(factors_on_device), place.is_host_factor = true;
    const auto reason_of = [&] {
      return all.is_zero() ? Reason::nothing_to_multiply : reason_of_blocks(real, largest(), &place);
    };
    const Reason by_shape = reason_of();
    if (!is_on_device || !is_caught(by_shape)) return by_shape;
    const Reason brought = factors_on_device.bring(largest(), place.stream);
    if (brought != Reason::always) return brought;
    const Bypass bypass;
    const Functions& of = functions_of(real.library);
    own.emplace(of);
    if (!own->get() || of.set_stream(own->get(), place.stream) != success) return Reason::no_memory;
    return reason_of();
  };
  const Reason reason = reason_of_all();
  if (is_caught(reason)) {
    return by_blocks(Products{real, place}, all, [&](const Problem& each) {
      const Bypass bypass;
      return diagonal(own ? own->get() : handle, each);
    });
  }
  return leave(real, whole, reason, forward);
}

}  // namespace
}  // namespace ozfp4::interpose::cublas

using namespace ozfp4::interpose;  // of the definitions below alone
using namespace ozfp4::interpose::cublas;

#define OZFP4_EXPORT extern "C" __attribute__((visibility("default")))
#define OZFP4_REAL(name)                                                       \
  const Real& real = real_routine(Routine::name, __builtin_return_address(0)); \
  const auto function = reinterpret_cast<decltype(&name)>(real.address)

#define OZFP4_RANK_K(name, letter, Int)                                                                                 \
  OZFP4_EXPORT Status name(Handle handle, int fill, int trans, Int n, Int k, const void* alpha, const void* a, Int lda, \
                           const void* beta, void* c, Int ldc) {                                                        \
    OZFP4_REAL(name);                                                                                                   \
    RankK all{type_of(Routine::name), fill, trans, n, k, alpha, a, lda, beta, c, ldc};                                  \
    Product whole;                                                                                                      \
    whole.type = all.type, whole.m = whole.n = n, whole.k = k;                                                          \
    double parts[2][2] = {};                                                                                            \
    float singles[2][2] = {};                                                                                           \
    return run(                                                                                                         \
        real, handle, all, whole, [&] { return all.off_diagonal(half_of(n), parts, singles); },                         \
        [&](Handle own, const RankK& p) {                                                                               \
          return function(own, fill, trans, static_cast<Int>(p.n), k, p.alpha, p.a, lda, p.beta, p.c, ldc);             \
        },                                                                                                              \
        [&] { return function(handle, fill, trans, n, k, alpha, a, lda, beta, c, ldc); });                              \
  }
OZFP4_ALL_RANK_K_NAMES(OZFP4_RANK_K)

#define OZFP4_TRSM(name, letter, Int)                                                                                         \
  OZFP4_EXPORT Status name(Handle handle, int side, int fill, int trans, int diag, Int m, Int n, const void* alpha,           \
                           const void* a, Int lda, void* b, Int ldb) {                                                        \
    OZFP4_REAL(name);                                                                                                         \
    Triangular all{type_of(Routine::name), side, fill, trans, diag, m, n, alpha, a, lda, b, ldb};                             \
    Product whole;                                                                                                            \
    whole.type = all.type, whole.m = m, whole.n = n, whole.k = all.order();                                                   \
    return run(                                                                                                               \
        real, handle, all, whole, [&] { return all.update(half_of(all.order())); },                                           \
        [&](Handle own, const Triangular& p) {                                                                                \
          return function(own, side, fill, trans, diag, static_cast<Int>(p.m), static_cast<Int>(p.n), p.alpha, p.a, lda, p.b, \
                          ldb);                                                                                               \
        },                                                                                                                    \
        [&] { return function(handle, side, fill, trans, diag, m, n, alpha, a, lda, b, ldb); });                              \
  }
OZFP4_OF_ALL_TYPES(OZFP4_CUBLAS_TRSM_NAMES, OZFP4_TRSM)
