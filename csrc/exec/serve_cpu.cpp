#include "exec/serve_cpu.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "arith/float_fields.hpp"
#include "c_api/gemm.hpp"
#include "c_api/status.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/copies.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
#include "exec/settings.hpp"
#include "product/threshold.hpp"

namespace ozfp4::exec {
namespace {

// The length of a line of C in memory.
std::int64_t entries_of_line(const Product& p) { return p.order == row_major ? p.n : p.m; }

// ---- Payloads of NaNs, which tell R's NA from its NaN: ozfp4 has one NaN ----

constexpr std::int64_t least_work = 1 << 16;  // entries that a thread looks at, at least

template <class T>
bool is_nan(FloatBits<T> word) {
  return magnitude_bits(float_from_bits<T>(word)) > kInfinityBits<T>;
}

// The first NaN of an entry's parts, as arithmetic leaves it: quiet. 0 where there is none.
template <class T>
FloatBits<T> nan_of(const char* entry, std::int64_t bytes) {
  for (std::int64_t part = 0; part < bytes; part += sizeof(T)) {
    const auto word = load<FloatBits<T>>(entry + part);
    if (is_nan<T>(word)) return word | kInfinityBits<T> >> 1;
  }
  return 0;
}

// The first NaN along k in each line of an operand, `line_step` and `k_step` bytes apart: its place, p.k where there is none, and
// its bits.
template <class T>
std::vector<std::pair<std::int64_t, FloatBits<T>>> first_nans(const Product& p, const void* operand, std::int64_t lines,
                                                              std::ptrdiff_t line_step, std::ptrdiff_t k_step) {
  std::vector<std::pair<std::int64_t, FloatBits<T>>> found(static_cast<std::size_t>(lines), {p.k, 0});
  parallel_for(lines, least_work / (p.k + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      auto& [k, nan] = found[static_cast<std::size_t>(line)];
      const char* entry = static_cast<const char*>(operand) + line * line_step;
      for (k = 0; k < p.k && (nan = nan_of<T>(entry, size_of(p.type))) == 0; ++k) entry += k_step;
    }
  });
  return found;
}

// Entries of C that have a NaN in their row of op(A) or column of op(B) get the bits of the first one. The order is that of k,
// a row before a column. A complex entry has them in both of its parts. Precondition: a product that is made and is no triangle.
template <class T>
void keep_payloads(const Product& p) {
  const auto rows = first_nans<T>(p, p.a, p.m, place_in_a(p, 1, 0), place_in_a(p, 0, 1));
  const auto columns = first_nans<T>(p, p.b, p.n, place_in_b(p, 0, 1), place_in_b(p, 1, 0));
  parallel_for(p.n, least_work / (p.m + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        const auto &row = rows[static_cast<std::size_t>(i)], &column = columns[static_cast<std::size_t>(j)];
        const auto [k, nan] = row.first <= column.first ? row : column;
        char* entry = static_cast<char*>(p.c) + place_of(p, p.ldc, i, j);
        for (std::int64_t part = 0; part < size_of(p.type) && k < p.k; part += sizeof(T)) store(entry + part, nan);
      }
    }
  });
}

// The same for entries that are NaN by those of C before, which lie without gaps: where an operand has a NaN, it goes before.
template <class T>
void keep_payloads_of_c(const Product& p, const char* before) {
  const std::int64_t size = size_of(p.type), entries = entries_of_line(p);
  parallel_for(p.m * p.n / entries, 4 * least_work / entries + 1, [&](std::int64_t line, std::int64_t end) {
    for (; line < end; ++line) {
      const char* kept = before + line * entries * size;
      char* c = static_cast<char*>(p.c) + line * p.ldc * size;
      for (std::int64_t i = 0; i < entries; ++i, kept += size, c += size) {
        const auto nan = nan_of<T>(kept, size);
        for (std::int64_t part = 0; part < size && nan != 0; part += sizeof(T)) {
          if (is_nan<T>(load<FloatBits<T>>(c + part))) store(c + part, nan);
        }
      }
    }
  });
}

// body(T()), T being the type of real numbers.
template <class Body>
void with_part(Type type, const Body& body) {
  with_float(is_single(type) ? ElementType::float32 : ElementType::float64, body);
}

// ---- Whole matrices ----

