// The routines that are interposed, as numbers and names.
#pragma once

#include <cstdint>
#include <string>

#include "exec/names.hpp"
#include "exec/product.hpp"

namespace ozfp4::exec {

#define OZFP4_ROUTINE(name, ...) name,
enum class Routine : std::uint16_t { OZFP4_ALL_NAMES(OZFP4_ROUTINE) count };
#undef OZFP4_ROUTINE

constexpr int routine_count = static_cast<int>(Routine::count);

// Whether it makes one triangle of a product, on the CPU.
constexpr bool makes_triangle(Routine routine) { return routine >= Routine::ssyrk_ && routine < Routine::isamax_; }

// Whether its matrices are on a GPU.
constexpr bool is_on_device(Routine routine) { return routine >= Routine::cublasSgemm_v2; }

// The name under which the dynamic linker knows it.
inline const char* name_of(Routine routine) {
#define OZFP4_ROUTINE(name, ...) #name,
  static const char* const names[] = {OZFP4_ALL_NAMES(OZFP4_ROUTINE)};
#undef OZFP4_ROUTINE
  return names[static_cast<int>(routine)];
}

// The name of people: dgemm of scipy_cblas_dgemm64_, cublasDgemm of cublasDgemm_v2_64.
inline std::string plain_name(Routine routine) {
  std::string name = name_of(routine);
  if (is_on_device(routine)) return name.substr(0, name.find('_'));
  for (const char* prefix : {"scipy_", "cblas_"}) {  // of six letters each
    if (name.compare(0, 6, prefix) == 0) name.erase(0, 6);
  }
  return name.substr(0, 5);  // as long as those of all products
}

// Of its matrices; Type::other where each call says it.
inline Type type_of(Routine routine) {
#define OZFP4_ROUTINE(name, letter, ...) OZFP4_TYPE_##letter,
#define OZFP4_TYPE_s Type::float32
#define OZFP4_TYPE_d Type::float64
#define OZFP4_TYPE_c Type::complex64
#define OZFP4_TYPE_z Type::complex128
#define OZFP4_TYPE_x Type::other
  static const Type types[] = {OZFP4_ALL_NAMES(OZFP4_ROUTINE)};
#undef OZFP4_ROUTINE
  return types[static_cast<int>(routine)];
}

}  // namespace ozfp4::exec
