// CPU multiply: planes in floating point, by register tiles. FP32 accumulators are exact up to 2^24, FP64 ones up to 2^53; K is
// cut where a plan's products would exceed that, and the accumulator is folded between the pieces.
#include "cpu/stages/multiply.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "arith/limits.hpp"
#include "arith/multiples.hpp"
#include "cpu/encode/residue.hpp"
#include "cpu/gemm/gemm.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "cpu/stages/walk.hpp"

namespace ozfp4 {
namespace {

// Accumulators of all threads: small enough for the last-level cache, where the fold finds them after the product, and so many
// that packing the operands is little of it.
constexpr std::int64_t kAccumulatorBytes = 16 << 20;
constexpr std::int64_t kLeastPanelRows = 64;
constexpr std::int64_t kElementGrain = 50000;      // entries that are worth a thread
constexpr std::int64_t kProductGrain = 1 << 20;    // products of entries that a thread takes at least
constexpr std::int64_t kTasksBetweenReports = 16;  // of each thread: of few, the last ones leave the others idle

template <class Real>
constexpr std::int64_t exact_limit() {
  return sizeof(Real) == 4 ? kFp32Exact : kFp64Exact;
}

// Entries of the accumulators. They grow with each extent, so that what is left at the end of blocks finds room where blocks do.
std::int64_t accumulator_entries(const MultiplyShape& shape, std::int64_t real_bytes) {
  return std::min(shape.rows * shape.columns, std::max(kAccumulatorBytes / real_bytes, kLeastPanelRows * shape.columns));
}

// Planes of one operand that the terms of a group take: they lie side by side.
struct PlaneRange {
  int first, count;
};
PlaneRange planes_of(const Plan& plan, const Group& group, int Term::* plane) {
  int first = plan.planes_a, end = 0;
  for (int t = group.first_term; t < group.first_term + group.terms; ++t) {
    const int own = plan.terms[static_cast<std::size_t>(t)].*plane;
    first = std::min(first, own);
    end = std::max(end, own + 1);
  }
  return {first, end - first};
}

int most_planes(const Plan& plan) {
  if (plan.scheme == Scheme::one) return plan.planes_a;
  int planes = 0;
  for (const Group& group : plan.groups) {
    planes = std::max({planes, planes_of(plan, group, &Term::a_plane).count, planes_of(plan, group, &Term::b_plane).count});
  }
  return planes;
}

// ---- Tiles of the output -------------------------------------------------------------------------------------------

// Extents of a tile whose product by one thread has nearly the rate of a large one.
constexpr std::int64_t kMostRows = 1024, kMostColumns = 256;
constexpr std::int64_t kLeastSide = 128;
constexpr std::int64_t kTasksPerThread = 4;

struct Tile {
  std::int64_t row, rows, column, columns;
  std::int64_t entries() const { return rows * columns; }
};

// Rows and columns in ranges of about equal lengths; tiles are numbered along the rows of tiles.
class Tiling {
 public:
  // Tiles of at most so many rows and columns. Precondition: all >= 1.
  Tiling(std::int64_t rows, std::int64_t columns, std::int64_t most_rows, std::int64_t most_columns);

  // Tiles for threads that multiply one each at a time: so large that a product's packing is little of it, at most `room`
  // entries, and where that leaves them large enough so many that `groups` times their number keeps all threads busy to the end.
  // Precondition: all >= 1.
  static Tiling for_threads(std::int64_t rows, std::int64_t columns, std::int64_t room, int threads, int groups);

  std::int64_t count() const { return down_ * across_; }
  Tile operator[](std::int64_t index) const;
  // The largest of all: its entries.
  std::int64_t most_entries() const;

