#include "cpu/words/entries.hpp"

#include <cstring>
#include <limits>

#include "arith/float_fields.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kFractionBits = 52;
constexpr std::uint64_t kFraction = (std::uint64_t(1) << kFractionBits) - 1, kMagnitude = ~std::uint64_t(0) >> 1;

// What processors have in one register or in several. These loops sum too many things of each entry for compilers to keep all of
// them in registers by themselves. Never passed by value, which has no one ABI.
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

// The weights of the lowest bits that are set, as numbers: of the last one of the fraction, or the leading one. Range: the
// magnitude bits of normal numbers; of others something below 2^kLeastPlainWeight.
inline void least_bits(const Words& magnitude, Numbers& weight) {
  const Words fraction = magnitude & kFraction, last = fraction & (0 - fraction), power_bits = magnitude ^ fraction;
  const Words sum_bits = power_bits | last;
  Numbers power, sum;
  take_bits(power_bits, power);
  take_bits(sum_bits, sum);
  weight = last == 0 ? power : sum - power;
}

}  // namespace

OZFP4_VECTORISED void find_largest(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts, std::int64_t to) {
  Words largest = {};
  for (std::int64_t i = 0; i < count; ++i, x += step) {
    Words bits;
    load_lanes(x, bits);
    const Words magnitude = bits & kMagnitude;
    largest = magnitude > largest ? magnitude : largest;
  }
  store_lanes(largest, facts.largest + to);
}

OZFP4_VECTORISED void find_facts(const double* x, std::int64_t step, std::int64_t count, LaneFacts& facts, std::int64_t to) {
  const Numbers none = std::numeric_limits<double>::infinity() - Numbers{};
  Words largest = {}, fields = {};
  Counts nonzeros = {};
  Numbers least = none;
  for (std::int64_t i = 0; i < count; ++i, x += step) {
    Words bits;
    load_lanes(x, bits);
    const Words magnitude = bits & kMagnitude;
    Numbers weight;
    least_bits(magnitude, weight);
    weight = magnitude == 0 ? none : weight;
    largest = magnitude > largest ? magnitude : largest;
    least = weight < least ? weight : least;
    nonzeros -= magnitude != 0;  // a comparison gives -1
    fields += magnitude >> kFractionBits;
  }
  store_lanes(largest, facts.largest + to);
  store_lanes(nonzeros, facts.nonzeros + to);
  store_lanes(fields, facts.fields + to);
  store_lanes(least, facts.least + to);
}

// An entry is rounded where its integer is another number, or 0 though it is not: then the scaled number may have vanished.
OZFP4_VECTORISED void convert_entries(double* x, std::uint64_t* words, std::int64_t step, std::int64_t count, const double* scale,
                                      LaneIntegers& found) {
  Numbers squares = {}, own;
  Counts rounded = {};
  load_lanes(scale, own);
  for (std::int64_t i = 0; i < count; ++i, x += step, words += step) {
    Words bits, word;
    load_lanes(x, bits);
    const Words magnitude = bits & kMagnitude, kept = magnitude < kInfinityBits<double> ? bits : 0 * bits;
    Numbers z, value;
    take_bits(kept, z);
    z *= own;
    split_near_entry(z, value, word);
    rounded -= (value != z) | ((value == 0.0) & ((kept & kMagnitude) != 0));
    squares += value * value;
    store_lanes(value, x);
    store_lanes(word, words);
  }
  store_lanes(squares, found.squares);
  store_lanes(rounded, found.rounded);
}

OZFP4_VECTORISED void find_residues(const double* __restrict integers, std::int64_t n, const Bridge& bridge,
                                    double* __restrict residues) {
  const Bridge own = bridge;
  for (std::int64_t i = 0; i < n; ++i) residues[i] = near_residue(integers[i], own);
}

OZFP4_VECTORISED void find_wide_residues(const double* __restrict integers, std::int64_t n, std::uint64_t* __restrict residues) {
  const Bridge own = kWideBridge;
  constexpr double magic = 0x1.8p52;  // as split_near_entry
  for (std::int64_t i = 0; i < n; ++i) {
    residues[i] = float_bits(near_residue(integers[i], own) + magic) - 0x4338000000000000u;
  }
}

}  // namespace ozfp4
