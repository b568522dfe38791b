// Working memory that a thread keeps from one product for the next one. Small products that come one after the other then
// allocate nothing.
#pragma once

#include <memory>
#include <utility>

namespace ozfp4 {

// A T of its owner's alone, as the last owner left it. T: is_small(), whether a thread may keep it for good.
template <class T>
class Kept {
 public:
  Kept() : own_(Spare::is_gone ? nullptr : std::move(spare.object)) {
    if (!own_) own_ = std::make_unique<T>();
  }
  ~Kept() {
    if (own_->is_small() && !Spare::is_gone) spare.object = std::move(own_);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  T* operator->() const { return own_.get(); }

 private:
  struct Spare {
    std::unique_ptr<T> object;
    static inline thread_local bool is_gone = false;  // a thread that ends may still make products
    ~Spare() { is_gone = true; }
  };
  static inline thread_local Spare spare;

  std::unique_ptr<T> own_;
};

}  // namespace ozfp4