// Throws what the core throws.
void multiply(const Product& p, ozfp4_report& report) {
  static constexpr c_api::EntryType types[] = {c_api::kS, c_api::kD, c_api::kC, c_api::kZ};
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = settings().accuracy, options.report = &report;
  report.size = sizeof report;
  const c_api::EntryType type = types[static_cast<int>(p.type)];
  const c_api::GivenMatrix a{type, p.a, p.lda}, b{type, p.b, p.ldb}, c{type, p.c, p.ldc};
  c_api::multiply({{p.order, p.transpose_a, p.transpose_b, p.m, p.n, p.k, a, b, c}, alpha_of(p), beta_of(p)}, &options);
}

// A product that is added to C, of which some blocks may be sums already where memory ends amid it: C is then as it was.
void multiply_added(const Product& p, ozfp4_report& report) {
  const std::int64_t entries = entries_of_line(p), size = size_of(p.type);
  if (p.m == 0 || p.n == 0) return multiply(p, report);
  const Buffer before = allocate_buffer(p.m * p.n * size);
  const StridedEntries c{static_cast<char*>(p.c), {p.ldc * size, size, 0}}, kept{before.get(), {entries * size, size, 0}};
  const std::array<std::int64_t, 3> extents{p.m * p.n / entries, entries, 1};
  copy_entries(kept, c, extents, static_cast<int>(size));
  try {
    multiply(p, report);
  } catch (...) {
    copy_entries(c, kept, extents, static_cast<int>(size));
    throw;
  }
  with_part(p.type, [&](auto zero) { keep_payloads_of_c<decltype(zero)>(p, before.get()); });
}

Reason serve_matrix(const Product& p, std::int64_t* repaired) {
  ozfp4_report report{};
  const ozfp4_status status = c_api::guarded([&] { beta_of(p) != 0.0 ? multiply_added(p, report) : multiply(p, report); });
  if (status != OZFP4_OK) say_once(std::string("left, as ozfp4 does not make it: ") + ozfp4_last_error());
  if (status == OZFP4_OK && (report.special_rows != 0 || report.special_columns != 0)) {
    // Where there is no memory for it, NaNs are those of ozfp4.
    c_api::guarded([&] { with_part(p.type, [&](auto zero) { keep_payloads<decltype(zero)>(p); }); });
  }
  *repaired += report.repaired;
  return reason_of(status);
}

// ---- By a plain loop ----

template <class T>
void multiply_plainly(const Product& p) {
  const T alpha = number_of<T>(alpha_of(p)), beta = number_of<T>(beta_of(p));
  const bool multiplies = p.k > 0 && alpha != T(0);  // else neither A nor B is read
  if (!multiplies && beta == T(1)) return;
  const auto entry = [](const void* matrix, std::ptrdiff_t place, int op) {
    const T x = load<T>(static_cast<const char*>(matrix) + place);
    return op == conjugate_transpose ? conjugate(x) : x;
  };
  for (std::int64_t j = 0; j < p.n; ++j) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      if (!is_written(p, i, j)) continue;
      T sum = 0;
      for (std::int64_t l = 0; l < p.k && multiplies; ++l) {
        sum += entry(p.a, place_in_a(p, i, l), p.transpose_a) * entry(p.b, place_in_b(p, l, j), p.transpose_b);
      }
      if (multiplies) sum *= alpha;
      char* const c = static_cast<char*>(p.c) + place_of(p, p.ldc, i, j);
      const auto real_or = [is_real = is_real(p, i, j)](T x) { return is_real ? T(std::real(x)) : x; };
      if (beta != T(0)) sum += beta * real_or(load<T>(c));
      store(c, real_or(sum));
    }
  }
}

// ---- Triangles by blocks: what is off the diagonal is products, and blocks on it are made whole in memory apart ----

constexpr std::int64_t block = 256;  // rows of a block on the diagonal, at most, of which nearly half is made for nothing

// Rows from one on and columns from one on.
Product part_of(const Product& p, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  Product found = p;
  found.m = rows, found.n = columns;
  found.a = static_cast<const char*>(p.a) + place_in_a(p, row, 0);
  found.b = static_cast<const char*>(p.b) + place_in_b(p, 0, column);
  found.c = static_cast<char*>(p.c) + place_of(p, p.ldc, row, column);
  return found;
}

class Triangles {
 public:
  Triangles(std::int64_t* repaired, char* apart) : repaired_(repaired), apart_(apart) {}

  // The largest product first: what it is refused for, the triangle is, and nothing has been written. No later one is, but for
  // memory that others took meanwhile.
  Reason make(const Product& p) {
    if (p.n <= block) return make_on_diagonal(p);
    const std::int64_t half = (p.n / 2 + block - 1) / block * block, rest = p.n - half;
    Product between = p.triangle == lower_triangle ? part_of(p, half, rest, 0, half) : part_of(p, 0, half, half, rest);
    between.triangle = 0;
    const Reason reason = make_one(between);
    if (reason != Reason::none) return reason;
    is_begun_ = true;
    make(part_of(p, 0, half, 0, half));
    return make(part_of(p, half, rest, half, rest));
  }

