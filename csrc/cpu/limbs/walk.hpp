// The sums of all diagonals of one panel of A by one of B over the eight tiles of AMX. They run on the hardware's tiles or on a
// model of them (tests/cpu/limbs).
//
// Products take their tiles 16 cycles apart, whichever sums they add to, and loads and stores of tiles run meanwhile. But stores
// in a row fill the write buffer: so sums are stored between the products of the next diagonals.
//
// Tiles 0 to 2 hold the sums of three diagonals d to d + 2. Tiles 3 to 5 hold the limbs j of B with j = tile modulo 3, tiles 6
// and 7 those of A alternately. A step multiplies the limb i of A by those of B that the three take, d - i to d - i + 2. The next
// step takes all of these but the largest. That one's product comes first, and the limb that the next step lacks is loaded into
// its tile at once. So a tile is loaded three products or more before it is read, and two tiles are enough for three products.
#pragma once

#include <algorithm>

#include "cpu/limbs/unit.hpp"

namespace ozfp4 {

// Tiles offers load<tile>(address, bytes between rows), store<tile>(address, bytes between rows), zero<tile>() and
// multiply_signed<sums, left, right>(). Diagonals from First to End - 1.
template <class Tiles, int Limbs, int First, int End>
class LimbWalk {
 public:
  explicit LimbWalk(const LimbTask& task) : task_(task) {}

  // Flat, as every address would be read from memory again otherwise: 8.3 ns a product instead of 7.4.
  __attribute__((flatten)) void run() {
    for (std::int64_t first = 0; first < task_.tiles; first += kTogether) {
      end_ = first + kTogether < task_.tiles ? first + kTogether : task_.tiles;
      from_ = first;
      each_diagonal<First>();
    }
  }

 private:
  // Tiles of K of which all limbs of both panels stay in a first-level cache of 48 KiB with the sums, up to eight limbs: 47 KiB.
  static constexpr std::int64_t kTogether = 2;
  static constexpr std::int64_t kRowBytes = kPanelLines * static_cast<std::int64_t>(sizeof(std::int32_t));

  static constexpr bool is_limb(int i) { return i >= 0 && i < Limbs; }
  // The first and the last limb of A in three diagonals, or those of them that there are.
  static constexpr int first_of(int d) { return d < Limbs ? 0 : d - Limbs + 1; }
  static constexpr int last_of(int d) { return std::min(std::min(d + 2, End - 1), Limbs - 1); }
  static constexpr int tile_of_b(int j) { return 3 + j % 3; }

  template <int I>
  void load_a(std::int64_t t) {
    if constexpr (is_limb(I)) Tiles::template load<6 + I % 2>(task_.a + (I * task_.tiles + t) * kTileBytes, kTileDepth);
  }
  // The limb of B that makes diagonal D with the limb I of A.
  template <int D, int I>
  void load_b(std::int64_t t) {
    constexpr int j = D - I;
    if constexpr (D < End && is_limb(j)) {
      Tiles::template load<tile_of_b(j)>(task_.b + (j * task_.tiles + t) * kTileBytes, kTileDepth);
    }
  }
  // The sums of the diagonal that had its tile are stored before the first product of the diagonal D + Sums. Where there is no
  // such diagonal any more, they are stored before the first product of D.
  template <int D, int Sums>
  void begin_sums() {
    if constexpr (D - 3 + Sums >= First) Tiles::template store<Sums>(task_.sums + (D - 3 + Sums) * kDiagonalSums, kRowBytes);
    if constexpr (D + Sums >= End) return;
    if (from_ == 0)
      Tiles::template zero<Sums>();
    else
      Tiles::template load<Sums>(task_.sums + (D + Sums) * kDiagonalSums, kRowBytes);
  }
  template <int D, int Sums>
  void end_sums() {
    if constexpr (D + Sums < End) Tiles::template store<Sums>(task_.sums + (D + Sums) * kDiagonalSums, kRowBytes);
  }

  // IsBegin: of the first tile of K, before which no sums are in the tiles.
  template <int D, int I, int Sums, bool IsBegin>
  void multiply() {
    constexpr int d = D + Sums, j = d - I;
    if constexpr (IsBegin && I == first_of(d < End ? d : D)) begin_sums<D, Sums>();
    if constexpr (d < End && is_limb(j)) Tiles::template multiply_signed<Sums, 6 + I % 2, tile_of_b(j)>();
  }

  template <int D, int I, bool IsBegin>
  void step(std::int64_t t) {
    if constexpr (I < last_of(D)) load_a<I + 1>(t);
    multiply<D, I, 2, IsBegin>();
    if constexpr (I < last_of(D)) load_b<D, I + 1>(t);
    multiply<D, I, 1, IsBegin>();
    multiply<D, I, 0, IsBegin>();
    if constexpr (I < last_of(D)) step<D, I + 1, IsBegin>(t);
  }

  template <int D, bool IsBegin>
  void each_step(std::int64_t t) {
    constexpr int first = first_of(D);
    load_a<first>(t);
    load_b<D + 2, first>(t);
    load_b<D + 1, first>(t);
    load_b<D, first>(t);
    step<D, first, IsBegin>(t);
  }

  template <int D>
  void each_diagonal() {
    each_step<D, true>(from_);
    for (std::int64_t t = from_ + 1; t < end_; ++t) each_step<D, false>(t);
    if constexpr (D + 3 < End) {
      each_diagonal<D + 3>();
    } else {
      end_sums<D, 0>();
      end_sums<D, 1>();
      end_sums<D, 2>();
    }
  }

  LimbTask task_;
  std::int64_t from_ = 0, end_ = 0;
};

template <class Tiles, int Limbs>
void limb_walk_of(const LimbTask& task) {
  constexpr int lower = lower_diagonals(Limbs), end = diagonals_of(Limbs);
  if constexpr (lower > 0) {
    if (task.diagonals == Diagonals::upper) return LimbWalk<Tiles, Limbs, lower, end>(task).run();
    if (task.diagonals == Diagonals::lower) return LimbWalk<Tiles, Limbs, 0, lower>(task).run();
  }
  LimbWalk<Tiles, Limbs, 0, end>(task).run();
}

// Precondition: as the task's; of limbs that have no lower diagonals these are not asked for.
template <class Tiles>
void limb_walk(const LimbTask& task) {
  switch (task.limbs) {
    case 4: return limb_walk_of<Tiles, 4>(task);
    case 7: return limb_walk_of<Tiles, 7>(task);
    case 8: return limb_walk_of<Tiles, 8>(task);
    default: return limb_walk_of<Tiles, 9>(task);
  }
}

}  // namespace ozfp4
