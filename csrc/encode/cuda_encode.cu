#include <algorithm>
#include <stdexcept>
#include <string>

#include "arith/e2m1.hpp"
#include "encode/cuda_encode.hpp"
#include "encode/encode_cut.cuh"
#include "encode/encode_kernel.cuh"

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
    case Scheme::two: return plan.alphabet.residue_is_limb() ? EncodeKind::residues : EncodeKind::limb_tables;
  }
  throw std::logic_error("unknown scheme");
}

EncodeKind kind_of(const Plan& plan, bool as_codes) {
  const EncodeKind kind = byte_kind_of(plan);
  if (!as_codes) return kind;
  if (plan.alphabet.has_e2m1_codes && kind == EncodeKind::limb_tables) return EncodeKind::limb_codes;
  if (plan.alphabet.has_e2m1_codes && kind == EncodeKind::digits13) return EncodeKind::digit13_codes;
  throw std::invalid_argument("plan: its limbs are not written as E2M1 codes");
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
  unit.planes = static_cast<std::uint16_t>(group.planes);
  if (out.kind == EncodeKind::residues) {
    unit.modulus = make_byte_modulus(m, out.words);
    return;
  }
  // Residues modulo a power of two are those of the byte, and the table is long enough to say so.
  const int entries = is_power_of_two(m) ? 256 : m;
  unit.modulus = make_byte_modulus(entries, out.words);
  append_table(out, unit, group, 0, entries, m);
}

}  // namespace

EncodePlan make_encode_plan(const Plan& plan, bool as_codes) {
  EncodePlan out;
  out.kind = kind_of(plan, as_codes);
  out.planes = plan.planes_a;
  out.words = plan.bits <= kOneWordBits ? 1 : 2;
  if (plan.scheme == Scheme::one) return out;
  if (out.kind == EncodeKind::int8_limbs) {
    append_int8_units(out, plan.groups[0]);
    return out;
  }
  if (plan.groups.size() > kMaxModuli) throw std::length_error("more moduli than encode takes");
  for (const Group& group : plan.groups) append_modulus(out, group);
  return out;
}

// ---- The launch -----------------------------------------------------------------------------------------------------------

