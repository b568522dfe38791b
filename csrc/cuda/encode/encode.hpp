// Stage 2 on the GPU: all planes of an operand in one sweep, K-contiguous, B transposed on the way.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/encode/residue_bytes.hpp"
#include "cuda/multiply/schedule.hpp"
#include "cuda/planes.hpp"
#include "cuda/scale/scale.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"

namespace ozfp4::cuda {

enum class EncodeKind : std::uint8_t {
  residues,     // scheme II, int8: a residue is its own limb, unsigned in [0, m)
  limb_tables,  // scheme II, fp4: limbs of the residue, from a table
  digits13,     // scheme I, fp4: base-13 limbs
  digits256,    // scheme I, int8: balanced digits of base 256
  int8_limbs,   // int8 operands: limbs of the entry, from a table
  // The limbs of limb_tables and digits13 as E2M1 codes, two a byte, the entry with the even index in the low nibble.
  limb_codes,
  digit13_codes,
  pairs,        // complex, int8: a residue of two entries that are neighbours along K
  pair_tables,  // complex, fp4: limbs of such a residue, from a table
  pair_codes,   // those as E2M1 codes
};
constexpr bool is_of_pair_limbs(EncodeKind kind) { return kind == EncodeKind::pair_tables || kind == EncodeKind::pair_codes; }
constexpr bool is_of_pairs(EncodeKind kind) { return kind == EncodeKind::pairs || is_of_pair_limbs(kind); }
constexpr bool writes_codes(EncodeKind kind) {
  return kind == EncodeKind::limb_codes || kind == EncodeKind::digit13_codes || kind == EncodeKind::pair_codes;
}
// Entries of the operand for one byte of a plane.
constexpr int log_entries_per_byte(EncodeKind kind) { return (writes_codes(kind) ? 1 : 0) + (is_of_pairs(kind) ? 1 : 0); }
constexpr int units_per_modulus(EncodeKind kind) { return is_of_pairs(kind) ? kPair : 1; }
constexpr bool has_units(EncodeKind kind) {
  return kind != EncodeKind::digits13 && kind != EncodeKind::digit13_codes && kind != EncodeKind::digits256;
}

// Planes that come from one residue (or int8 entry): a residue plane, or one to three limbs of a table entry.
struct EncodeUnit {
  ByteModulus<kMaxByteWords> modulus;
  std::uint16_t table = 0;  // first table entry
  std::uint16_t planes = 1;
};

inline constexpr int kMaxTableEntries = 3344;  // of the 37 moduli of the longest FP4 plan

// The constants of a plan that encode needs; built once per plan on the host, read by the kernel from its parameters.
struct EncodePlan {
  EncodeKind kind = EncodeKind::residues;
  int units = 0;  // moduli, or twice as many of pairs; 1 or 2 for int8_limbs; 0 for digits
  int planes = 0, bits = 0;
  int words = 2;  // of the integers: 1, 2, 3, 4 or kMaxByteWords
  EncodeUnit unit[kMaxModuli];
  int table_entries = 0;
  std::uint16_t table[kMaxTableEntries] = {};  // three E2M1 codes each, the first plane's lowest
};

enum class EncodedEntries : std::uint8_t {
  numbers,
  long_lines,  // float64 ones, of lines that may be converted exactly (exact_capacity)
  integers,    // of 64 bits
};

// Residue planes are uint8 in [0, m) for int8 plans of scheme II; limb planes are int8, or E2M1 codes with `as_codes`.
// Throws std::invalid_argument for plans over the fp64 alphabet, which no GPU multiplies. Throws it also for limbs as codes with
// a plan that is not of schemes I or II over the fp4 alphabet.
EncodePlan make_encode_plan(const Plan& plan, bool as_codes = false, EncodedEntries entries = EncodedEntries::numbers);

struct EncodeJob {
  ScaledOperand operand;
  std::int32_t first_line = 0, lines = 0;  // the lines to encode; planes hold only these
  Planes planes;
  bool counts = false;  // adds the entries that it rounds to LineRecord::rounded: of every entry one job of a product is to
  // Lines of the same magnitudes with records so far behind those of the operand's; 0: none. The counts are added to their
  // records, too.
  std::int64_t twin_records = 0;
};

// Encodes one or two operands (b.lines = 0: only a) in one launch, two where their element types differ. `moduli_used`
// (device, may be null): how many leading moduli to write. Lines of non-finite entries hold
// limbs of no meaning there, within the alphabet. after_scale: the stream's latest work is launch_scale of these operands, so
// that encode may start while that ends, where its code can (programmatic dependent launch). Neither synchronises nor allocates;
// may be captured. Throws LaunchError, also where the build has no kernels for the current device that write E2M1 codes: there
// are such for the GPUs with multiply kernels that take them. Precondition: nothing that find_encode_error has a reason against.
void launch_encode(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b, const int* moduli_used, cudaStream_t stream,
                   bool after_scale = false);

// nullptr where launch_encode takes the jobs, else the reason; lines of all matrices of an operand together are below 2^31.
const char* find_encode_error(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b);

// ---- Scale and encode in one launch, which reads each operand once: lines that fit into shared memory -------------------------

// Whether launch_scale_encode takes these operands on the current device. They are float64 or float32, all alike, of short enough
// lines. There is a kernel for the plan's integers with records or without, its code there has clusters, and the device holds one
// of such lines. None counts rounded entries.
bool can_scale_and_encode(const EncodePlan& plan, const DeviceOperand& one, bool has_records = false);
bool can_scale_and_encode(const EncodePlan& plan, const DeviceOperand& a, const DeviceOperand& b, bool has_records = false);

// Leaves what launch_scale and launch_encode of all lines of the operands leave, and the planes beyond the prefix as well. With
// clear_counters the launch may also start while the stream's latest work ends (programmatic dependent launch). Neither
// synchronises nor allocates; may be captured. Throws LaunchError. Precondition: what find_scale_error, find_encode_error and
// can_scale_and_encode have nothing against.
void launch_scale_encode(const EncodePlan& plan, const Operands<EncodeJob>& jobs, const CapacityRule& capacity,
                         const PrefixChoice& choice, void* scratch, cudaStream_t stream, void* clear_counters = nullptr);

}  // namespace ozfp4::cuda
