// Products on a GPU whose numbers are on trial (call/trial.hpp): the first of each kind is waited for, with C kept where it is
// read, and is the real routine's again where it has more entries to repair than pay; of the others the device tells later.
#pragma once

#include <cstdint>

#include "interpose/call/product.hpp"
#include "interpose/call/reason.hpp"
#include "interpose/call/trial.hpp"
#include "interpose/cublas/types.hpp"
#include "ozfp4.h"

namespace ozfp4::interpose::cublas {

// That of a product in the current context; null where nothing is to be tried. Range: the product is measured to be faster.
Trial* trial_on_device(const Product& product, const void* caller);

// Whether a product of this kind was too slow, by all that devices have told.
bool has_failed(Trial& trial, const Product& product);

// Of the matrices of one product, one after the other. It waits for the stream: the caller holds no lock meanwhile that another
// thread may need to enqueue what the stream waits for, or to fork. Range: the trial has not failed, and is one of the context.
class Watch {
 public:
  // Null: nothing is watched.
  Watch(Trial* trial, const Product& product, Stream stream);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Before a matrix is enqueued: Reason::always, or why it cannot be watched.
  Reason begin(const Product& matrix, ozfp4_options* options);
  // Once it is enqueued. False: C is as it was.
  bool passes(const Product& matrix);

 private:
  bool is_open() const { return trial_ && trial_->verdict == Trial::open; }
  bool is_own() const { return is_watching_ && is_open(); }
  bool copy(const Product& matrix, bool is_back) const;

  Trial* const trial_;
  const Stream stream_;
  const std::int64_t most_repaired_, native_;
  bool is_watching_ = false;  // nobody else does: one product at a time tells how many entries were left
  void* kept_ = nullptr;      // C
  std::int64_t began_ = 0;
};

}  // namespace ozfp4::interpose::cublas
