#include "cpu/multiply/multiply.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>

#include "arith/fold.hpp"
#include "arith/limits.hpp"
#include "arith/multiples.hpp"
#include "cpu/bytes/fold_lines.hpp"
#include "cpu/bytes/packed.hpp"
#include "cpu/encode/encode.hpp"
#include "cpu/encode/residue.hpp"
#include "cpu/gemm/gemm.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// The arguments of cpu_multiply.
struct Work {
  const Plan& plan;
  const ByteKernel* kernel;
  const MultiplyShape& shape;
  const char *planes_a, *planes_b;
};

struct Tile {
  std::int64_t row, rows, column, columns;
};

// ---- The walk over the terms of one group, once for every unit: when sums are folded or flushed so that they stay exact -------

// K in the fewest pieces of at most `longest` entries, all of about the same length.
std::int64_t even_piece(std::int64_t k, std::int64_t longest) { return ceil_div(k, ceil_div(k, longest)); }

// One modulus: Horner's rule over the chain. Sums stay within `limit` in magnitude, and are below `folded` times the multiplier
// after a fold. Sums: add(a_plane, b_plane, k0, k) adds products over [k0, k0 + k), the first time to nothing;
// fold(multiplier) makes them their residues times it, store(multiplier) puts those of its product out.
template <class Sums>
void walk_chain(const Group& group, std::int64_t inners, std::int64_t limit, std::int64_t folded, Sums& sums) {
  const std::int64_t piece = even_piece(inners, accumulator_k_max(group.max_product, limit, folded));
  std::int64_t held = 0;  // bound of the sums
  const auto fold = [&](std::int64_t multiplier) {
    sums.fold(multiplier);
    held = folded * multiplier;
  };
  for (const Step& step : group.chain) {
    for (std::int64_t k0 = 0; k0 < inners; k0 += piece) {
      const std::int64_t k = std::min(piece, inners - k0);
      if (held + k * group.max_product > limit) fold(1);
      sums.add(step.a_plane, step.b_plane, k0, k);
      held += k * group.max_product;
    }
    if (step.multiplier != 0 && &step != &group.chain.back()) fold(step.multiplier);
  }
  sums.store(group.chain.back().multiplier);
}

// One group of plain integer terms. Sums: add as above; flush(weight) adds weight times the sums to the output, and begins anew.
template <class Sums>
void walk_terms(const Plan& plan, const Group& group, std::int64_t inners, std::int64_t limit, Sums& sums) {
  const std::int64_t piece = even_piece(inners, accumulator_k_max(group.max_product, limit));
  std::int64_t held = 0, weight = 0;
  const auto flush = [&] {
    sums.flush(weight);
    held = 0;
  };
  for (int t = group.first_term; t < group.first_term + group.terms; ++t) {
    const Term& term = plan.terms[static_cast<std::size_t>(t)];
    if (held > 0 && term.weight != weight) flush();
    weight = term.weight;
    for (std::int64_t k0 = 0; k0 < inners; k0 += piece) {
      const std::int64_t k = std::min(piece, inners - k0);
      if (held + k * group.max_product > limit) flush();
      sums.add(term.a_plane, term.b_plane, k0, k);
      held += k * group.max_product;
    }
  }
  flush();
}

// ---- Sums in floating point ------------------------------------------------------------------------------------------

// acc = (acc mod m) * multiplier. Precondition: as reduce(); the product is a start value of at most (m/2 + 2) m.
OZFP4_VECTORISED void fold_entries(float* acc, std::int64_t n, float modulus, float inverse, float multiplier) {
  for (std::int64_t i = 0; i < n; ++i) acc[i] = reduce(acc[i], modulus, inverse) * multiplier;
}
OZFP4_VECTORISED void fold_entries(double* acc, std::int64_t n, double modulus, double inverse, double multiplier) {
  for (std::int64_t i = 0; i < n; ++i) acc[i] = reduce(acc[i], modulus, inverse) * multiplier;
}

