// How the residues of a modulus are written in limbs, and what one product modulo it then costs; the comment that opens
// plan/encoding/least_table.hpp gives the formulas.
#pragma once

#include <cstdint>

namespace ozfp4::plan {

enum class RecipeKind : std::uint8_t { direct, square, karatsuba, pair };

struct Recipe {
  std::uint16_t modulus;
  RecipeKind kind;
  std::uint8_t products;  // number of terms
  std::uint16_t base;     // b; 0 for direct
  std::uint16_t s;        // s and t: karatsuba only, else 0
  std::uint16_t t;
};

// Pairwise coprime moduli, those from `first` on of a list.
struct RecipeSet {
  std::uint16_t products;  // Q
  std::uint8_t size;       // number of moduli
  std::uint16_t first;
};

}  // namespace ozfp4::plan
