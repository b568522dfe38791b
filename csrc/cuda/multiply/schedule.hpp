// A plan as data that a multiply kernel walks: units of steps, each a product of planes and the action on the accumulator behind
// it. Also the proof that every accumulator stays exact on the way. cuda/multiply/contract.hpp says what a kernel makes of it.
//
// A unit is what one accumulator goes through; it stores to the output planes that its steps name. One modulus takes
// units_per_modulus units, side by side: so many leading units belong to a count of moduli.
#pragma once

#include <cstdint>
#include <vector>

#include "arith/fold.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// The kind of number that an entry of a plane is.
enum class Element : std::uint8_t {
  u8,    // residue, 0 .. 255
  s8,    // limb, -128 .. 127
  e2m1,  // limb of S as an E2M1 code (arith/limbs/e2m1.hpp), two a byte, the entry with the even index in the low nibble
};
constexpr bool is_signed(Element element) { return element != Element::u8; }
constexpr int entries_per_byte(Element element) { return element == Element::e2m1 ? 2 : 1; }
constexpr std::int64_t row_bytes(Element element, std::int64_t k) {
  return (k + entries_per_byte(element) - 1) / entries_per_byte(element);
}
// The most that M, N and K may be. It leaves room in 32 bits for an extent rounded up to whole tiles or blocks, or a few of them
// beyond.
inline constexpr std::int32_t kLongestExtent = INT32_MAX - 4095;
// K ranges and splits are cut at multiples of this: 128 bytes.
constexpr int block_entries(Element element) { return 128 * entries_per_byte(element); }

// The treatment of the accumulator after the K loop of a step. r = acc mod modulus in [0, modulus).
enum class Action : std::uint8_t {
  carry_on,       // nothing: the next step accumulates on top
  fold,           // acc = r * multiplier
  store_residue,  // store (r * multiplier) mod modulus; ends the unit
  store_digit,    // store r, acc = (acc - r) / modulus: positional digits, one plane each. Steps with an empty K range
                  // emit the rest of the carry; closing with store_residue modulo 256 stores a carry that fits int8 in
                  // two's complement
  multiply,       // acc = acc * multiplier modulo 2^32
  store_int32,    // store acc * multiplier modulo 2^32 as int32; ends the unit
};

constexpr bool ends_unit(Action action) { return action == Action::store_residue || action == Action::store_int32; }
constexpr bool stores(Action action) { return ends_unit(action) || action == Action::store_digit; }

struct GemmStep {
  std::uint16_t a_plane = 0, b_plane = 0;
  std::uint16_t out_plane = 0;  // of the store actions
  Action action = Action::carry_on;
  std::uint8_t shift = 0;                // with magic: see fold_constants
  std::int32_t k_begin = 0, k_end = 0;   // k_begin is a multiple of block_entries; so is k_end unless it is K
  std::uint32_t modulus = 0, magic = 0;  // 2 <= modulus <= 256 where there is a fold
  std::int32_t multiplier = 1;
  std::int32_t offset_quotient = 0;  // signed planes: offset / modulus, see fold_constants
  byte_fold bytes;
};
static_assert(sizeof(GemmStep) == 48, "256 of them stay well below the limit of 32,764 bytes of parameters");

// A step with a fold that is right for |acc| <= bound (signed planes) or 0 <= acc < 2^31 (unsigned planes: bound 0). The bound
// counts the products of the K range, those of earlier steps that carried on, and the start value that the last fold left.
GemmStep make_step(int a_plane, int b_plane, int k_begin, int k_end, Action action, std::uint32_t modulus = 0,
                   std::int32_t multiplier = 1, int out_plane = 0, std::uint32_t bound = 0);

inline constexpr int kMaxUnits = 128;  // two for each of kMaxModuli, and room

// K may be cut into so many ranges; their outputs are summed afterwards.
inline constexpr int kMaxSplits = 64;

// The parts of a schedule that whoever walks it reads. Steps of unit u are [unit_begin[u], unit_begin[u + 1]).
struct ScheduleView {
  Element element = Element::u8;
  std::uint32_t product_bound = 0;  // largest |a * b| of two limbs: 255 * 255, 144, ...
  const GemmStep* steps = nullptr;
  const int* unit_begin = nullptr;  // unit_count + 1 entries
  int unit_count = 0;
  int units_per_modulus = 1;
  int out_planes = 1;  // of bytes, or int32
};

struct Schedule {
  std::vector<GemmStep> steps;
  std::vector<int> unit_begin;
  Element element = Element::u8;
  std::uint32_t product_bound = 0;
  int planes = 0;  // of each operand
  int out_planes = 0;
  int units_per_modulus = 1;
  int least_splits = 1;  // scheme I: K must be cut into at least so many splits for the sums to fit 32 bits
  bool may_split = true;

  int unit_count() const { return static_cast<int>(unit_begin.size()) - 1; }
  // From the first residue of a modulus to that of the next, in what reconstruct reads.
  int planes_per_modulus() const { return units_per_modulus; }
  // Precondition: the schedule stays where it is and as it is.
  ScheduleView view() const {
    return {element, product_bound, steps.data(), unit_begin.data(), unit_count(), units_per_modulus, out_planes};
  }
};

// The schedule for `k` entries of the planes. Schemes I and II and INT8 products, for the fp4 and int8 alphabets; INT8 products
// are of bytes. Throws std::length_error, naming the limit, where `k` exceeds what a GPU can sum exactly. `whole_k`: of the
// product of which these are `k` entries, the others being added to its outputs; scheme I has the digits for it.
Schedule make_schedule(const Plan& plan, Element element, int k, int whole_k);
inline Schedule make_schedule(const Plan& plan, Element element, int k) { return make_schedule(plan, element, k, k); }

// Bits of the integers of a product, |integer| <= 2^(2 bits) k, and a sign.
int integer_bits(const Plan& plan, std::int64_t k);

// Smallest number of digit planes that hold every integer of a product over inner dimension k. They are the digits of all groups,
// the rest of the carry as further digits, and a last plane of magnitude at most 127. Precondition: scheme I, base 13 or 256.
// Throws std::length_error where the integers are longer than kMaxWords.
int positional_digits(const Plan& plan, std::int64_t k);

// Walks the schedule with worst-case accumulators, 32-bit integers for bytes, FP32 for E2M1 codes. Returns nullptr where it is
// well formed and exact for operands of so many planes, with K cut into `splits` ranges or more of them, else the reason.
const char* find_schedule_error(const ScheduleView& schedule, int k, int splits, int planes_a, int planes_b);

}  // namespace ozfp4
