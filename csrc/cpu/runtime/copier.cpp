#include "cpu/runtime/copier.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <system_error>

#include "arith/multiples.hpp"
#include "cpu/threading/other_signals.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t part_bytes = std::int64_t(1) << 18;  // that a thread takes at a time

// One axis of what is copied: strides in bytes.
struct Axis {
  std::int64_t extent = 1, to = 0, from = 0;
};

// Fewest axes that walk the same entries, the innermost last.
std::array<Axis, 3> merged(const StridedEntries& to, const StridedEntries& from, const std::array<std::int64_t, 3>& extents) {
  std::array<Axis, 3> axes;
  int first = 3;
  for (int i = 2; i >= 0; --i) {
    if (extents[i] == 1) continue;
    const Axis axis{extents[i], to.strides[i], from.strides[i]};
    if (first < 3 && axis.to == axes[first].extent * axes[first].to && axis.from == axes[first].extent * axes[first].from) {
      axes[first].extent *= axis.extent;
    } else {
      axes[--first] = axis;
    }
  }
  return axes;
}

template <int item>
void copy_each(char* to, std::int64_t to_step, const char* from, std::int64_t from_step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, item);
}

void copy_line(char* to, std::int64_t to_step, const char* from, std::int64_t from_step, std::int64_t count, int item) {
  if (count == 1 || (to_step == item && from_step == item)) {
    std::memcpy(to, from, static_cast<std::size_t>(count * item));
    return;
  }
  switch (item) {
    case 1: return copy_each<1>(to, to_step, from, from_step, count);
    case 2: return copy_each<2>(to, to_step, from, from_step, count);
    case 4: return copy_each<4>(to, to_step, from, from_step, count);
    case 8: return copy_each<8>(to, to_step, from, from_step, count);
    default: return copy_each<16>(to, to_step, from, from_step, count);
  }
}

}  // namespace

// One copy in parts that threads take in turn.
class Copier::Job {
 public:
  Job(const StridedEntries& to, const StridedEntries& from, const std::array<std::int64_t, 3>& extents, int item)
      : to_(to.data), from_(from.data), axes_(merged(to, from, extents)), item_(item) {
    const std::int64_t most = std::max<std::int64_t>(1, part_bytes / item);
    length_ = std::min(most, axes_[2].extent);
    segments_ = ceil_div(axes_[2].extent, length_);
    lines_ = segments_ > 1 ? 1 : std::max<std::int64_t>(1, most / length_);
    parts_ = ceil_div(axes_[0].extent * axes_[1].extent, lines_) * segments_;
  }

  // Copies parts until none is left.
  void work() {
    std::int64_t mine = 0;
    for (std::int64_t part = next_++; part < parts_; part = next_++, ++mine) copy_part(part);
    if (mine == 0) return;
    const std::lock_guard<std::mutex> hold(lock_);
    done_ += mine;
    if (done_ == parts_) all_done_.notify_one();
  }

  bool is_taken() const { return next_ >= parts_; }

  void wait() {
    std::unique_lock<std::mutex> hold(lock_);
    all_done_.wait(hold, [this] { return done_ == parts_; });
  }

 private:
  void copy_part(std::int64_t part) const {
    const std::int64_t first = part / segments_ * lines_, begin = part % segments_ * length_;
    const std::int64_t last = std::min(first + lines_, axes_[0].extent * axes_[1].extent);
    const std::int64_t count = std::min(length_, axes_[2].extent - begin);
    for (std::int64_t line = first; line < last; ++line) {
      const std::int64_t i = line / axes_[1].extent, j = line % axes_[1].extent;
      copy_line(to_ + i * axes_[0].to + j * axes_[1].to + begin * axes_[2].to, axes_[2].to,
                from_ + i * axes_[0].from + j * axes_[1].from + begin * axes_[2].from, axes_[2].from, count, item_);
    }
  }

  char* const to_;
  const char* const from_;
  const std::array<Axis, 3> axes_;
  const int item_;
  std::int64_t length_, segments_, lines_, parts_;  // a part: `length_` entries of `lines_` lines
  std::atomic<std::int64_t> next_{0};
  std::mutex lock_;
  std::condition_variable all_done_;
  std::int64_t done_ = 0;
};

Copier::Copier(int threads) {
  const SignalsLeftToOthers meanwhile;
  for (int i = 0; i < threads; ++i) {
    try {
      threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      break;  // whoever is there does the work
    }
  }
}

Copier::~Copier() {
  {
    const std::lock_guard<std::mutex> hold(lock_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Copier::copy(const StridedEntries& destination, const StridedEntries& source, std::array<std::int64_t, 3> extents,
                  int item) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  const auto job = std::make_shared<Job>(destination, source, extents, item);
  {
    const std::lock_guard<std::mutex> hold(lock_);
    jobs_.push_back(job);
  }
  changed_.notify_all();
  job->work();
  job->wait();
  const std::lock_guard<std::mutex> hold(lock_);
  jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), job), jobs_.end());
}

// What a thread of the copier does.
void Copier::serve() {
  std::unique_lock<std::mutex> hold(lock_);
  while (true) {
    const auto left = std::find_if(jobs_.begin(), jobs_.end(), [](const auto& job) { return !job->is_taken(); });
    if (left == jobs_.end()) {
      if (ends_) return;
      changed_.wait(hold);
      continue;
    }
    const std::shared_ptr<Job> job = *left;
    hold.unlock();
    job->work();
    hold.lock();
  }
}

}  // namespace ozfp4