// The residue in [0, m) of acc * multiplier + earlier. After the first fold everything is so small, at most (m/2 + 2) m + m,
// that the second one is canonical.
template <class Real, class Stored>
inline void finish_impl(const Real* acc, std::int64_t n, Real modulus, Real inverse, Real multiplier, bool accumulate,
                        Stored* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Real earlier = accumulate ? static_cast<Real>(out[i]) : Real(0);
    const Real small = reduce(acc[i], modulus, inverse);
    const Real r = reduce(small * multiplier + earlier, modulus, inverse);
    out[i] = static_cast<Stored>(static_cast<std::int32_t>(r < 0 ? r + modulus : r));
  }
}
OZFP4_VECTORISED void finish_entries(const float* acc, std::int64_t n, float modulus, float inverse, float multiplier,
                                     bool accumulate, std::uint8_t* out) {
  finish_impl(acc, n, modulus, inverse, multiplier, accumulate, out);
}
OZFP4_VECTORISED void finish_entries(const double* acc, std::int64_t n, double modulus, double inverse, double multiplier,
                                     bool accumulate, std::int32_t* out) {
  finish_impl(acc, n, modulus, inverse, multiplier, accumulate, out);
}

template <class Real>
inline void flush_impl(const Real* acc, std::int64_t n, std::int64_t weight, bool accumulate, std::int64_t* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = (accumulate ? out[i] : 0) + static_cast<std::int64_t>(acc[i]) * weight;
}
OZFP4_VECTORISED void flush_entries(const float* acc, std::int64_t n, std::int64_t weight, bool accumulate, std::int64_t* out) {
  flush_impl(acc, n, weight, accumulate, out);
}
OZFP4_VECTORISED void flush_entries(const double* acc, std::int64_t n, std::int64_t weight, bool accumulate, std::int64_t* out) {
  flush_impl(acc, n, weight, accumulate, out);
}

// One tile of the output of one group, on what a thread has of the scratch, as the walks ask for. FP32 sums of bytes are exact up
// to 2^24, FP64 ones up to 2^53.
template <class Real>
class FloatSums {
 public:
  // A tile's limits: entries for nearly the rate of a large product by one thread; sides below which operands are read too often;
  // extents of the register tile.
  static constexpr std::int64_t kMostEntries = 1 << 18, kMostRows = 1024, kMostColumns = kMostEntries, kLeastSide = 128;
  static constexpr std::int64_t kRows = kGemmRows, kColumns = kGemmColumns<Real>;
  // Sums of all threads: small enough for the last-level cache, where the fold finds them after the product.
  static constexpr std::int64_t kMostBytes = 16 << 20;
  static constexpr std::int64_t kTaskWork = 1 << 20;  // products that a thread takes at least

  static std::int64_t sum_bytes(std::int64_t rows, std::int64_t columns) { return round_up(rows * columns * kBytes, 64); }
  static std::int64_t panel_bytes(std::int64_t columns, std::int64_t inners) { return gemm_bytes<Real>(columns, inners); }

  FloatSums(const Work& work, char* memory) : work_(work), sums_(reinterpret_cast<Real*>(memory)) {}

  void place(const Tile& tile, const Group& group, bool accumulate, void* output) {
    tile_ = tile;
    modulus_ = static_cast<Real>(group.modulus);
    accumulate_ = accumulate;
    is_started_ = false;
    output_ = output;
  }

  // The largest sums that reduce() takes and leaves; where nothing is folded, the largest exact ones.
  static std::int64_t limit(std::int64_t modulus) { return (sizeof(Real) == 4 ? kFp32Exact : kFp64Exact) - modulus; }
  static std::int64_t folded(std::int64_t modulus) { return modulus / 2 + 2; }

