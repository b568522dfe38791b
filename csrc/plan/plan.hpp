// The plan: everything that a matmul needs to know before it sees data, as one immutable value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arith/wide/wide_int.hpp"
#include "arith/wide/word_counts.hpp"
#include "plan/alphabet.hpp"

namespace ozfp4 {

// The range of a plan's capacity.
inline constexpr int kLeastBits = 2, kMostBits = 200;

// The family of make_moduli_plan's plans, which make_plan does not take.
inline constexpr const char* kGivenFamily = "given";

enum class Scheme { one, two, integer };  // integer: INT8 x INT8 -> INT32

// One plane product A_plane x B_plane with an integer weight, belonging to one output group.
struct Term {
  int group;
  int a_plane;
  int b_plane;
  std::int64_t weight;  // modulo the group's modulus, or a plain integer where there is none
};

// The terms of one group as Horner's rule. After the K loop of a step the accumulator is folded modulo m and multiplied, and
// carried on as the start value of the next step. Multiplier 0 means: carry on without folding.
struct Step {
  int a_plane;
  int b_plane;
  std::int64_t multiplier;
};

// Weights modulo m of the parts of a complex number.
struct PartWeights {
  std::int64_t re = 1, im = 0;
};

// One output of the multiply stage: a modulus (scheme II), a digit group i + j (scheme I), or the product itself (INT8).
struct Group {
  std::int64_t modulus;     // 0 where the group is a plain integer sum
  int first_plane, planes;  // scheme II: the planes that hold this modulus' residues
  int first_term, terms;
  std::vector<Step> chain;              // scheme II
  std::vector<std::int8_t> limb_table;  // [planes][modulus]: limbs of each residue; empty where the residue is the limb.
                                        // INT8: [planes][256], limbs of each byte v at v + 128
  std::int64_t max_product;             // largest |limb of A * limb of B| in this group
  PartWeights encoded;                  // complex: the group's plane holds re x + im y modulo m for an entry x + i y,
  PartWeights joined;                   // and its output enters the residues of the result's parts with these weights
};

// A complex product is the real product of expanded operands. A has (re, im) side by side along K, B has (re, -im) in the even
// columns and (im, re) in the odd ones. Even columns of the result are real parts, odd ones imaginary parts. A plan that is
// complex makes two entries along K one entry of each plane, and two columns one of each output, for the same result. Its k and
// its bits are those of the real product.
inline constexpr int kPair = 2;

struct Plan {
  Scheme scheme;
  Alphabet alphabet;
  std::string family;
  int bits;                 // capacity c: scaled integers are at most 2^bits in magnitude
  std::int64_t k_max;       // longest inner dimension for which the plan is exact whatever the data
  std::int64_t base;        // scheme I: base of the digits; 0 otherwise
  bool is_complex = false;  // of pairs along K, see kPair
  int planes_a, planes_b;
  bool prefix_allowed;        // a prefix of the moduli may be enough for the data's norms
  std::vector<Group> groups;  // of a modulus one, or two where it is complex, side by side
  std::vector<Term> terms;

  int products() const { return static_cast<int>(terms.size()); }
  int products_of(int count) const;  // of the first `count` moduli, or groups that have none
  bool has_moduli() const { return scheme == Scheme::two; }
  // Bytes of an entry that multiply leaves on a CPU: of a residue in [0, m), or of a sum of digits or INT8 products.
  int output_bytes() const { return has_moduli() ? alphabet.residue_bytes : 8; }
  // Entries of an operand along K for one of a plane, columns of the result for one of an output, and groups of a modulus.
  int width() const { return is_complex ? kPair : 1; }
  // Moduli, or groups that have none; what a `count` of them counts, and how many groups those are.
  int count() const { return static_cast<int>(groups.size()) / width(); }
  int groups_of(int count) const { return count * width(); }
  std::int64_t modulus(int i) const { return groups[static_cast<std::size_t>(groups_of(i))].modulus; }
};

struct PlanRequest {
  Scheme scheme = Scheme::two;
  Alphabet alphabet = Alphabet::fp4;
  std::string family = "least";
  int bits = 53;
  std::int64_t k = 1;
  bool is_complex = false;  // k counts the entries of the expanded operands
};

// The plan for inner dimension k. Throws std::invalid_argument for an unknown family or bits outside [kLeastBits, kMostBits], and
// std::length_error, naming the bound and by how much it fails, when no plan is exact for k.
Plan make_plan(const PlanRequest& request);

// A plan of scheme II modulo the given numbers in the given order; any prefix may be used. It is exact for K up to its k_max,
// which may be 0. Throws std::invalid_argument for an alphabet with residues that are not their own limbs, and for a common
// factor. Also for moduli that it does not have (above 256 or its largest odd one, or even). Throws std::length_error where their
// product is too long. Precondition: bits in [kLeastBits, kMostBits].
Plan make_moduli_plan(const Alphabet& alphabet, int bits, const std::vector<std::int64_t>& moduli);

// INT8 x INT8 -> INT32 in 6 products (limbs with weights 1, 29, 37 and their pairwise sums) or 9 (three base-13 limbs).
Plan make_int8_matmul_plan(int products);

// The residues of a result's parts as a plan of real products leaves them, one for each modulus of a complex plan.
Plan joined_plan(const Plan& plan);

// An integer of a plan, as wide as any plan needs.
using PlanInt = WideInt<kMaxWords>;

// Limbs of the integer v, |v| <= 2^bits, in plane order; fp64 residues do not fit a byte, hence 32 bits. Precondition: no complex
// plan.
void encode_integer(const Plan& plan, const PlanInt& v, std::int32_t* limbs);

// Limbs of the pair (x, y), by a complex plan.
void encode_pair(const Plan& plan, const PlanInt& x, const PlanInt& y, std::int32_t* limbs);

}  // namespace ozfp4
