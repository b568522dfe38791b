// Residues as limbs of an alphabet, and the terms of a product of two residues so encoded, in what order they are summed.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/alphabet.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Planes of each operand that a recipe needs.
int planes_of(plan::RecipeKind kind);

// The limbs of an alphabet that lists them: each magnitude, then its negative.
std::vector<int> limbs_of(const Alphabet& alphabet);

// [planes][modulus]: the limbs of every residue, among all encodings the one with the smallest largest limb, then the least
// sum of squares, then by the order documented in least_table.hpp. Throws std::logic_error where a residue has none.
std::vector<std::int8_t> make_limb_table(const Alphabet& alphabet, const plan::Recipe& recipe);

// The largest |limb * limb| of terms over the planes of such a table; without one balanced residues are their own limbs.
std::int64_t largest_product(const std::vector<std::int8_t>& table, const std::vector<Term>& terms, std::int64_t m);

// The recipe of the modulus. Throws std::logic_error where there is none.
const plan::Recipe& find_recipe(const Table<plan::Recipe>& recipes, int modulus);

// The terms of a group, both numbered from 0 as its planes are.
std::vector<Term> terms_of(const plan::Recipe& recipe);

// Orders the terms so that each weight is a multiple of the next one modulo m, least final multiplier first. Throws
// std::logic_error where no order is.
std::vector<Step> make_chain(const std::vector<Term>& terms, std::int64_t m);

}  // namespace ozfp4
