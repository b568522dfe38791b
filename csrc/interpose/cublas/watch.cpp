#include "interpose/cublas/watch.hpp"

#include "interpose/call/choice.hpp"
#include "interpose/cublas/device/counts.hpp"
#include "interpose/cublas/device/device.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/settings.hpp"

namespace ozfp4::interpose::cublas {
namespace {

constexpr int most_slow = 2;  // products that took too long with nothing to repair: the first one may also have allocated

// Minus a number where they were left.
bool is_beyond(std::int64_t told, std::int64_t most) { return told < 0 || told > most; }

bool reads_result(const Product& p) {
  const Factor beta = factor(p.type, p.beta);
  return beta.real != 0 || beta.imaginary != 0;
}

}  // namespace

Trial* trial_on_device(const Product& product, const void* caller) {
  if (settings().always || settings().accuracy == OZFP4_ACCURACY_SCALED) return nullptr;  // what is scaled needs no repair
  const std::uint64_t context = current_context();
  return context == 0 ? nullptr : trial_of(product, {true, context}, caller);
}

bool has_failed(Trial& trial, const Product& product) {
  const std::int64_t* told = trial.told;
  if (trial.verdict == Trial::passed && told && is_beyond(value_of(told), most_repaired(product))) trial.verdict = Trial::failed;
  return trial.verdict == Trial::failed;
}

Watch::Watch(Trial* trial, const Product& product, Stream stream)
    : trial_(trial),
      stream_(stream),
      most_repaired_(interpose::most_repaired(product)),
      native_(trial ? native_time_of(product, true) / product.batch : 0) {
  is_watching_ = is_open() && !trial_->is_watched.exchange(true);
  if (is_watching_ && !trial_->told) trial_->told = new_count(current_context());
}

Watch::~Watch() {
  release(kept_, stream_);
  if (is_watching_) trial_->is_watched = false;
}

// C's lines to the memory for them and back.
bool Watch::copy(const Product& p, bool is_back) const {
  const bool has_rows = p.order == row_major;
  const std::size_t entry = size_of(p.type), width = static_cast<std::size_t>(has_rows ? p.n : p.m) * entry;
  const std::size_t lines = static_cast<std::size_t>(has_rows ? p.m : p.n), pitch = static_cast<std::size_t>(p.ldc) * entry;
  return is_back ? on_device(p.c, pitch, kept_, width, width, lines, stream_)
                 : on_device(kept_, width, p.c, pitch, width, lines, stream_);
}

Reason Watch::begin(const Product& p, ozfp4_options* options) {
  if (!trial_) return Reason::always;
  options->most_repaired = 0;
  if (!is_open()) {
    options->repaired = trial_->told;
    return Reason::always;
  }
  if (!is_watching_) return Reason::watched;
  if (is_captured(stream_)) return Reason::captured_untried;
  if (!trial_->told) return Reason::no_memory;
  options->repaired = trial_->told;
  if (reads_result(p)) {
    if (!kept_) kept_ = allocate(static_cast<std::size_t>(p.m) * static_cast<std::size_t>(p.n) * size_of(p.type), stream_);
    if (!kept_ || !copy(p, false)) return Reason::no_memory;
  }
  if (!wait_for(stream_)) return Reason::failed;
  options->most_repaired = most_repaired_;
  began_ = now();
  return Reason::always;
}

bool Watch::passes(const Product& p) {
  if (!is_own()) return true;
  if (!wait_for(stream_)) return true;  // an error of the device, which the program's next call meets
  const std::int64_t time = now() - began_;
  if (value_of(trial_->told) < 0) {
    trial_->verdict = Trial::failed;
    has_cost(time);
    if (reads_result(p)) copy(p, true);
    return false;
  }
  if (native_ == 0 || time <= native_) {
    trial_->verdict = Trial::passed;
  } else if (++trial_->slow >= most_slow) {
    trial_->verdict = Trial::failed;
  }
  return true;
}

}  // namespace ozfp4::interpose::cublas
