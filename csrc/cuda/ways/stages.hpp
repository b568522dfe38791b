// What a product takes by its four stages.
#pragma once

#include "cuda/layout/cuda_plan.hpp"
#include "cuda/layout/turns.hpp"

namespace ozfp4::cuda {

// Microseconds on an H200, of as many multiprocessors as `gpu` has; other devices are taken to differ from it as in the ways
// without planes. Of a complex plan the turn is of the real product, without parts. Range: as make_layout.
double microseconds_of_stages(const CudaPlan& plan, const Turn& turn, const Gpu& gpu);

}  // namespace ozfp4::cuda
