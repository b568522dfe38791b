#include "plan/alphabet.hpp"

#include <stdexcept>

#include "arith/limbs/e2m1.hpp"
#include "arith/limits.hpp"
#include "plan/encoding/least_table.hpp"

namespace ozfp4 {
namespace {

constexpr std::int8_t kE2m1Magnitudes[] = {0, 1, 2, 3, 4, 6, 8, 12};

constexpr Alphabet make_fp4() {
  Alphabet fp4;
  fp4.name = "fp4";
  fp4.magnitudes = kE2m1Magnitudes;
  fp4.largest_limb = kE2m1MaxLimb;
  fp4.has_e2m1_codes = true;
  fp4.digits = {13, 0, 8};
  fp4.moduli.recipes = plan::fp4_recipes;
  fp4.moduli.sets = plan::fp4_least_sets;
  fp4.moduli.set_moduli = plan::fp4_least_moduli;
  fp4.moduli.complex_sets = plan::fp4_complex_sets;
  fp4.moduli.complex_set_moduli = plan::fp4_complex_moduli;
  fp4.has_paper_families = true;
  return fp4;
}

constexpr Alphabet make_int8() {
  Alphabet int8;
  int8.name = "int8";
  int8.largest_limb = 128;
  int8.digits = {256, 8, 128};
  int8.moduli.listed = plan::int8_moduli;
  int8.moduli.complex_listed = plan::int8_complex_moduli;
  return int8;
}

// Digits of 23 bits: limbs up to 2^22, of which FP64 sums 2^9 products exactly, 2 * 22 + 9 = 53. Moduli up to 2^23.5: residues up
// to 5931641, of which it sums 2^8 on top of the remainder of a fold. Five of them make 117.5 bits, enough for normal numbers of
// 53 bits up to K = 10^4. Five below 2^23 would be enough up to 3500, and each product of theirs takes as long.
constexpr Alphabet make_fp64() {
  Alphabet fp64;
  fp64.name = "fp64";
  fp64.largest_limb = 5931641;
  fp64.entry = PlaneEntry::fp64;
  fp64.residue_bytes = 4;
  fp64.digits = {std::int64_t(1) << 23, 23, std::int64_t(1) << 22};
  fp64.moduli.largest_odd = 2 * fp64.largest_limb + 1;
  fp64.moduli.most_odd = 20;  // of 469 bits: K <= 2^62 at 200 bits
  return fp64;
}

// Integers of a sign and 11 bits, as PTX 9.4 has them for Rubin (tcgen05.mma kind::ti16): INT32 sums 512 products exactly. No
// such device and no compiler for it were at hand, so no kernel exists: alphabets() is without it. A CPU holds its residues in
// FP64.
constexpr Alphabet make_ti16() {
  Alphabet ti16;
  ti16.name = "ti16";
  ti16.largest_limb = 2047;
  ti16.entry = PlaneEntry::fp64;
  ti16.residue_bytes = 4;
  ti16.digits = {std::int64_t(1) << 11, 11, std::int64_t(1) << 10};
  ti16.moduli.largest_odd = 2 * ti16.largest_limb + 1;
  ti16.moduli.most_odd = 39;  // of 466 bits: K <= 2^62 at 200 bits
  return ti16;
}

constexpr Alphabet kTi16 = make_ti16();
static_assert(accumulator_k_max(kTi16.largest_limb* kTi16.largest_limb, kInt32Exact) == 512);

constexpr const Alphabet* kAlphabets[] = {&Alphabet::fp4, &Alphabet::int8, &Alphabet::fp64};

}  // namespace

const Alphabet Alphabet::fp4 = make_fp4();
const Alphabet Alphabet::int8 = make_int8();
const Alphabet Alphabet::fp64 = make_fp64();

Table<const Alphabet*> alphabets() { return kAlphabets; }

const Alphabet& find_alphabet(const std::string& name) {
  if (name == kTi16.name) return kTi16;
  std::string known;
  for (const Alphabet* alphabet : kAlphabets) {
    if (name == alphabet->name) return *alphabet;
    known += (known.empty() ? "'" : ", '") + std::string(alphabet->name) + "'";
  }
  throw std::invalid_argument("alphabet: '" + name + "' is unknown; allowed are " + known);
}

}  // namespace ozfp4