  // Sums += A_plane[rows of the tile] B_plane[its columns]^T over [k0, k0 + k).
  void add(int a_plane, int b_plane, std::int64_t k0, std::int64_t k) {
    const std::int64_t ld = work_.shape.inners;
    const auto* a = reinterpret_cast<const Entry*>(work_.planes_a) + (a_plane * work_.shape.rows + tile_.row) * ld + k0;
    const auto* b = reinterpret_cast<const Entry*>(work_.planes_b) + (b_plane * work_.shape.columns + tile_.column) * ld + k0;
    char* panels = reinterpret_cast<char*>(sums_) + sum_bytes(tile_.rows, tile_.columns);
    gemm_nt(gemm_tile<Real>(), tile_.rows, tile_.columns, k, a, ld, b, ld, is_started_, sums_, tile_.columns, panels);
    is_started_ = true;
  }

  void fold(std::int64_t multiplier) {
    fold_entries(sums_, tile_.rows * tile_.columns, modulus_, Real(1) / modulus_, static_cast<Real>(multiplier));
  }

  void store(std::int64_t multiplier) {
    for_rows(static_cast<Residue*>(output_), [&](const Real* from, Residue* out) {
      finish_entries(from, tile_.columns, modulus_, Real(1) / modulus_, static_cast<Real>(multiplier), accumulate_, out);
    });
  }

  void flush(std::int64_t weight) {
    for_rows(static_cast<std::int64_t*>(output_),
             [&](const Real* from, std::int64_t* out) { flush_entries(from, tile_.columns, weight, accumulate_, out); });
    accumulate_ = true;
    is_started_ = false;
  }

 private:
  using Entry = std::conditional_t<sizeof(Real) == 4, std::int8_t, double>;
  using Residue = std::conditional_t<sizeof(Real) == 4, std::uint8_t, std::int32_t>;
  static constexpr std::int64_t kBytes = sizeof(Real);

  template <class Stored, class Body>
  void for_rows(Stored* out, const Body& body) {
    out += tile_.row * work_.shape.columns + tile_.column;
    for (std::int64_t row = 0; row < tile_.rows; ++row) body(sums_ + row * tile_.columns, out + row * work_.shape.columns);
  }

  const Work& work_;
  Real* sums_;
  Tile tile_{};
  Real modulus_ = 0;
  bool accumulate_ = false, is_started_ = false;
  void* output_ = nullptr;
};

// ---- Sums of bytes ---------------------------------------------------------------------------------------------------

// The same of packed planes by a kernel for bytes, in INT32.
class ByteSums {
 public:
  // 272 KiB of sums, in the second-level cache with what they take of A and B, 256 KiB each for 16 tiles of K.
  static constexpr std::int64_t kMostEntries = 1 << 16, kMostRows = 256, kMostColumns = 256, kLeastSide = 32;
  static constexpr std::int64_t kRows = kPanelLines, kColumns = kPanelLines;
  static constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kTaskWork = 1 << 22;

  static std::int64_t sum_bytes(std::int64_t rows, std::int64_t columns) {
    return panels_of(rows) * kPanelLines * sums_pitch(columns) * static_cast<std::int64_t>(sizeof(std::int32_t));
  }
  static std::int64_t panel_bytes(std::int64_t, std::int64_t) { return 0; }

  ByteSums(const Work& work, char* memory)
      : work_(work),
        packed_a_{Side::left, work.shape.rows, work.shape.inners},
        packed_b_{Side::right, work.shape.columns, work.shape.inners},
        sums_(reinterpret_cast<std::int32_t*>(memory)) {
    work_.kernel->begin();
  }
  ~ByteSums() { work_.kernel->end(); }
  ByteSums(const ByteSums&) = delete;
  ByteSums& operator=(const ByteSums&) = delete;

  void place(const Tile& tile, const Group& group, bool accumulate, void* output) {
    tile_ = tile;
    pitch_ = sums_pitch(tile.columns);
    is_started_ = false;
    if (group.modulus != 0) modulus_ = make_fold(static_cast<std::uint32_t>(group.modulus), kSignedFoldExact);
    accumulate_ = accumulate;
    output_ = output;
  }

  static std::int64_t limit(std::int64_t modulus) { return modulus != 0 ? kSignedFoldExact : kInt32Exact; }
  static std::int64_t folded(std::int64_t modulus) { return modulus; }

