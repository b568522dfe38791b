// Four numbers of 64 bits, in one register or in several. They are for loops that hold too many things of each entry for
// compilers to keep all of them in registers by themselves. Never passed by value, which has no one ABI.
#pragma once

#include <cstdint>
#include <cstring>

namespace ozfp4 {

inline constexpr std::int64_t kEntryLanes = 4;

using Numbers = double __attribute__((vector_size(8 * kEntryLanes)));
using Words = std::uint64_t __attribute__((vector_size(8 * kEntryLanes)));
using Counts = std::int64_t __attribute__((vector_size(8 * kEntryLanes)));

template <class Lanes, class T>
inline void load_lanes(const T* from, Lanes& to) {
  std::memcpy(&to, from, sizeof to);
}
template <class Lanes, class T>
inline void store_lanes(const Lanes& from, T* to) {
  std::memcpy(to, &from, sizeof from);
}
template <class From, class To>
inline void take_bits(const From& from, To& to) {
  static_assert(sizeof(From) == sizeof(To));
  std::memcpy(&to, &from, sizeof to);
}

}  // namespace ozfp4
