// What a product takes by its four stages.
#pragma once

#include "cuda/layout/cuda_plan.hpp"
#include "cuda/layout/turns.hpp"

namespace ozfp4::cuda {

// Microseconds on an H200, of as many multiprocessors as `gpu` has; other devices are taken to differ from it as in the ways
// without planes. Of a complex plan the turn is of the real product, without parts. Range: as make_layout.
double microseconds_of_stages(const CudaPlan& plan, const Turn& turn, const Gpu& gpu);

// What of that, and of certified products tile by tile, is for entries without a certificate, normal(0, 1) operands: lines of
// fewer than some 32 entries have capacities of all lengths. cuda/direct holds the longest of their integers, and its time is the
// same.
double settling_microseconds(const Turn& turn, bool by_tiles);

}  // namespace ozfp4::cuda