  // Precondition: all of K at once.
  void add(int a_plane, int b_plane, std::int64_t, std::int64_t) {
    const char* plane_a = work_.planes_a + a_plane * packed_a_.plane_bytes();
    const char* plane_b = work_.planes_b + b_plane * packed_b_.plane_bytes();
    const std::int32_t* starts = packed_b_.starts(plane_b) + tile_.column;
    const std::int64_t rows = panels_of(tile_.rows), columns = panels_of(tile_.columns);
    for (std::int64_t i = 0; i < rows * kPanelLines; ++i) {
      is_started_ ? add_starts(line(i), starts, columns * kPanelLines)
                  : static_cast<void>(std::copy_n(starts, columns * kPanelLines, line(i)));
    }
    is_started_ = true;
    const std::int64_t panel_bytes = packed_a_.panel_bytes();
    run_in_chunks(*work_.kernel, {reinterpret_cast<const std::uint8_t*>(plane_a) + tile_.row / kPanelLines * panel_bytes,
                                  reinterpret_cast<const std::int8_t*>(plane_b) + tile_.column / kPanelLines * panel_bytes, sums_,
                                  panel_bytes, panel_bytes, pitch_, rows, columns, tiles_of(work_.shape.inners)});
  }

  void fold(std::int64_t multiplier) {
    for (std::int64_t i = 0; i < tile_.rows; ++i) {
      fold_sums(line(i), tile_.columns, modulus_, static_cast<std::int32_t>(multiplier));
    }
  }

  void store(std::int64_t multiplier) {
    for (std::int64_t i = 0; i < tile_.rows; ++i) {
      store_residues(line(i), tile_.columns, modulus_, static_cast<std::uint32_t>(multiplier), accumulate_,
                     static_cast<std::uint8_t*>(output_) + first_of(i));
    }
  }

  void flush(std::int64_t weight) {
    for (std::int64_t i = 0; i < tile_.rows; ++i) {
      flush_sums(line(i), tile_.columns, weight, accumulate_, static_cast<std::int64_t*>(output_) + first_of(i));
    }
    accumulate_ = true;
    is_started_ = false;
  }

 private:
  std::int32_t* line(std::int64_t i) { return sums_ + i * pitch_; }
  std::int64_t first_of(std::int64_t i) const { return (tile_.row + i) * work_.shape.columns + tile_.column; }

  const Work& work_;
  const PackedShape packed_a_, packed_b_;
  std::int32_t* sums_;
  Tile tile_{};
  std::int64_t pitch_ = 0;
  fold_constants modulus_{};
  bool accumulate_ = false, is_started_ = false;
  void* output_ = nullptr;
};

// ---- Tiles of the output, which threads multiply one at a time ---------------------------------------------------------

constexpr std::int64_t kTasksPerThread = 4;        // so that threads end together
constexpr std::int64_t kTasksBetweenReports = 16;  // of each thread: of few, the last ones leave the others idle

