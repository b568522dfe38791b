// Overlaps of wave functions, a complex Gram matrix that is Hermitian to the last bit, and one of its factors prepared for many
// products.
#include <ozfp4.h>

#include <complex>
#include <cstdint>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Complex = std::complex<double>;

void check(ozfp4_status status) {
  if (status != OZFP4_OK) throw std::runtime_error(std::string(ozfp4_status_name(status)) + ": " + ozfp4_last_error());
}

struct Release {
  void operator()(ozfp4_prepared* prepared) const { ozfp4_release(prepared); }
};

}  // namespace

int main() try {
  const std::int64_t states = 30, points = 500;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<Complex> waves(states * points);  // a state a row
  for (Complex& x : waves) x = {normal(random), normal(random)};

  std::vector<Complex> overlaps(states * states);
  check(ozfp4_zgram(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, states, points, waves.data(), points, overlaps.data(), states, nullptr));
  bool is_hermitian = true;
  for (std::int64_t i = 0; i < states; ++i) {
    for (std::int64_t j = 0; j < states; ++j) {
      is_hermitian = is_hermitian && overlaps[i * states + j] == std::conj(overlaps[j * states + i]);
    }
  }

  // The same, state by state, with the adjoint scaled and encoded once.
  ozfp4_prepared* made = nullptr;
  check(ozfp4_prepare(OZFP4_COMPLEX128, OZFP4_RIGHT, OZFP4_ROW_MAJOR, OZFP4_CONJ_TRANS, points, states, waves.data(), points,
                      nullptr, &made));
  const std::unique_ptr<ozfp4_prepared, Release> adjoint(made);
  const Complex one = 1.0, zero = 0.0;
  bool is_equal = true;
  for (std::int64_t i = 0; i < states; ++i) {
    std::vector<Complex> row(states);
    check(ozfp4_gemm_prepared(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 1, states, points, &one, &waves[i * points],
                              points, nullptr, nullptr, 0, adjoint.get(), &zero, row.data(), states, nullptr));
    for (std::int64_t j = 0; j < states; ++j) is_equal = is_equal && row[j] == overlaps[i * states + j];
  }
  std::cout << "Hermitian: " << is_hermitian << ", the same by rows: " << is_equal
            << ", prepared: " << ozfp4_prepared_bytes(adjoint.get()) << " bytes\n";
  return is_hermitian && is_equal ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