 private:
  Reason make_one(const Product& p) {
    const Reason reason = serve_matrix(p, repaired_);
    if (reason == Reason::none || !is_begun_) return reason;
    multiply_plainly(p);
    return Reason::none;
  }

  Reason make_on_diagonal(const Product& p) {
    Product whole = p;
    whole.triangle = 0, whole.c = apart_, whole.ldc = p.n;
    if (beta_of(p) != 0.0) {
      std::memset(apart_, 0, static_cast<std::size_t>(p.n * p.n * size_of(p.type)));
      copy(p, p.c, p.ldc, apart_, p.n);
    }
    const Reason reason = make_one(whole);
    if (reason == Reason::none) copy(p, apart_, p.n, static_cast<char*>(p.c), p.ldc);
    return reason;
  }

  // The triangle from one matrix to another.
  static void copy(const Product& p, const void* from, std::int64_t leading, char* to, std::int64_t leading_to) {
    const std::int64_t entry = size_of(p.type);
    // Lines are of entries side by side: before the diagonal, with it, or from it on.
    const bool ends_at_diagonal = (p.triangle == lower_triangle) == (p.order == row_major);
    for (std::int64_t i = 0; i < p.n; ++i) {
      const std::int64_t first = ends_at_diagonal ? 0 : i, last = ends_at_diagonal ? i + 1 : p.n;
      const char* source = static_cast<const char*>(from) + (i * leading + first) * entry;
      std::memcpy(to + (i * leading_to + first) * entry, source, static_cast<std::size_t>((last - first) * entry));
      if (p.is_hermitian) std::memset(to + (i * leading_to + i) * entry + entry / 2, 0, static_cast<std::size_t>(entry / 2));
    }
  }

  std::int64_t* repaired_;
  char* apart_;
  bool is_begun_ = false;
};

Reason serve_triangle(const Product& triangle, std::int64_t* repaired) {
  if (triangle.n == 0) return Reason::none;
  Reason reason = Reason::none;
  const ozfp4_status status = c_api::guarded([&] {
    const std::int64_t rows = std::min(triangle.n, block);
    const Buffer apart = allocate_buffer(rows * rows * size_of(triangle.type));
    reason = Triangles(repaired, apart.get()).make(triangle);
  });
  return status == OZFP4_OK ? reason : reason_of(status);
}

}  // namespace

std::int64_t Cpu::threshold(Type type) {
  static std::atomic<std::int64_t> known[type_count];  // 0: not asked yet
  std::atomic<std::int64_t>& own = known[static_cast<int>(type)];
  if (own.load(std::memory_order_relaxed) == 0) own.store(cpu_threshold(letter_of(type)), std::memory_order_relaxed);
  return own.load(std::memory_order_relaxed);
}

// Not in a thread with little room left, nor on a stack that is not the thread's own, as of a coroutine: its end is unknown.
// Products of up to 700^3 need threads of 112 to 128 KiB on Zen 4, with all that the first product does. Asks the system once in
// each thread.
Reason Cpu::is_open(const Real&) {
  constexpr std::uintptr_t needed = 256 << 10;
  static __attribute__((tls_model("initial-exec"))) thread_local std::uintptr_t begin = 0, bytes = 0;
  pthread_attr_t attributes;
  if (bytes == 0 && pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* lowest = nullptr;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_destroy(&attributes);
    begin = reinterpret_cast<std::uintptr_t>(lowest);
  }
  const auto room = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - begin;  // huge below the stack
  return room >= needed && room < bytes ? Reason::none : Reason::little_stack;
}

Reason Cpu::make(const Real& real, const Product& product) {
  std::int64_t repaired = 0;
  const Reason how = product.triangle != 0 ? serve_triangle(product, &repaired) : serve_matrix(product, &repaired);
  if (how == Reason::none && repaired > few_repairs(product.m * product.n)) real.has_many_repairs = true;
  return how;
}

void Cpu::make_alone(const Real& real, const Product& product) {
  if (is_valid(product)) return multiply_plainly(product);
  say_once(std::string(name_of(real.routine)) + ": an argument is none of BLAS's; nothing is written");
}

void multiply_plainly(const Product& product) {
  with_part(product.type, [&product](auto zero) {
    using T = decltype(zero);
    is_complex(product.type) ? multiply_plainly<std::complex<T>>(product) : multiply_plainly<T>(product);
  });
}

}  // namespace ozfp4::exec
