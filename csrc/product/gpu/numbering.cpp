#include "product/gpu/numbering.hpp"

namespace ozfp4::product {

Numbering::Numbering(const std::vector<Axis>& axes, std::ptrdiff_t Axis::* own)
    : axes_(axes), step_(axes.size(), 0), longest_(axes.size()) {
  const auto is_distinct = [&](std::size_t i) { return axes[i].*own != 0 && axes[i].extent > 1; };
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (is_distinct(i) && (longest_ == axes.size() || axes[i].extent > axes[longest_].extent)) longest_ = i;
  }
  const auto add = [&](std::size_t i) {
    step_[i] = count_;
    count_ = cuda::size_of({count_, axes[i].extent});
  };
  if (longest_ < axes.size()) add(longest_);
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (is_distinct(i) && i != longest_) add(i);
  }
}

Axis Numbering::offset_of(std::int64_t first) const {
  Axis offset{1};
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (step_[i] == 0 || i == longest_) continue;
    const Axis& axis = axes_[i];
    const std::int64_t at = first / step_[i] % axis.extent;
    for (std::ptrdiff_t Axis::* own : kSteps) offset.*own += at * axis.*own;
  }
  return offset;
}

}  // namespace ozfp4::product