template <class Sums>
class Tiling {
 public:
  // For as many threads as there are now, in so many bytes. Precondition: extents >= 1, room for a tile of the least extents.
  Tiling(const Plan& plan, const MultiplyShape& shape, std::int64_t room)
      : shape_(shape),
        rows_(std::min(Sums::kMostRows, round_up(shape.rows, Sums::kRows))),
        columns_(std::min({Sums::kMostColumns, Sums::kMostEntries / rows_ / Sums::kColumns * Sums::kColumns,
                           round_up(shape.columns, Sums::kColumns)})) {
    const double work = static_cast<double>(shape.rows) * static_cast<double>(shape.columns) * static_cast<double>(shape.inners) *
                        plan.products() / Sums::kTaskWork;
    const std::int64_t least = Sums::sum_bytes(std::min(Sums::kRows, shape.rows), std::min(Sums::kColumns, shape.columns));
    const std::int64_t threads = std::min<std::int64_t>(thread_count(), Sums::kMostBytes / least);
    slots_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(work, 1e6)), 1, std::max<std::int64_t>(threads, 1));
    const auto groups = static_cast<std::int64_t>(plan.groups.size());
    const auto is_too_large = [&] {
      return slots_ > 1 && count() * groups < kTasksPerThread * slots_ && std::max(rows_, columns_) > Sums::kLeastSide;
    };
    while (slots_ * sum_bytes() > Sums::kMostBytes || is_too_large()) halve();
    even_out();
    slots_ = std::min(slots_, count() * groups);
    // By the bytes of multiply_scratch all of this stays: a limit on the workspace leaves less, or another shape has more.
    if (slots_ * slot_bytes() <= room) return;
    slots_ = std::clamp<std::int64_t>(room / (least + Sums::panel_bytes(1, shape.inners)), 1, slots_);
    while (slots_ * slot_bytes() > room) halve();
    even_out();
  }

  std::int64_t slots() const { return slots_; }  // threads that have a tile each at one time
  std::int64_t slot_bytes() const { return sum_bytes() + Sums::panel_bytes(columns_, shape_.inners); }

  // Tiles of a group, along the rows of tiles.
  std::int64_t count() const { return down() * across(); }
  Tile operator[](std::int64_t index) const {
    const std::int64_t row = index / across() * rows_, column = index % across() * columns_;
    return {row, std::min(rows_, shape_.rows - row), column, std::min(columns_, shape_.columns - column)};
  }

 private:
  static std::int64_t half(std::int64_t extent, std::int64_t multiple) { return round_up(ceil_div(extent, 2), multiple); }
  void halve() {
    const bool is_high = columns_ == Sums::kColumns || (rows_ > columns_ && rows_ > Sums::kRows);
    is_high ? rows_ = half(rows_, Sums::kRows) : columns_ = half(columns_, Sums::kColumns);
  }
  // To about equal extents of all tiles.
  void even_out() {
    rows_ = round_up(ceil_div(shape_.rows, down()), Sums::kRows);
    columns_ = round_up(ceil_div(shape_.columns, across()), Sums::kColumns);
  }
  std::int64_t sum_bytes() const { return Sums::sum_bytes(std::min(rows_, shape_.rows), std::min(columns_, shape_.columns)); }
  std::int64_t down() const { return ceil_div(shape_.rows, rows_); }
  std::int64_t across() const { return ceil_div(shape_.columns, columns_); }

  const MultiplyShape& shape_;
  std::int64_t rows_, columns_, slots_;
};

template <class Sums>
void multiply_tiles(const Work& work, int count, bool accumulate, void* output, const MultiplyScratch& scratch,
                    const std::function<void(double)>& progress) {
  const Plan& plan = work.plan;
  const Tiling<Sums> tiling(plan, work.shape, scratch.bytes);
  const std::int64_t tiles = tiling.count(), groups = plan.groups_of(count), tasks = groups * tiles;
  const std::int64_t group_bytes = work.shape.rows * work.shape.columns * plan.output_bytes();
  const auto multiply_one = [&](Sums& sums, std::int64_t task) {
    const Group& group = plan.groups[static_cast<std::size_t>(task / tiles)];
    sums.place(tiling[task % tiles], group, accumulate, static_cast<char*>(output) + task / tiles * group_bytes);
    const std::int64_t limit = Sums::limit(group.modulus);
    if (plan.has_moduli()) {
      walk_chain(group, work.shape.inners, limit, Sums::folded(group.modulus), sums);
    } else {
      walk_terms(plan, group, work.shape.inners, limit, sums);
    }
  };
  // All threads work on one group at a time, with planes that stay in the last-level cache: tasks in order, group by group.
  const auto multiply_tasks = [&](std::int64_t first, std::int64_t end) {
    std::atomic<std::int64_t> next{first};
    parallel_for(tiling.slots(), 1, [&](std::int64_t slot, std::int64_t slots_end) {
      for (; slot < slots_end && next < end; ++slot) {
        Sums sums(work, static_cast<char*>(scratch.memory) + slot * tiling.slot_bytes());
        for (std::int64_t task = next++; task < end; task = next++) multiply_one(sums, task);
      }
    });
  };
  if (!progress) return multiply_tasks(0, tasks);
  const std::int64_t step = tiling.slots() == 1 ? 1 : kTasksBetweenReports * tiling.slots();
  std::int64_t terms_done = 0;  // by all tiles of a group each
  for (std::int64_t task = 0; task < tasks; task += step) {
    const std::int64_t end = std::min(task + step, tasks);
    multiply_tasks(task, end);
    for (std::int64_t t = task; t < end; ++t) terms_done += plan.groups[static_cast<std::size_t>(t / tiles)].terms;
    progress(static_cast<double>(terms_done) / static_cast<double>(tiles * plan.products_of(count)));
  }
}