 private:
  std::int64_t rows_, columns_, down_, across_;
};

Tiling::Tiling(std::int64_t rows, std::int64_t columns, std::int64_t most_rows, std::int64_t most_columns)
    : rows_(rows), columns_(columns), down_(ceil_div(rows, most_rows)), across_(ceil_div(columns, most_columns)) {}

Tiling Tiling::for_threads(std::int64_t rows, std::int64_t columns, std::int64_t room, int threads, int groups) {
  // A result that is narrower or shorter than a tile has longer or wider ones.
  constexpr std::int64_t entries = kMostRows * kMostColumns;
  std::int64_t width = std::min(columns, kMostColumns), height = std::min(rows, entries / width);
  width = std::min(columns, std::max(width, entries / height));
  const std::int64_t wanted = threads > 1 ? kTasksPerThread * threads : 1;
  const auto tasks = [&] { return ceil_div(rows, height) * ceil_div(columns, width) * groups; };
  while (height * width > room || (tasks() < wanted && std::max(height, width) > kLeastSide)) {
    std::int64_t& longer = height >= width ? height : width;
    longer = ceil_div(longer, std::int64_t(2));
  }
  return {rows, columns, height, width};
}

Tile Tiling::operator[](std::int64_t index) const {
  const std::int64_t i = index / across_, j = index % across_;
  const std::int64_t row = rows_ * i / down_, column = columns_ * j / across_;
  return {row, rows_ * (i + 1) / down_ - row, column, columns_ * (j + 1) / across_ - column};
}

std::int64_t Tiling::most_entries() const { return ceil_div(rows_, down_) * ceil_div(columns_, across_); }

// Calls body(task, slot) for the tasks [first, end): at one time at most one for each slot in [0, slots), by as many threads.
void take_in_turn(std::int64_t first, std::int64_t end, int slots, const std::function<void(std::int64_t, int)>& body) {
  std::atomic<std::int64_t> next{first};
  parallel_for(slots, 1, [&](std::int64_t begin, std::int64_t stop) {
    for (std::int64_t slot = begin; slot < stop; ++slot) {
      for (std::int64_t task = next++; task < end; task = next++) body(task, static_cast<int>(slot));
    }
  });
}

// ---- Loops over contiguous entries ---------------------------------------------------------------------------------

OZFP4_VECTORISED void decode_entries(const std::int8_t* limbs, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(limbs[i]);
}

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

// ---- Planes --------------------------------------------------------------------------------------------------------

// Planes as the product reads them: FP64 planes as they are, int8 planes decoded to FP32, a group at a time.
template <class Real>
class Planes {
 public:
  Planes(const void* planes, std::int64_t outers, std::int64_t inners, Real* decoded)
      : planes_(planes), size_(outers * inners), decoded_(decoded) {}

  void decode(const PlaneRange& range) {
    if constexpr (sizeof(Real) == 4) {
      first_ = range.first;
      const auto* limbs = static_cast<const std::int8_t*>(planes_) + first_ * size_;
      parallel_for(range.count * size_, kElementGrain,
                   [&](std::int64_t begin, std::int64_t end) { decode_entries(limbs + begin, end - begin, decoded_ + begin); });
    } else {
      (void)range;
    }
  }

  const Real* plane(int p) const {
    if constexpr (sizeof(Real) == 4) return decoded_ + (p - first_) * size_;
    return static_cast<const Real*>(planes_) + p * size_;
  }

 private:
  const void* planes_;
  std::int64_t size_;
  Real* decoded_;
  int first_ = 0;
};

template <class Real>
struct Operands {
  const MultiplyShape& shape;
  Planes<Real> a, b;
};

template <class Real>
using Residue = std::conditional_t<sizeof(Real) == 4, std::uint8_t, std::int32_t>;

// One tile of the output of one group, on what a thread has of the scratch, as walk.hpp asks for.
template <class Real>
struct TileSums {
  const Operands<Real>& operands;
  const Tile tile;
  Real modulus;
  bool accumulate;
  void* output;  // of all of the group
  Real* sums;
  void* panels;
  bool is_started = false;

