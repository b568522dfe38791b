#include "cuda/encode/encode.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "arith/limbs/e2m1.hpp"
#include "arith/scale_entry.hpp"
#include "cuda/encode/launch.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {

// ---- The plan -------------------------------------------------------------------------------------------------------------

namespace {

EncodeKind byte_kind_of(const Plan& plan) {
  if (plan.alphabet.entry != PlaneEntry::int8) {
    throw std::invalid_argument(std::string("alphabet: ") + plan.alphabet.name + " planes exist on the CPU only");
  }
  switch (plan.scheme) {
    case Scheme::integer: return EncodeKind::int8_limbs;
    case Scheme::one:
      if (plan.base == 13) return EncodeKind::digits13;
      if (plan.base == 256) return EncodeKind::digits256;
      throw std::invalid_argument("base: digits of base " + std::to_string(plan.base) +
                                  " are not cut on a GPU, those of 13 and 256 are");
    case Scheme::two:
      if (plan.is_complex) return plan.alphabet.residue_is_limb() ? EncodeKind::pairs : EncodeKind::pair_tables;
      return plan.alphabet.residue_is_limb() ? EncodeKind::residues : EncodeKind::limb_tables;
  }
  throw std::logic_error("unknown scheme");
}

EncodeKind kind_of(const Plan& plan, bool as_codes) {
  const EncodeKind kind = byte_kind_of(plan);
  if (!as_codes) return kind;
  if (plan.alphabet.has_e2m1_codes && kind == EncodeKind::limb_tables) return EncodeKind::limb_codes;
  if (plan.alphabet.has_e2m1_codes && kind == EncodeKind::digits13) return EncodeKind::digit13_codes;
  if (plan.alphabet.has_e2m1_codes && kind == EncodeKind::pair_tables) return EncodeKind::pair_codes;
  throw std::invalid_argument("plan: its limbs are not written as E2M1 codes");
}

// Words of the integers: as few as hold them, among those that there are kernels for. Digits are cut from three words at least,
// limbs of pairs from two, and three hold what is brought there by multiplication (scaled_wide_by_multiplication). Four hold the
// long lines of "correct", for which alone there are kernels. Integers that are given have one word or three.
int words_of(const Plan& plan, EncodeKind kind, EncodedEntries entries) {
  const bool has_digits = plan.scheme == Scheme::one;
  if (!has_digits && !is_of_pair_limbs(kind) && plan.bits <= byte_bits(1)) return 1;
  if (!has_digits && entries != EncodedEntries::integers && plan.bits <= byte_bits(2)) return 2;
  if (plan.bits <= kMultipliedBits) return 3;
  const bool has_long_lines = entries == EncodedEntries::long_lines;
  if (has_long_lines && kind == EncodeKind::residues && plan.bits <= byte_bits(4)) return 4;
  if (!plan.is_complex && plan.bits <= byte_bits(kMaxByteWords)) return kMaxByteWords;
  throw std::length_error("bits: " + std::to_string(plan.bits) + " exceeds the " +
                          std::to_string(plan.is_complex ? kMultipliedBits : byte_bits(kMaxByteWords)) +
                          " of the integers that encode cuts on a GPU");
}

bool is_power_of_two(std::int64_t m) { return (m & (m - 1)) == 0; }

// Appends the table of planes [first, first + planes) of a group: `entries` entries, entry x for residue x mod values.
void append_table(EncodePlan& out, EncodeUnit& unit, const Group& group, int first, int entries, int values) {
  if (out.table_entries + entries > kMaxTableEntries) throw std::length_error("the limb tables exceed the parameters of encode");
  unit.table = static_cast<std::uint16_t>(out.table_entries);
  for (int x = 0; x < entries; ++x) {
    unsigned codes = 0;
    for (int p = 0; p < unit.planes; ++p) {
      const std::int8_t limb = group.limb_table[static_cast<std::size_t>(first + p) * values + x % values];
      codes |= e2m1_encode(limb) << (4 * p);
    }
    out.table[out.table_entries++] = static_cast<std::uint16_t>(codes);
  }
}

void append_int8_units(EncodePlan& out, const Group& group) {
  for (int first = 0; first < group.planes; first += 3) {
    EncodeUnit& unit = out.unit[out.units++];
    unit.planes = static_cast<std::uint16_t>(std::min(3, group.planes - first));
    append_table(out, unit, group, first, 256, 256);
  }
}

void append_modulus(EncodePlan& out, const Group& group) {
  EncodeUnit& unit = out.unit[out.units++];
  const auto m = static_cast<int>(group.modulus);
  const bool has_table = !group.limb_table.empty(), is_pair = is_of_pairs(out.kind);
  unit.planes = static_cast<std::uint16_t>(group.planes);
  // With a table, residues modulo a power of two are those of the byte, and the table is long enough to say so.
  const int entries = has_table && is_power_of_two(m) ? 256 : m;
  unit.modulus = is_pair ? make_pair_modulus<kMaxByteWords>(entries, out.words, group.encoded.re, group.encoded.im)
                         : make_byte_modulus<kMaxByteWords>(entries, out.words);
  if (!has_table) return;
  if (is_pair && out.units % kPair == 0) {
    unit.table = out.unit[out.units - 2].table;  // that of the residue before, of the same modulus
    return;
  }
  append_table(out, unit, group, 0, entries, m);
}

}  // namespace

