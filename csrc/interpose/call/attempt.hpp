// One call of a CPU's BLAS, from the decision to the count.
#pragma once

#include <cstdint>

#include "interpose/call/product.hpp"
#include "interpose/call/reason.hpp"
#include "interpose/symbols/real.hpp"

namespace ozfp4::interpose {

class Attempt {
 public:
  Attempt(const Real& real, const Product& product) : real_(real), product_(product) {}
  // Whether ozfp4 made the product, which is then counted. If not, the caller calls the real routine and then left().
  bool is_served();
  // The real routine made it.
  void left();
  // BLAS will refuse the arguments: the real routine says so, and may not return.
  void refused();

 private:
  void has_taken(std::int64_t time, bool has_many_chains);

  const Real& real_;
  const Product& product_;
  Reason reason_ = Reason::always;
  std::int64_t began_ = 0;
};

}  // namespace ozfp4::interpose