namespace {

// Tiles read and write runs of 128 bytes at least, those of two steps 256 (512 where K is contiguous). Short lines make
// short tiles.
template <class T>
EncodeOperand cut(const EncodeJob& job, EncodeKind kind, int log_steps) {
  const bool has_columns = !runs_along_k(job.operand);
  const int most = 7 + (log_steps == 0 ? 0 : !has_columns && has_aligned_lines(job.operand, sizeof(T)) ? 2 : 1);
  int log_tile_k = kMinLogTileK;
  while (log_tile_k < most && (1 << log_tile_k) < job.operand.inner) ++log_tile_k;
  // A thread for each line: at most 256.
  EncodeOperand out =
      cut_tiles<T>(job, kind, {log_tile_k, std::min(log_steps, log_tile_k + 8 - static_cast<int>(kLog<kStepEntries<T>>))});
  out.band = has_columns ? 8 : 1;
  return out;
}

struct Device {
  int multiprocessors = 0;
  bool has_dependent_launch = false;
};

cudaError_t find_device(Device& out) {
  int device = 0, major = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&out.multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  out.has_dependent_launch = major >= 9;
  return error;
}

// Problems from this many entries on have tiles of two steps: a dozen for each block of a GPU of today.
constexpr std::int64_t kLargeProblem = std::int64_t(1) << 24;

// What a launch needs besides the operands.
struct Launch {
  const int* units_used;
  cudaStream_t stream;
  bool after_scale;
};

template <class T, EncodeKind Kind, int Words>
cudaError_t launch_kind(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b, const Launch& launch) {
  EncodeArguments arguments{};
  const int log_steps = entry_count(a) + entry_count(b) >= kLargeProblem ? kMaxLogSteps : 0;
  const EncodeJob* job[2] = {&a, &b};
  std::int64_t tiles[2] = {0, 0};
  for (int i = 0; i < 2; ++i) {
    if (job[i]->lines == 0) continue;
    const EncodeOperand& operand = arguments.operand[i] = cut<T>(*job[i], Kind, log_steps);
    tiles[i] = std::int64_t(operand.line_tiles) * operand.k_tiles;
    arguments.most_tile_lines = std::max(arguments.most_tile_lines, 1u << operand.log_tile_lines);
    arguments.most_tile_bytes =
        std::max(arguments.most_tile_bytes, static_cast<std::uint32_t>(operand.steps * kStepEntries<T> * sizeof(T)));
  }
  if (tiles[0] + tiles[1] >= (std::int64_t(1) << 31)) return cudaErrorInvalidValue;
  if (tiles[0] + tiles[1] == 0) return cudaSuccess;
  std::copy_n(plan.unit, plan.units, arguments.unit);
  arguments.units_used = plan.units > 0 && Kind != EncodeKind::int8_limbs ? launch.units_used : nullptr;
  arguments.tiles_a = static_cast<std::uint32_t>(tiles[0]);
  arguments.tiles = static_cast<std::uint32_t>(tiles[0] + tiles[1]);
  arguments.units = plan.units;
  arguments.planes = plan.planes;
  arguments.table_entries = plan.table_entries;
  TableOf<Kind> table;
  if constexpr (kHasLimbTable<Kind>) std::copy_n(plan.table, kMaxTableEntries, table.entry);

  Device device;
  cudaError_t error = find_device(device);
  if (error != cudaSuccess) return error;
  const bool early = launch.after_scale && device.has_dependent_launch;
  arguments.reads_early = early;

  const auto kernel = encode_kernel<T, Kind, Words>;
  const int shared_bytes = encode_shared_bytes<Kind>(arguments);
  int blocks = 0;  // that fit a multiprocessor
  error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  if (error != cudaSuccess) return error;
  error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kEncodeThreads, static_cast<std::size_t>(shared_bytes));
  if (error != cudaSuccess) return error;
  if (blocks == 0) return cudaErrorInvalidConfiguration;

  cudaLaunchConfig_t config{};
  config.gridDim = dim3(std::min(static_cast<unsigned>(blocks * device.multiprocessors), arguments.tiles));
  config.blockDim = dim3(kEncodeThreads);
  config.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes);
  config.stream = launch.stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = early ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments, table);
}

template <class T>
cudaError_t launch_type(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b, const Launch& launch) {
  if constexpr (sizeof(T) == 1) {
    return launch_kind<T, EncodeKind::int8_limbs, 1>(plan, a, b, launch);
  } else {
    return with_kind(plan, [&](auto kind, auto words) { return launch_kind<T, kind.value, words.value>(plan, a, b, launch); });
  }
}

}  // namespace

cudaError_t launch_encode(const EncodePlan& plan, const EncodeJob& a, const EncodeJob& b, const int* units_used,
                          cudaStream_t stream, bool after_scale) {
  for (const EncodeJob* job : {&a, &b}) {
    if (job->lines != 0 && !is_in_range(*job, plan.kind)) return cudaErrorInvalidValue;
  }
  if (a.lines != 0 && b.lines != 0 && a.operand.type != b.operand.type) {
    const cudaError_t error = launch_encode(plan, a, EncodeJob(), units_used, stream, after_scale);
    return error != cudaSuccess ? error : launch_encode(plan, b, EncodeJob(), units_used, stream);
  }
  const Launch launch{units_used, stream, after_scale};
  switch ((a.lines != 0 ? a : b).operand.type) {
    case ElementType::float64: return launch_type<double>(plan, a, b, launch);
    case ElementType::float32: return launch_type<float>(plan, a, b, launch);
    case ElementType::int8: return launch_type<std::int8_t>(plan, a, b, launch);
  }
  return cudaErrorInvalidValue;
}

}  // namespace ozfp4::cuda
