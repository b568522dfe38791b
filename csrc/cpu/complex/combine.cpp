#include "cpu/complex/combine.hpp"

#include <stdexcept>

#include "arith/update/part_sum.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kGrain = 1 << 12;  // entries that are worth a thread

template <class T>
T rounded_sum(const PartSum& of) {
  if (!of.are_finite) return special_sum<T>(of);
  T result;
  if (settle_sum<T, false>(of, result)) return result;
  ExactSum sum;
  return exact_sum<T>(of, sum.digit);
}

template <class T>
void combine_entry(const std::vector<ComplexTerm>& terms, std::int64_t row, std::int64_t column, char* place) {
  ComplexSum sum;
  int index = 0;
  for (const ComplexTerm& term : terms) {
    const char* entry = term.data + row * term.stride + column * static_cast<std::int64_t>(2 * sizeof(T));
    sum.add(index++, load<T>(entry), load<T>(entry + sizeof(T)), term.factor.real(), term.factor.imag());
  }
  store(place, rounded_sum<T>(sum.real));
  store(place + sizeof(T), rounded_sum<T>(sum.imaginary));
}

}  // namespace

void combine_complex(const std::vector<ComplexTerm>& terms, ElementType part, std::int64_t rows, std::int64_t columns, char* c,
                     std::ptrdiff_t stride) {
  if (terms.size() > kMostSummed) throw std::logic_error("combine_complex: more terms than there is room for");
  with_float(part, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(rows * columns, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = i / columns, column = i % columns;
        combine_entry<T>(terms, row, column, c + row * stride + column * static_cast<std::int64_t>(2 * sizeof(T)));
      }
    });
  });
}

}  // namespace ozfp4