EncodePlan make_encode_plan(const Plan& plan, bool as_codes, EncodedEntries entries) {
  EncodePlan out;
  out.kind = kind_of(plan, as_codes);
  out.planes = plan.planes_a;
  out.bits = plan.bits;
  out.words = words_of(plan, out.kind, entries);
  if (plan.scheme == Scheme::one) return out;
  if (out.kind == EncodeKind::int8_limbs) {
    append_int8_units(out, plan.groups[0]);
    return out;
  }
  const int most = kMaxModuli / plan.width();
  if (plan.count() > most) {
    throw std::length_error("encode on a GPU takes at most " + std::to_string(most) + " moduli; the plan has " +
                            std::to_string(plan.count()));
  }
  for (const Group& group : plan.groups) append_modulus(out, group);
  return out;
}

// ---- The launch -----------------------------------------------------------------------------------------------------------

namespace {

// Tiles read and write runs of 128 bytes at least, those of two steps 256 (512 where K is contiguous). Short lines make
// short tiles.
EncodeOperand cut(const EncodeJob& job, EncodeKind kind, int log_steps) {
  const DeviceOperand& view = job.operand.view;
  const bool has_columns = !runs_along_k(view);
  const int bytes = entry_bytes(view.type);
  const int most = 7 + (log_steps == 0 ? 0 : !has_columns && has_aligned_lines(view, bytes) ? 2 : 1);
  int log_tile_k = least_log_tile_k(kind);
  while (log_tile_k < most && (1 << log_tile_k) < view.inner) ++log_tile_k;
  // A thread for each line: at most 256.
  EncodeOperand out = cut_tiles(job, kind, {log_tile_k, std::min(log_steps, log_tile_k + 8 - log_step_entries(bytes))});
  out.band = has_columns ? 8 : 1;
  return out;
}

// Problems from this many entries on have tiles of two steps: a dozen for each block of a GPU of today.
constexpr std::int64_t kLargeProblem = std::int64_t(1) << 24;

// 256 lines of 16 entries and more limbs than those of 53 bits would be more than the 99 KiB of a consumer card.
constexpr int kShortTableEntries = 2560;

int log_steps_of(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b) {
  const int inner = (a.lines != 0 ? a : b).operand.view.inner;
  if (plan.table_entries > kShortTableEntries && inner <= 1 << kMinLogTileK) return 0;
  const auto entries = [](const EncodeJob& job) { return line_count(job) * job.operand.view.inner; };
  return entries(a) + entries(b) >= kLargeProblem ? kMaxLogSteps : 0;
}

const char* find_job_error(const EncodeJob& job, EncodeKind kind) {
  const Planes& planes = job.planes;
  const auto low = static_cast<std::uint64_t>(planes.pitch | planes.matrix_stride | planes.plane_stride) |
                   reinterpret_cast<std::uintptr_t>(planes.data);
  if ((job.operand.view.type == ElementType::int8) != (kind == EncodeKind::int8_limbs)) {
    return "the plan is not for entries of this type";
  }
  if (job.operand.view.inner < 1) return "K must be at least 1";
  if (low % 16 != 0) return "planes, their pitch and their strides must be multiples of 16 bytes";
  if (planes.pitch < ceil_div(job.operand.view.inner, 1 << log_entries_per_byte(kind))) return "the pitch of a plane is below K";
  if (job.first_line < 0 || job.first_line + std::int64_t(job.lines) > job.operand.view.outer) {
    return "the operand does not have these lines";
  }
  if (line_count(job) >= (std::int64_t(1) << 31)) return "the lines of all matrices of an operand must be fewer than 2^31";
  if (kind != EncodeKind::int8_limbs && job.operand.shift == nullptr) return "the shifts of an operand's lines are missing";
  if (job.counts && job.operand.record == nullptr) return "the records of an operand's lines are missing";
  return nullptr;
}

// The error of integers of 64 bits; null for entries of other types.
const char* find_integer_error(const EncodeJob& job, const EncodePlan& plan) {
  const ElementType type = job.operand.view.type;
  if (job.lines == 0 || is_float(type) || type == ElementType::int8) return nullptr;
  if (type != ElementType::int64 && type != ElementType::uint64) return "integers must be int64 or uint64";
  if (plan.kind == EncodeKind::digits13 || plan.kind == EncodeKind::digit13_codes || plan.kind == EncodeKind::digits256) {
    return "integers are not cut into digits";
  }
  if (job.counts) return "no entry of integers is rounded";
  if (plan.words == 2) return "the plan is not for entries of this type";
  if (plan.words > 3 || (plan.bits <= byte_bits(2) && type == ElementType::uint64)) {
    return "integers of 64 bits have three words at most";
  }
  return nullptr;
}

}  // namespace

