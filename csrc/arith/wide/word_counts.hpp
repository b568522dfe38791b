// How many 32-bit words the wide integers may have: the one list of what is compiled, and the choice from it. A longer plan
// is served by a longer list.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

namespace ozfp4 {

// 5 words hold scheme I at 53 bits and most products of moduli, 6 and 8 the rest of them; the long ones are for more bits.
#define OZFP4_LONG_WORD_COUNTS(X) X(8) X(12) X(20)
#define OZFP4_WORD_COUNTS(X) X(5) X(6) OZFP4_LONG_WORD_COUNTS(X)

inline constexpr int kMinLongWords = 8;
inline constexpr int kMaxWords = 20;

// The least count of the list that is at least `least` and holds so many bits, the sign among them. Throws
// std::length_error beyond kMaxWords; `what` names the integers in the message.
inline int words_for(int bits, const char* what, int least = 1) {
#define OZFP4_TRY(Words) \
  if (Words >= least && bits <= 32 * Words) return Words;
  OZFP4_WORD_COUNTS(OZFP4_TRY)
#undef OZFP4_TRY
  throw std::length_error(std::string(what) + " need " + std::to_string(bits) + " bits; the longest integers have " +
                          std::to_string(32 * kMaxWords));
}

// use(std::integral_constant<int, words>()), for any count of the list.
template <class Use>
decltype(auto) dispatch_words(int words, Use&& use) {
  switch (words) {
#define OZFP4_CASE(Words) \
  case Words: return use(std::integral_constant<int, Words>());
    OZFP4_WORD_COUNTS(OZFP4_CASE)
#undef OZFP4_CASE
    default: throw std::logic_error("integers of " + std::to_string(words) + " words are not compiled");
  }
}

// The same for the long counts alone.
template <class Use>
decltype(auto) dispatch_long_words(int words, Use&& use) {
  switch (words) {
#define OZFP4_CASE(Words) \
  case Words: return use(std::integral_constant<int, Words>());
    OZFP4_LONG_WORD_COUNTS(OZFP4_CASE)
#undef OZFP4_CASE
    default: throw std::logic_error("long integers of " + std::to_string(words) + " words are not compiled");
  }
}

}  // namespace ozfp4