// use(Sums*) of those for planes of the kernel's form.
template <class Use>
auto with_sums(const Plan& plan, const ByteKernel* kernel, const Use& use) {
  if (kernel != nullptr) return use(static_cast<ByteSums*>(nullptr));
  return plan.alphabet.entry == PlaneEntry::fp64 ? use(static_cast<FloatSums<double>*>(nullptr))
                                                 : use(static_cast<FloatSums<float>*>(nullptr));
}

}  // namespace

const ByteKernel* byte_kernel_of(const Plan& plan) {
  return plan.alphabet.entry == PlaneEntry::int8 ? serving_byte_kernel() : nullptr;
}

std::int64_t multiply_scratch(const Plan& plan, const ByteKernel* kernel, const MultiplyShape& shape) {
  return with_sums(plan, kernel, [&](auto* sums) {
    const Tiling<std::remove_pointer_t<decltype(sums)>> tiling(plan, shape, std::numeric_limits<std::int64_t>::max());
    return tiling.slots() * tiling.slot_bytes();
  });
}

void cpu_multiply(const Plan& plan, const ByteKernel* kernel, int count, const MultiplyShape& shape, const void* planes_a,
                  const void* planes_b, bool accumulate, void* output, const MultiplyScratch& scratch,
                  const std::function<void(double)>& progress) {
  const Work work{plan, kernel, shape, static_cast<const char*>(planes_a), static_cast<const char*>(planes_b)};
  with_sums(plan, kernel, [&](auto* sums) {
    multiply_tiles<std::remove_pointer_t<decltype(sums)>>(work, count, accumulate, output, scratch, progress);
  });
}

void multiply_planes(const Plan& plan, int count, const MultiplyShape& shape, const void* a, const void* b, void* output) {
  const ByteKernel* kernel = byte_kernel_of(plan);
  const std::int64_t longest = kernel != nullptr ? std::min(shape.inners, kMostByteInner) : shape.inners;
  const std::int64_t bytes = multiply_scratch(plan, kernel, {shape.rows, shape.columns, longest});
  const Buffer memory = allocate_buffer(bytes);
  const MultiplyScratch scratch{memory.get(), bytes};
  if (kernel == nullptr) return cpu_multiply(plan, kernel, count, shape, a, b, false, output, scratch);
  for (std::int64_t k = 0; k < shape.inners; k += longest) {
    const std::int64_t inners = std::min(longest, shape.inners - k), planes = planes_used(plan, count);
    const auto packed = [&](Side side, std::int64_t outers, const void* entries) {
      const PackedShape own{side, outers, inners};
      Buffer made = allocate_buffer(planes * own.plane_bytes());
      pack_planes(own, planes, static_cast<const std::int8_t*>(entries) + k, shape.inners, made.get());
      return made;
    };
    const Buffer packed_a = packed(Side::left, shape.rows, a), packed_b = packed(Side::right, shape.columns, b);
    cpu_multiply(plan, kernel, count, {shape.rows, shape.columns, inners}, packed_a.get(), packed_b.get(), k > 0, output,
                 scratch);
  }
}

}  // namespace ozfp4
