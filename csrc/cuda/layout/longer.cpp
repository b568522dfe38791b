#include "cuda/layout/longer.hpp"

namespace ozfp4::cuda {

bool wants_longer(const CudaPlan& plan, double work, const std::optional<bool>& forced) {
  // Plans with leading units let the data choose the number of moduli, where 0 says that there is nothing to do.
  const bool can = plan.promise.accuracy == Accuracy::standard && plan.promise.second == Second::none && plan.leading.has_value() &&
                   !plan.reconstruct.is_long();
  return can && forced.value_or(work >= kLeastLongerWork);
}

}  // namespace ozfp4::cuda
