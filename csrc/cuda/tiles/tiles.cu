#include <algorithm>
#include <cmath>
#include <cstdint>

#include "arith/multiples.hpp"
#include "cuda/launch.hpp"
#include "cuda/line_order.hpp"
#include "cuda/tiles/kernel.cuh"
#include "cuda/tiles/tiles.hpp"

namespace ozfp4::cuda {
namespace {

using namespace tiles;

// For many tiles; and for so few that more and smaller ones fill the device.
using Square64 = Shape<64, 64, 64, 256>;
using Square128 = Shape<64, 64, 128, 256>;
using Wide64 = Shape<128, 128, 64, 256>;
using Wide128 = Shape<128, 128, 128, 512>;
using Tall128 = Shape<128, 64, 128, 512>;
using Small128 = Shape<16, 32, 128, 128>;
using Small256 = Shape<16, 32, 256, 256>;
static_assert(Small256::Inner == kMostTileInner && sizeof(TileShared<Kind<true, Small256>>) <= 99 * 1024,
              "a shape for the longest K that every device has room for");

// A line's limbs are used for 128 others where a tile is that wide; there is room for seven of them, without certificates. Tall
// tiles are for certificates alone.
template <class S>
constexpr bool kIsWide = S::Columns > 64;
template <class S>
constexpr bool kIsTall = S::Rows > 64 && !kIsWide<S>;
template <class S>
using MostKind = Kind<!kIsWide<S>, S>;

constexpr int kSharedOfH200 = 228 * 1024;
static_assert(2 * (sizeof(TileShared<Kind<false, Square128>>) + 1024) <= kSharedOfH200 &&
                  2 * (sizeof(TileShared<MostKind<Wide64>>) + 1024) <= kSharedOfH200,
              "two blocks share a multiprocessor of an H200");
static_assert(sizeof(TileShared<MostKind<Wide128>>) + 1024 <= kSharedOfH200 &&
                  sizeof(TileShared<MostKind<Tall128>>) + 1024 <= kSharedOfH200,
              "there is room for one");

// |x| 2^(8 lead) <= 2^(2 bits + log2 K + 8 lead) < 2^127.
template <int Limbs>
constexpr int most_bits() {
  return std::min(kByteLimbBits<Limbs>, (126 - 8 - 8 * kLead<Limbs>) / 2);
}
static_assert(kMostTileInner == 256 && kMostTileInner <= kLimbedProducts<4>, "log2 K is 8 at most");

// Whether entries that are neighbours by `inner` are pairs in 16 bytes that start at a multiple of them, in all lines of a stack.
bool has_pairs(const char* data, std::int64_t inner, std::int64_t lines, std::int64_t outer, const Stack& stack) {
  return inner == sizeof(double) && are_aligned(data, lines, outer, stack, 2 * sizeof(double));
}
bool has_pairs(const DeviceOperand& x) { return has_pairs(x.data, x.inner_stride, x.outer, x.outer_stride, x.stack); }

template <class S>
std::int64_t tiles_of(const DeviceResult& result) {
  return ceil_div(result.rows, S::Rows) * ceil_div(result.columns, S::Columns);
}

template <class K>
void launch_kind(LaunchConfig& config, TileParameters& p) {
  p.tiles_x = static_cast<std::int32_t>(ceil_div(p.job.result.columns, K::Columns));
  config.grid = dim3(static_cast<unsigned>(tiles_of<K>(p.job.result)), static_cast<unsigned>(p.job.result.stack.count()));
  config.block = dim3(K::Threads);
  config.shared_bytes = sizeof(TileShared<K>);
  launch(tile_kernel<K>, config, p);
}

template <class S>
void launch_shape(bool certifies, LaunchConfig& config, TileParameters& p) {
  if constexpr (kIsWide<S> || kIsTall<S>) {
    launch_kind<MostKind<S>>(config, p);
  } else {
    certifies ? launch_kind<Kind<true, S>>(config, p) : launch_kind<Kind<false, S>>(config, p);
  }
}

// Bytes for which a block of the code that runs has kernels, whatever the device has.
std::size_t room_of_code() {
  const CodeVersion code = code_version(tile_kernel<Kind<false, Square64>>);
  return code.ptx < 90 ? kRoomOfSm80Code : SIZE_MAX;
}

// The time that kernels of a shape take on an H200, in microseconds, with 7 limbs and certificates. It is that of one tile a
// multiprocessor at most, of as many as are there at a time, and of each further round of them.
struct Times {
  double one, full, round;
  int at_a_time;  // tiles a multiprocessor
};

struct Choice {
  void (*launch)(bool, LaunchConfig&, TileParameters&) = nullptr;
  double microseconds = INFINITY;
};

template <class S>
void consider(Choice& best, const Times& times, const DeviceResult& result, std::int32_t inner, const TileDevice& device,
              std::size_t room) {
  if (inner > S::Inner || sizeof(TileShared<MostKind<S>>) > room) return;
  const std::int64_t tiles = tiles_of<S>(result) * result.stack.count();
  const auto rounds = static_cast<double>(ceil_div(tiles, static_cast<std::int64_t>(times.at_a_time) * device.multiprocessors));
  const double microseconds = tiles <= device.multiprocessors ? times.one : times.full + times.round * (rounds - 1);
  if (best.launch == nullptr || microseconds < best.microseconds) best = {launch_shape<S>, microseconds};
}

// The shape that is expected to be fastest.
Choice choose_shape(int limbs, const DeviceResult& result, std::int32_t inner, bool certifies, const TileDevice& device) {
  Choice best;
  const std::size_t room = std::min(static_cast<std::size_t>(device.shared_bytes), room_of_code());
  // Eight limbs have the kernels that certify alone.
  const auto with = [&](const Times& plain, const Times& certified) { return certifies || limbs == 8 ? certified : plain; };
  consider<Square64>(best, with({8.5, 13.7, 12.9, 2}, {18, 23.6, 18.2, 2}), result, inner, device, room);
  consider<Square128>(best, with({14, 24.6, 22.4, 2}, {23.5, 23.5, 20.7, 1}), result, inner, device, room);
  consider<Small128>(best, with({4.7, 6, 6, 3}, {13.5, 16, 8.5, 2}), result, inner, device, room);
  consider<Small256>(best, with({6.4, 6.4, 5.6, 1}, {15, 15, 9, 1}), result, inner, device, room);
  if (certifies) {
    // 100000 x 128 x 1: most of a tile's columns are not there, so neither are their certificates.
    const double share = result.columns <= 8 ? 0.55 : 1;
    consider<Tall128>(best, {share * 35, share * 35, share * 30.5, 1}, result, inner, device, room);
  } else if (limbs == 7) {
    consider<Wide64>(best, {31, 45, 38.5, 2}, result, inner, device, room);
    consider<Wide128>(best, {36, 40, 36.8, 1}, result, inner, device, room);
  }
  return best;
}

}  // namespace

int tile_limbs(const Plan& plan, int k, int bits) {
  const bool is_int8 = plan.has_moduli() && plan.alphabet.residue_is_limb() && plan.alphabet.residue_bytes == 1;
  if (!is_int8 || plan.is_complex || k > kMostTileInner) return 0;
  return bits <= most_bits<7>() ? 7 : bits <= most_bits<8>() ? 8 : 0;
}

bool can_multiply_tiles(int limbs, const ReconstructJob& job, const CapacityRule& capacity) {
  constexpr ElementType type = ElementType::float64;
  return limbs != 0 && job.result.type == type && job.a.view.type == type && job.b.view.type == type &&
         capacity.accuracy != Accuracy::correct && job.a.view.inner <= kMostTileInner &&
         job.result.stack.count() <= kMostGridExtent && tiles_of<Small128>(job.result) <= INT32_MAX;
}

double microseconds_of_tiles(int limbs, const DeviceResult& result, std::int32_t inner, bool certifies,
                             const TileDevice& device) {
  return choose_shape(limbs, result, inner, certifies, device).microseconds;
}

void launch_tiles(int limbs, const ReconstructJob& job, const CapacityRule& capacity, cudaStream_t stream,
                  const Certification* certification) {
  TileParameters p{};
  p.job = job;
  p.capacity = capacity;
  if (certification != nullptr) p.certification = *certification;
  p.runs_along_k[0] = runs_along_k(job.a.view);
  p.runs_along_k[1] = runs_along_k(job.b.view);
  p.has_pairs[0] = has_pairs(job.a.view);
  p.has_pairs[1] = has_pairs(job.b.view);
  const DeviceResult& result = job.result;
  p.stores_pairs = has_pairs(result.data, result.column_stride, result.rows, result.row_stride, result.stack);
  LaunchConfig config(Stage::direct, "tiles", 0, stream, job.overlap_previous);
  const bool certifies = certification != nullptr;
  const LaunchDevice device = current_device(Stage::direct);
  const Choice choice = choose_shape(limbs, result, job.a.view.inner, certifies, {device.multiprocessors, device.shared_bytes});
  if (choice.launch == nullptr) throw LaunchError(config.stage, cudaErrorNotSupported, config.detail);
  choice.launch(certifies || limbs == 8, config, p);
}

}  // namespace ozfp4::cuda
