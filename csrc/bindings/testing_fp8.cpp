// An alphabet that the package does not have, by a table: the FP8 format E4M3.
#include "bindings/testing.hpp"

namespace ozfp4::bindings {
namespace {

using plan::Recipe;
using plan::RecipeKind;

// E4M3 has four significant bits. Times a power of two its values are 0..16, then every second integer up to 32, every fourth
// up to 64 and every eighth; planes hold bytes, so the largest is 120.
constexpr std::int8_t kMagnitudes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 18,  20,  22,
                                       24, 26, 28, 30, 32, 36, 40, 44, 48, 52, 56, 60, 64, 72, 80, 88, 96, 104, 112, 120};

// Pairwise coprime, every kind of recipe; in base 16 c0 and c1 are balanced digits, and c0 - c1 is a limb.
constexpr Recipe kRecipes[] = {{53, RecipeKind::direct, 1, 0, 0, 0},        {49, RecipeKind::direct, 1, 0, 0, 0},
                               {47, RecipeKind::direct, 1, 0, 0, 0},        {45, RecipeKind::direct, 1, 0, 0, 0},
                               {43, RecipeKind::direct, 1, 0, 0, 0},        {41, RecipeKind::direct, 1, 0, 0, 0},
                               {37, RecipeKind::direct, 1, 0, 0, 0},        {256, RecipeKind::square, 3, 16, 0, 0},
                               {251, RecipeKind::karatsuba, 3, 16, 1, 250}, {241, RecipeKind::karatsuba, 3, 16, 1, 240},
                               {239, RecipeKind::karatsuba, 3, 16, 1, 238}, {233, RecipeKind::karatsuba, 3, 16, 1, 232},
                               {229, RecipeKind::karatsuba, 3, 16, 1, 228}, {227, RecipeKind::karatsuba, 3, 16, 1, 226},
                               {223, RecipeKind::pair, 4, 15, 0, 0},        {211, RecipeKind::pair, 4, 15, 0, 0},
                               {199, RecipeKind::pair, 4, 15, 0, 0},        {197, RecipeKind::karatsuba, 3, 15, 1, 196},
                               {193, RecipeKind::karatsuba, 3, 14, 1, 192}};

constexpr Alphabet make_fp8() {
  Alphabet fp8;
  fp8.name = "fp8";
  fp8.magnitudes = kMagnitudes;
  fp8.largest_limb = 120;
  fp8.digits = {32, 5, 16};  // balanced digits from -16 to 15
  fp8.moduli.recipes = kRecipes;
  return fp8;
}

}  // namespace

const Alphabet& fp8_alphabet() {
  static constexpr Alphabet fp8 = make_fp8();
  return fp8;
}

}  // namespace ozfp4::bindings
