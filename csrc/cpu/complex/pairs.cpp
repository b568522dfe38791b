#include "cpu/complex/pairs.hpp"

#include <algorithm>

#include "arith/multiples.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kLines = 8;        // read together where lines lie side by side: a cache line of entries is read once
constexpr std::int64_t kGrain = 1 << 15;  // entries that are worth a thread

// Calls put(line, index, re, im) for every entry, as it is meant.
template <class T, class Put>
void for_entries(const PairView& from, const Put& put) {
  const std::int64_t grain = ceil_div(kGrain, kLines * std::max<std::int64_t>(from.inner, 1));
  parallel_for(ceil_div(from.outer, kLines), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin * kLines; first < std::min(end * kLines, from.outer); first += kLines) {
      const std::int64_t last = std::min(first + kLines, from.outer);
      for (std::int64_t k = 0; k < from.inner; ++k) {
        for (std::int64_t line = first; line < last; ++line) {
          const char* entry = from.data + line * from.outer_stride + k * from.inner_stride;
          T re = load<T>(entry), im = load<T>(entry + sizeof(T));
          if (from.is_conjugated) im = -im;
          if (from.is_turned) std::swap(re, im), re = -re;
          put(line, k, re, im);
        }
      }
    }
  });
}

}  // namespace

void expand_left(const PairView& from, void* to) {
  with_float(from.part, [&](auto zero) {
    using T = decltype(zero);
    T* lines = static_cast<T*>(to);
    for_entries<T>(from, [&](std::int64_t line, std::int64_t k, T re, T im) {
      T* place = lines + 2 * (line * from.inner + k);
      place[0] = re;
      place[1] = im;
    });
  });
}

void expand_right(const PairView& from, void* to) {
  with_float(from.part, [&](auto zero) {
    using T = decltype(zero);
    T* lines = static_cast<T*>(to);
    for_entries<T>(from, [&](std::int64_t line, std::int64_t k, T re, T im) {
      T *even = lines + 2 * (2 * line * from.inner + k), *odd = even + 2 * from.inner;
      even[0] = re;
      even[1] = -im;
      odd[0] = im;
      odd[1] = re;
    });
  });
}

}  // namespace ozfp4