  // Sums += A_plane[rows of the tile] B_plane[its columns]^T over [k0, k0 + k).
  void add(int a_plane, int b_plane, std::int64_t k0, std::int64_t k) {
    const std::int64_t ld = operands.shape.inners;
    gemm_nt(gemm_tile<Real>(), tile.rows, tile.columns, k, operands.a.plane(a_plane) + tile.row * ld + k0, ld,
            operands.b.plane(b_plane) + tile.column * ld + k0, ld, is_started, sums, tile.columns, panels);
    is_started = true;
  }

  void fold(std::int64_t multiplier) {
    fold_entries(sums, tile.entries(), modulus, Real(1) / modulus, static_cast<Real>(multiplier));
  }

  void store(std::int64_t multiplier) {
    for_rows(static_cast<Residue<Real>*>(output), [&](const Real* from, Residue<Real>* out) {
      finish_entries(from, tile.columns, modulus, Real(1) / modulus, static_cast<Real>(multiplier), accumulate, out);
    });
  }

  void flush(std::int64_t weight) {
    for_rows(static_cast<std::int64_t*>(output),
             [&](const Real* from, std::int64_t* out) { flush_entries(from, tile.columns, weight, accumulate, out); });
    accumulate = true;
    is_started = false;
  }

 private:
  template <class Stored, class Body>
  void for_rows(Stored* out, const Body& body) {
    out += tile.row * operands.shape.columns + tile.column;
    for (std::int64_t row = 0; row < tile.rows; ++row) body(sums + row * tile.columns, out + row * operands.shape.columns);
  }
};

// Tiles that are worked on at one time: each thread multiplies and folds one of its own.
int slots_for(const MultiplyShape& shape, int terms) {
  const double sums = static_cast<double>(shape.rows) * static_cast<double>(shape.columns);
  const double most = std::min({sums * static_cast<double>(shape.inners) * terms / kProductGrain + 1, sums,
                                static_cast<double>(kAccumulatorBytes / 8), static_cast<double>(most_threads)});
  return std::min(thread_count(), static_cast<int>(most));
}

int terms_of(const Plan& plan, int groups) {
  int terms = 0;
  for (int g = 0; g < groups; ++g) terms += plan.groups[static_cast<std::size_t>(g)].terms;
  return terms;
}

// Of the decoded planes and the accumulators; behind them lie the panels of each slot.
template <class Real>
std::int64_t bytes_before_panels(const Plan& plan, const MultiplyShape& shape) {
  const std::int64_t decoded = sizeof(Real) == 4 ? most_planes(plan) * (shape.rows + shape.columns) * shape.inners : 0;
  const std::int64_t entries = decoded + accumulator_entries(shape, sizeof(Real));
  return round_up(entries * static_cast<std::int64_t>(sizeof(Real)), 64);
}

template <class Real>
void multiply_all(const Plan& plan, int count, const MultiplyShape& shape, const void* planes_a, const void* planes_b,
                  bool accumulate, void* output, const MultiplyScratch& scratch, const std::function<void(double)>& progress) {
  const bool is_decoded = sizeof(Real) == 4;
  const std::int64_t decoded = is_decoded ? most_planes(plan) * shape.inners : 0;
  auto* workspace = static_cast<Real*>(scratch.memory);
  Operands<Real> operands{shape,
                          {planes_a, shape.rows, shape.inners, workspace},
                          {planes_b, shape.columns, shape.inners, workspace + decoded * shape.rows}};
  Real* accumulators = workspace + decoded * (shape.rows + shape.columns);
  const int groups = plan.groups_of(count), terms = terms_of(plan, groups);
  // Groups between which no planes are decoded anew.
  const int together = is_decoded && plan.scheme != Scheme::one ? 1 : groups;
  const std::int64_t before_panels = bytes_before_panels<Real>(plan, shape);
  const std::int64_t panel_bytes = gemm_bytes<Real>(shape.columns, shape.inners);
  // The number of threads may have changed since the scratch was asked for.
  const std::int64_t room = (scratch.bytes - before_panels) / panel_bytes;
  const int slots = static_cast<int>(std::min<std::int64_t>(slots_for(shape, terms), room));
  const std::int64_t entries = accumulator_entries(shape, sizeof(Real)) / slots;
  const Tiling tiling = Tiling::for_threads(shape.rows, shape.columns, entries, slots, together);
  const std::int64_t tiles = tiling.count(), own_entries = tiling.most_entries();
  const std::int64_t entry_bytes = output_entry_bytes(plan);
  const auto multiply_tile = [&](std::int64_t task, int slot) {
    const Group& group = plan.groups[static_cast<std::size_t>(task / tiles)];
    TileSums<Real> sums{operands,
                        tiling[task % tiles],
                        static_cast<Real>(group.modulus),
                        accumulate,
                        static_cast<char*>(output) + task / tiles * shape.rows * shape.columns * entry_bytes,
                        accumulators + slot * own_entries,
                        static_cast<char*>(scratch.memory) + before_panels + slot * panel_bytes};
    if (plan.has_moduli()) {
      // reduce() takes sums up to that limit, and leaves up to m / 2 + 2.
      walk_chain(group, shape.inners, exact_limit<Real>() - group.modulus, group.modulus / 2 + 2, sums);
    } else {
      walk_terms(plan, group, shape.inners, exact_limit<Real>(), sums);
    }
  };
  const std::int64_t step = progress ? (slots == 1 ? 1 : kTasksBetweenReports * slots) : groups * tiles;
  double done = 0;
  for (int g = 0; g < groups; g += together) {
    const Group& group = plan.groups[static_cast<std::size_t>(g)];
    operands.a.decode(plan.scheme == Scheme::one ? PlaneRange{0, plan.planes_a} : planes_of(plan, group, &Term::a_plane));
    operands.b.decode(plan.scheme == Scheme::one ? PlaneRange{0, plan.planes_b} : planes_of(plan, group, &Term::b_plane));
    const std::int64_t end = (g + together) * tiles;
    for (std::int64_t task = g * tiles; task < end; task += step) {
      const std::int64_t next = std::min(task + step, end);
      take_in_turn(task, next, slots, multiply_tile);
      if (!progress) continue;
      for (std::int64_t t = task; t < next; ++t) {
        done += plan.groups[static_cast<std::size_t>(t / tiles)].terms * static_cast<double>(tiling[t % tiles].entries());
      }
      progress(next == groups * tiles ? 1.0
                                      : done / (terms * static_cast<double>(shape.rows) * static_cast<double>(shape.columns)));
    }
  }
}

}  // namespace

OutputType output_type(const Plan& plan) {
  if (!plan.has_moduli()) return OutputType::sum64;
  return plan.alphabet.residue_bytes == 1 ? OutputType::residue8 : OutputType::residue32;
}

std::int64_t output_entry_bytes(const Plan& plan) {
  switch (output_type(plan)) {
    case OutputType::residue8: return 1;
    case OutputType::residue32: return 4;
    case OutputType::sum64: return 8;
  }
  return 8;
}

std::int64_t cpu_multiply_scratch(const Plan& plan, const MultiplyShape& shape) {
  const bool is_decoded = plan.alphabet.entry == PlaneEntry::int8;
  const int terms = terms_of(plan, static_cast<int>(plan.groups.size()));
  if (is_decoded)
    return bytes_before_panels<float>(plan, shape) + slots_for(shape, terms) * gemm_bytes<float>(shape.columns, shape.inners);
  return bytes_before_panels<double>(plan, shape) + slots_for(shape, terms) * gemm_bytes<double>(shape.columns, shape.inners);
}

void cpu_multiply(const Plan& plan, int count, const MultiplyShape& shape, const void* planes_a, const void* planes_b,
                  bool accumulate, void* output, const MultiplyScratch& scratch, const std::function<void(double)>& progress) {
  const auto multiply = plan.alphabet.entry == PlaneEntry::fp64 ? multiply_all<double> : multiply_all<float>;
  multiply(plan, count, shape, planes_a, planes_b, accumulate, output, scratch, progress);
}

}  // namespace ozfp4