void cut_operands(const EncodeLaunch& how, EncodeArguments& arguments) {
  const int log_steps = log_steps_of(how.plan, how.a, how.b);
  if (how.a.lines != 0) add_operand(arguments, 0, cut(how.a, how.plan.kind, log_steps));
  if (how.b.lines != 0) add_operand(arguments, 1, cut(how.b, how.plan.kind, log_steps));
}

const char* find_encode_error(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b) {
  for (const EncodeJob* job : {&a, &b}) {
    if (job->lines == 0) continue;
    if (const char* error = find_job_error(*job, plan.kind)) return error;
  }
  for (const EncodeJob* job : {&a, &b}) {
    const bool is_double = job->operand.view.type == ElementType::float64;
    if (const char* error = find_integer_error(*job, plan)) return error;
    if (job->counts && plan.words < (is_double ? 3 : 2)) return "no accuracy counts the rounded entries of so few bits";
  }
  std::int64_t tiles = 0;
  for (const EncodeJob* job : {&a, &b}) {
    if (job->lines != 0) tiles += tile_count(cut(*job, plan.kind, log_steps_of(plan, a, b)));
  }
  return tiles < std::int64_t(1) << 31 ? nullptr : "the operands have 2^31 tiles or more";
}

void launch_encode(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b, const int* moduli_used, cudaStream_t stream,
                   bool after_scale) {
  if (a.lines != 0 && b.lines != 0 && a.operand.view.type != b.operand.view.type) {
    launch_encode(plan, a, EncodeJob(), moduli_used, stream, after_scale);
    launch_encode(plan, b, EncodeJob(), moduli_used, stream);
    return;
  }
  const EncodeLaunch how{plan, a, b, moduli_used, stream, after_scale};
  switch (plan.kind) {
    case EncodeKind::residues:
    case EncodeKind::pairs: return launch_residues(how);
    case EncodeKind::limb_codes:
    case EncodeKind::digit13_codes:
    case EncodeKind::pair_codes: return launch_codes(how);
    default: return launch_limbs(how);
  }
}

#if !OZFP4_WRITES_CODES
void launch_codes(const EncodeLaunch&) { throw LaunchError(Stage::encode, cudaErrorNoKernelImageForDevice, "E2M1 codes"); }
bool scale_and_encode_codes(const ScaleEncodeLaunch&) { return false; }
#endif

}  // namespace ozfp4::cuda
