#include <algorithm>
#include <stdexcept>
#include <string>

#include "arith/limbs/e2m1.hpp"
#include "cuda/encode/cut.cuh"
#include "cuda/encode/encode.hpp"
#include "cuda/encode/kernel.cuh"
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

// Words of the integers: as few as hold them, among those that there are kernels for. The digits of 53 bits alone are cut from
// two, limbs of pairs have two at least, and three hold what is brought there by multiplication (scaled_wide_by_multiplication).
// Four hold the long lines of "correct", whose kernels alone there are.
int words_of(const Plan& plan, EncodeKind kind, bool counts) {
  const bool has_digits = plan.scheme == Scheme::one;
  if (!has_digits && !is_of_pair_limbs(kind) && plan.bits <= byte_bits(1)) return 1;
  if (plan.bits <= (has_digits ? 53 : byte_bits(2))) return 2;
  if (plan.bits <= kMultipliedBits) return 3;
  if (counts && kind == EncodeKind::residues && plan.bits <= byte_bits(4)) return 4;
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

EncodePlan make_encode_plan(const Plan& plan, bool as_codes, bool counts) {
  EncodePlan out;
  out.kind = kind_of(plan, as_codes);
  out.planes = plan.planes_a;
  out.words = words_of(plan, out.kind, counts);
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
template <class T>
EncodeOperand cut(const EncodeJob& job, EncodeKind kind, int log_steps) {
  const bool has_columns = !runs_along_k(job.operand.view);
  const int most = 7 + (log_steps == 0 ? 0 : !has_columns && has_aligned_lines(job.operand.view, sizeof(T)) ? 2 : 1);
  int log_tile_k = least_log_tile_k(kind);
  while (log_tile_k < most && (1 << log_tile_k) < job.operand.view.inner) ++log_tile_k;
  // A thread for each line: at most 256.
  EncodeOperand out =
      cut_tiles<T>(job, kind, {log_tile_k, std::min(log_steps, log_tile_k + 8 - static_cast<int>(kLog<kStepEntries<T>>))});
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
  return entry_count(a) + entry_count(b) >= kLargeProblem ? kMaxLogSteps : 0;
}

std::int64_t tile_count(const EncodeJob& job, EncodeKind kind, int log_steps) {
  if (job.lines == 0) return 0;
  // Types of one size are cut alike.
  switch (entry_bytes(job.operand.view.type)) {
    case 8: return tile_count(cut<double>(job, kind, log_steps));
    case 4: return tile_count(cut<float>(job, kind, log_steps));
    default: return tile_count(cut<std::int8_t>(job, kind, log_steps));
  }
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

// Of 64 bits; null for entries of other types.
const char* find_integer_error(const EncodeJob& job, const EncodePlan& plan) {
  const ElementType type = job.operand.view.type;
  if (job.lines == 0 || is_float(type) || type == ElementType::int8) return nullptr;
  if (type != ElementType::int64 && type != ElementType::uint64) return "integers must be int64 or uint64";
  if (plan.kind == EncodeKind::digits13 || plan.kind == EncodeKind::digit13_codes || plan.kind == EncodeKind::digits256) {
    return "integers are not cut into digits";
  }
  if (job.counts) return "no entry of integers is rounded";
  if (plan.words > 3 || (plan.words < 3 && type == ElementType::uint64)) return "integers of 64 bits have three words at most";
  return nullptr;
}

// What a launch needs besides the operands.
struct EncodeLaunch {
  const int* units_used;
  cudaStream_t stream;
  bool after_scale;
};

template <class T, EncodeKind Kind, int Words, bool Counts>
void launch_kind(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b, const EncodeLaunch& how) {
  EncodeParameters<Kind, Words> parameters{};
  EncodeArguments& arguments = parameters;
  const int log_steps = log_steps_of(plan, a, b);
  if (a.lines != 0) add_operand<T>(arguments, 0, cut<T>(a, Kind, log_steps));
  if (b.lines != 0) add_operand<T>(arguments, 1, cut<T>(b, Kind, log_steps));
  if (arguments.tiles == 0) return;
  set_plan(parameters, plan);
  arguments.units_used = plan.units > 0 && Kind != EncodeKind::int8_limbs ? how.units_used : nullptr;
  // Code that cannot wait is not launched before scale has ended.
  arguments.reads_early = how.after_scale;

  const auto kernel = encode_kernel<T, Kind, Words, Counts>;
  LaunchConfig config;
  config.stage = Stage::encode;
  config.block = dim3(kEncodeThreads);
  config.shared_bytes = encode_shared_bytes<Kind, Words>(arguments);
  config.overlap_previous = how.after_scale;
  config.stream = how.stream;
  const LaunchDevice device = current_device(Stage::encode);
  arguments.has_fast_fp64 = device.has_fast_fp64;
  const int processors = device.multiprocessors;
  const auto resident = static_cast<unsigned>(blocks_per_multiprocessor(kernel, config) * processors);
  config.grid = dim3(std::min(resident, arguments.tiles));
  launch(kernel, config, parameters, table_of<Kind>(plan));
}

template <class T>
void launch_type(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b, const EncodeLaunch& how) {
  if constexpr (sizeof(T) == 1) {
    launch_kind<T, EncodeKind::int8_limbs, 1, false>(plan, a, b, how);
  } else if constexpr (std::is_integral_v<T>) {
    with_residues(plan.kind, [&](auto kind) {
      if (plan.words == 3) return launch_kind<T, kind.value, 3, false>(plan, a, b, how);
      if constexpr (std::is_signed_v<T>) {
        if (plan.words == 2) return launch_kind<T, kind.value, 2, false>(plan, a, b, how);
        if (plan.words == 1) return launch_kind<T, kind.value, 1, false>(plan, a, b, how);
      }
      throw std::logic_error("no kernel encodes integers of so many words");
    });
  } else {
    // Of those of at most two words, the accuracies have records of FP32 entries at 47 bits alone; integers of more than two
    // words are encoded by one kernel for both, and so are FP32 entries whose pairs have limbs.
    const bool counts = plan.words > 2 || a.counts || b.counts;
    with_kind<1, 2, 3, 4, kMaxByteWords>(plan, [&](auto kind, auto words) {
      constexpr EncodeKind k = kind.value;
      constexpr int w = words.value;
      if constexpr (w == 4 && (k != EncodeKind::residues || sizeof(T) != 8)) throw std::logic_error("no kernel has four words");
      if constexpr (w <= 2 && !(sizeof(T) == 4 && is_of_pair_limbs(k))) {
        if (!counts) return launch_kind<T, k, w, false>(plan, a, b, how);
      }
      if constexpr ((w > 2 && (w != 4 || (k == EncodeKind::residues && sizeof(T) == 8))) || (w == 2 && sizeof(T) == 4)) {
        return launch_kind<T, k, w, true>(plan, a, b, how);
      }
      throw std::logic_error("no accuracy has records of integers of so few bits");
    });
  }
}

// Range: operands of one type.
void launch_jobs(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b, const EncodeLaunch& how) {
  switch ((a.lines != 0 ? a : b).operand.view.type) {
    case ElementType::float64: return launch_type<double>(plan, a, b, how);
    case ElementType::float32: return launch_type<float>(plan, a, b, how);
    case ElementType::int64: return launch_type<std::int64_t>(plan, a, b, how);
    case ElementType::uint64: return launch_type<std::uint64_t>(plan, a, b, how);
    default: return launch_type<std::int8_t>(plan, a, b, how);
  }
}

}  // namespace

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
  const int log_steps = log_steps_of(plan, a, b);
  const bool fits = tile_count(a, plan.kind, log_steps) + tile_count(b, plan.kind, log_steps) < (std::int64_t(1) << 31);
  return fits ? nullptr : "the operands have 2^31 tiles or more";
}

void launch_encode(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b, const int* units_used, cudaStream_t stream,
                   bool after_scale) {
  if (a.lines != 0 && b.lines != 0 && a.operand.view.type != b.operand.view.type) {
    launch_encode(plan, a, EncodeJob(), units_used, stream, after_scale);
    launch_encode(plan, b, EncodeJob(), units_used, stream);
    return;
  }
  launch_jobs(plan, a, b, {units_used, stream, after_scale});
}

}  // namespace ozfp4::cuda
