// Block scales of E2M1 codes for the tcgen05 kernels: one tile of constants, loaded for every block of K.
#pragma once

#include <cstdint>

namespace ozfp4::cuda::tcgen05 {

// ue8m0. Both scales of a product are 2, so that an accumulator counts limb products: a code is half its limb.
template <int kBytes>
struct alignas(128) ScaleTile {
  std::uint32_t word[kBytes / 4];
  constexpr ScaleTile() : word() {
    for (std::uint32_t& w : word) w = 0x80808080u;
  }
};

// Fills in the scales of a main loop's arguments: `device_tile` fits tiles of kEdge x kEdge entries, kEntries along K.
template <class Collective, int kEdge, int kEntries, class Arguments>
void set_scales(Arguments& mainloop, const void* device_tile) {
  using Scales = typename Collective::Sm1xxBlkScaledConfig;
  const auto one_tile = cute::make_shape(kEdge, kEdge, kEntries, 1);
  mainloop.ptr_SFA = mainloop.ptr_SFB = static_cast<const cutlass::float_ue8m0_t*>(device_tile);
  mainloop.layout_SFA = Scales::tile_atom_to_shape_SFA(one_tile);
  mainloop.layout_SFB = Scales::tile_atom_to_shape_SFB(one_tile);
}

}  // namespace ozfp4::cuda::tcgen05
