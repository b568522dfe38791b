// One call of cuBLAS, from the decision to the count.
#pragma once

#include "interpose/call/bypass.hpp"
#include "interpose/call/product.hpp"
#include "interpose/call/reason.hpp"
#include "interpose/cublas/handle.hpp"
#include "interpose/cublas/types.hpp"
#include "interpose/process/record.hpp"
#include "interpose/symbols/real.hpp"

namespace ozfp4::interpose::cublas {

// Where and how the matrices of a call are multiplied.
struct Place {
  Handle handle;
  void* cublas;  // of which native products are made, as of dlopen
  Stream stream;
  Space space;          // of the program's own
  bool is_own_version;  // of CUDA
};

// Asks a handle for no more than a call needs that is left, and fills `place` up to `stream`. Reason::none where it says that
// alpha and beta are on the host; else why the call is left: where it says nothing, the real routine refuses it.
Reason begin_place(const Real& real, Handle handle, Place* place);

class DeviceAttempt {
 public:
  DeviceAttempt(const Real& real, const Product& product) : real_(real), product_(product) {}
  // Whether ozfp4 has enqueued the product, which is then counted. If not, the caller leaves it for reason().
  bool is_served(Place place);
  Reason reason() const { return reason_; }
  // The status that the program gets for one that is served.
  Status status() const { return status_; }

 private:
  // Why it is to be served, or is left, by all that is known before and is not told by its extents. `place` is complete then.
  Reason decide(Place* place);
  Reason serve(const Place& place, std::int64_t* repaired);
  Reason serve_watched(const Place& place);

  const Real& real_;
  const Product& product_;
  Reason reason_ = Reason::none;
  Status status_ = success;
};

// A call that is left, and counted: `forward` makes it.
template <class Forward>
Status leave(const Real& real, const Product& product, Reason reason, const Forward& forward) {
  const CountedCall counted(kind_of(real.routine, product, reason));
  const Bypass bypass;
  return forward();
}

// A call that ozfp4 makes if it can, and `forward` otherwise. `known`: Reason::none, or why it is left.
template <class Forward>
Status serve_or_leave(const Real& real, const Product& product, Reason known, const Place& place, const Forward& forward) {
  if (known != Reason::none) return leave(real, product, known, forward);
  DeviceAttempt attempt(real, product);
  return attempt.is_served(place) ? attempt.status() : leave(real, product, attempt.reason(), forward);
}

}  // namespace ozfp4::interpose::cublas
