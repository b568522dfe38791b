// An alphabet: the integers that a plane may hold, and what follows from them. The facts below are all in which the alphabets
// differ; whoever needs one asks for it, none for the alphabet itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ozfp4 {

// A table that outlives every plan.
template <class T>
struct Table {
  const T* data = nullptr;
  std::size_t size = 0;

  constexpr Table() = default;
  template <std::size_t N>
  constexpr Table(const T (&array)[N]) : data(array), size(N) {}
  constexpr const T* begin() const { return data; }
  constexpr const T* end() const { return data + size; }
  constexpr bool empty() const { return size == 0; }
};

// How the residues of a modulus are written in limbs, and what one product modulo it then costs; the comment that opens
// plan/encoding/least_table.hpp gives the formulas.
namespace plan {

enum class RecipeKind : std::uint8_t { direct, square, karatsuba, pair };

struct Recipe {
  std::uint16_t modulus;
  RecipeKind kind;
  std::uint8_t products;  // number of terms
  std::uint16_t base;     // b; 0 for direct
  std::uint16_t s;        // s and t: karatsuba only, else 0
  std::uint16_t t;
};

}  // namespace plan

// Entries of a plane on the CPU, and the numbers in which its register tiles multiply them.
enum class PlaneEntry {
  int8,  // limbs in bytes, decoded to FP32: sums exact up to 2^24
  fp64,  // integers in FP64, multiplied as they are: sums exact up to 2^53
};

// Scheme I: how an integer is cut into digits.
struct DigitRule {
  std::int64_t base = 0;           // 13, or a power of two
  int width = 0;                   // balanced digits of so many bits; 0: the greedy limbs of base 13 (arith/limbs/limbs.hpp)
  std::int64_t largest_digit = 0;  // magnitude
};

// Scheme II: where the moduli come from. Exactly one of the three is there.
struct ModulusSource {
  // Residues are encoded by recipes over the limbs. `sets` has the moduli for products up to a limit, ascending: bit i of a set
  // is for the i-th of set_moduli.
  Table<plan::Recipe> recipes;
  Table<std::uint64_t> sets;
  Table<std::uint16_t> set_moduli;
  // The balanced residue is its own limb: these pairwise coprime moduli in their order,
  Table<std::uint16_t> listed;
  // or the odd pairwise coprime numbers from here downwards, so many at most.
  std::int64_t largest_odd = 0;
  int most_odd = 0;
  // For complex products: sets of moduli with recipes; or a list, where residues are their own limbs and moduli are listed. Where
  // they are not, the odd ones above that split.
  Table<std::uint64_t> complex_sets;
  Table<std::uint16_t> complex_set_moduli, complex_listed;
};

struct Alphabet {
  const char* name = "";

  // The limbs are 0 and plus or minus the others of `magnitudes`; where that is empty, all integers up to largest_limb.
  Table<std::int8_t> magnitudes;
  std::int64_t largest_limb = 0;
  bool has_e2m1_codes = false;  // every limb is twice a value of E2M1, so that FP4 units take it

  PlaneEntry entry = PlaneEntry::int8;
  int residue_bytes = 1;  // of a residue in [0, m), as multiply leaves it: 1 where every modulus is at most 256, else 4

  DigitRule digits;
  ModulusSource moduli;
  bool has_paper_families = false;  // "paper", and for scheme II "paper-karatsuba": base 13 over the limbs of E2M1

  int entry_bytes() const { return entry == PlaneEntry::fp64 ? 8 : 1; }
  bool residue_is_limb() const { return moduli.recipes.empty(); }

  static const Alphabet fp4;   // S, twice the values of E2M1
  static const Alphabet int8;  // bytes
  static const Alphabet fp64;  // integers of which FP64 sums 256 products exactly
};

// The three alphabets, in that order.
Table<const Alphabet*> alphabets();

// Throws std::invalid_argument for a name that none of them has.
const Alphabet& find_alphabet(const std::string& name);

}  // namespace ozfp4
