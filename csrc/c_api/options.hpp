// ozfp4_options, converted: names that exist and do not contradict each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ozfp4.h"
#include "plan/plan.hpp"
#include "product/cpu/product.hpp"
#include "product/options.hpp"

struct ozfp4_plan {
  std::shared_ptr<const ozfp4::Plan> plan;
};

namespace ozfp4::c_api {

using namespace ozfp4::product;

// With what the caller gave, of which the memory for bounds and the report is used as it is.
struct CallOptions : Options {
  ozfp4_options given = {};
};

enum class Entries : std::uint8_t { numbers, integers };
enum class Unit : std::uint8_t { cpu, gpu };

// The options of a product of such entries on such a unit. Throws Refusal, naming the member, its value and what is allowed.
CallOptions read_options(const ozfp4_options* given, Entries entries, Unit unit);

// Copies into a structure of the size that a program was compiled with, `written` bytes at most.
void write_sized(void* to, const void* from, std::size_t has, std::size_t written);

// Writes what happened where the caller wants it. `word_bits`: of machine words that multiplied; 0: by the plan.
void write_report(const CallOptions& options, const Ran& ran, int word_bits, std::int64_t overflows);
inline void write_report(const CallOptions& options, const Ran& ran) {
  write_report(options, ran, ran.outcome.is_without_planes() ? 64 : 0, 0);
}

// The number of an alphabet, of a family.
int backend_of(const Alphabet& alphabet);
int family_of(const std::string& family);

}  // namespace ozfp4::c_api
