#include "cuda/launch.hpp"
#include "cuda/scale/norms.cuh"

namespace ozfp4::cuda {
namespace {

struct ChooseArguments {
  PrefixRule rule;
  const double* norm[2];
  const LineExtremes* extremes[2];
  Verdict* verdict;
  CapacityRule capacity;
  std::int32_t inner;
};

// One warp.
__global__ void __launch_bounds__(32) choose_kernel(const __grid_constant__ ChooseArguments p) {
  const int count = choose_prefix(p.rule, __dmul_ru(__ldcg(p.norm[0]), __ldcg(p.norm[1])));
  if (threadIdx.x != 0) return;
  const LineExtremes a = load_extremes(*p.extremes[0]), b = load_extremes(*p.extremes[1]);
  const CapacityRule& how = p.capacity;
  *p.verdict = {count, is_certain(a, b, how.accuracy, p.inner) ? 1 : 0};
}

}  // namespace

void launch_choose(const ScaledOperand& a, const ScaledOperand& b, const CapacityRule& capacity, const PrefixChoice& choice,
                   cudaStream_t stream) {
  const ChooseArguments arguments{choice.rule,    {a.norm, b.norm}, {a.extremes, b.extremes},
                                  choice.verdict, capacity,         a.view.inner};
  LaunchConfig config;
  config.stage = Stage::scale;
  config.grid = dim3(1);
  config.block = dim3(32);
  config.stream = stream;
  launch(choose_kernel, config, arguments);
}

}  // namespace ozfp4::cuda
