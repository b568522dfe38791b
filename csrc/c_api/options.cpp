#include "c_api/options.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "c_api/status.hpp"

namespace ozfp4::c_api {
namespace {

constexpr std::array<const char*, 3> kFamilies{"least", "paper", "paper-karatsuba"};
constexpr std::int64_t kMostBytes = std::int64_t(1) << 62;
constexpr std::size_t kLargestStructure = 1 << 16;  // no later version has a larger one: what says so was never set

[[noreturn]] void refuse_number(const char* name, std::int64_t value, const std::string& rest) {
  refuse_value(name, std::to_string(value), rest);
}

void check_range(const char* name, int value, int last) {
  if (value < 0 || value > last) refuse_number(name, value, "is outside 0.." + std::to_string(last));
}

// With 0 for what the program does not know. Members that this library does not know have to be 0.
ozfp4_options whole(const ozfp4_options& given) {
  const auto size = static_cast<std::int64_t>(given.size);
  if (given.size < offsetof(ozfp4_options, accuracy) + sizeof(given.accuracy) || given.size > kLargestStructure) {
    refuse_number("size", size, "is not the size of the structure, begin with OZFP4_OPTIONS_INIT");
  }
  ozfp4_options options = {};
  std::memcpy(&options, &given, std::min(given.size, sizeof options));
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  if (given.size > sizeof options &&
      std::any_of(bytes + sizeof options, bytes + given.size, [](int byte) { return byte != 0; })) {
    refuse_option(Fault::unsupported, "size",
                  std::to_string(size) + ", and what is behind byte " + std::to_string(sizeof options) +
                      " is set; this library is an older one");
  }
  return options;
}

void check_names(const ozfp4_options& given) {
  check_range("accuracy", given.accuracy, OZFP4_ACCURACY_CORRECT);
  check_range("rounding", given.rounding, OZFP4_ROUND_ZERO);
  check_range("scheme", given.scheme, OZFP4_SCHEME_II);
  check_range("backend", given.backend, OZFP4_BACKEND_FP64);
  check_range("family", given.family, OZFP4_FAMILY_PAPER_KARATSUBA);
  check_range("overflow", given.overflow, OZFP4_OVERFLOW_ERROR);
  if (given.reserved != 0) refuse_number("reserved", given.reserved, "is not 0");
  if (given.bits != 0 && (given.bits < kLeastBits || given.bits > kMostBits)) {
    refuse_number("bits", given.bits, "is outside " + std::to_string(kLeastBits) + ".." + std::to_string(kMostBits));
  }
  if (given.workspace_limit < 0 || given.workspace_limit >= kMostBytes) {
    refuse_number("workspace_limit", given.workspace_limit, "is not a number of bytes below 2^62");
  }
  if (given.report != nullptr && given.report->size < offsetof(ozfp4_report, backend) + sizeof(given.report->backend)) {
    refuse_number("report->size", static_cast<std::int64_t>(given.report->size), "is not the size of the structure");
  }
}

CallOptions to_options(const ozfp4_options& own) {
  CallOptions options;
  options.given = own;
  options.has_accuracy = own.accuracy != OZFP4_ACCURACY_DEFAULT;
  options.accuracy = own.accuracy == OZFP4_ACCURACY_CORRECT  ? Accuracy::correct
                     : own.accuracy == OZFP4_ACCURACY_SCALED ? Accuracy::scaled
                                                             : Accuracy::standard;
  options.rounding = static_cast<Rounding>(own.rounding);
  if (own.rounding != OZFP4_ROUND_NEAREST && options.accuracy != Accuracy::correct) {
    refuse_number("rounding", own.rounding, "needs OZFP4_ACCURACY_CORRECT; the others round to nearest");
  }
  options.has_scheme = own.scheme != OZFP4_SCHEME_DEFAULT;
  options.scheme = own.scheme == OZFP4_SCHEME_I ? Scheme::one : Scheme::two;
  const std::array<const Alphabet*, 4> alphabets{nullptr, &Alphabet::fp4, &Alphabet::int8, &Alphabet::fp64};
  options.alphabet = alphabets[static_cast<std::size_t>(own.backend)];
  options.has_family = own.family != OZFP4_FAMILY_LEAST;
  options.family = kFamilies[static_cast<std::size_t>(own.family)];
  options.bits = own.bits;
  options.raises = own.overflow == OZFP4_OVERFLOW_ERROR;
  options.has_limit = own.workspace_limit != 0;
  if (options.has_limit) options.workspace_limit = own.workspace_limit;
  if (own.plan != nullptr) options.plan = own.plan->plan;
  options.repaired = own.repaired;
  options.overflows = own.overflows;
  return options;
}

// Refuses options of "scaled" elsewhere, and those of other entries and of the other unit.
void check_asked(const CallOptions& options, Entries entries, Unit unit) {
  const ozfp4_options& given = options.given;
  const bool are_numbers = entries == Entries::numbers, is_cpu = unit == Unit::cpu;
  const bool is_scaled = options.accuracy == Accuracy::scaled;
  const auto refuse_where = [](bool is_asked, const char* name, const char* text, Fault fault = Fault::argument) {
    if (is_asked) refuse_option(fault, name, text);
  };
  if (are_numbers) {
    if (given.bits != 0 && !is_scaled) {
      refuse_number("bits", given.bits, "is for OZFP4_ACCURACY_SCALED; with the others every row and column has its own bits");
    }
    if (options.has_family && !is_scaled) {
      refuse_number("family", given.family, "is for OZFP4_ACCURACY_SCALED; it has 53 bits, and the others take more");
    }
    refuse_where(options.raises, "overflow", "OZFP4_OVERFLOW_ERROR is for products of integers");
    refuse_where(given.overflows != nullptr, "overflows", "is for products of integers");
  } else {
    const char* const text = "is for products of floating-point numbers; integers are neither scaled nor rounded";
    refuse_where(options.has_accuracy, "accuracy", text);
    refuse_where(given.rounding != OZFP4_ROUND_NEAREST, "rounding", text);
    refuse_where(given.bits != 0, "bits", text);
    refuse_where(given.bound != nullptr, "bound", text);
    refuse_where(given.repaired != nullptr, "repaired", "is for ozfp4_cuda_?gemm");
  }
  if (is_cpu) {
    refuse_where(given.repaired != nullptr, "repaired", "is for ozfp4_cuda_?gemm; options.report has that on the CPU");
    refuse_where(given.overflows != nullptr, "overflows", "is for ozfp4_cuda_igemm; options.report has that on the CPU");
  } else {
    const char* const word = are_numbers ? "repaired counts the repairs" : "overflows counts the entries that did not fit";
    const std::string text = std::string("what ran on a GPU is known when it has run; options.") + word + " then";
    refuse_where(given.report != nullptr, "report", text.c_str(), Fault::unsupported);
  }
}

}  // namespace

int backend_of(const Alphabet& alphabet) {
  const std::string name = alphabet.name;
  return name == "fp4" ? OZFP4_BACKEND_FP4 : name == "int8" ? OZFP4_BACKEND_INT8 : OZFP4_BACKEND_FP64;
}

int family_of(const std::string& family) {
  return static_cast<int>(std::find(kFamilies.begin(), kFamilies.end(), family) - kFamilies.begin());
}

CallOptions read_options(const ozfp4_options* given, Entries entries, Unit unit) {
  CallOptions options;
  if (given != nullptr) {
    const ozfp4_options own = whole(*given);
    check_names(own);
    options = to_options(own);
  }
  check_asked(options, entries, unit);
  if (entries == Entries::integers) options.accuracy = Accuracy::scaled;
  return options;
}

void write_sized(void* to, const void* from, std::size_t has, std::size_t written) {
  std::memcpy(static_cast<char*>(to) + sizeof has, static_cast<const char*>(from) + sizeof has,
              std::min(has, written) - sizeof has);
}

void write_report(const CallOptions& options, const Ran& ran, int word_bits, std::int64_t overflows) {
  ozfp4_report* const to = options.given.report;
  if (to == nullptr) return;
  const MatmulOutcome& outcome = ran.outcome;
  ozfp4_report report = {};
  const Plan* const plan = word_bits == 0 ? ran.plan.get() : nullptr;
  if (plan != nullptr) {
    report.backend = backend_of(plan->alphabet);
    report.scheme = plan->scheme == Scheme::one ? OZFP4_SCHEME_I : OZFP4_SCHEME_II;
  }
  report.bits = plan != nullptr ? plan->bits : word_bits;
  report.products = outcome.reported().products;
  report.moduli_used = outcome.reported().moduli_used;
  report.workspace = outcome.workspace;
  report.repaired = outcome.entries.chains + outcome.entries.pairs + outcome.entries.exact_sums;
  report.special_rows = outcome.special_rows;
  report.special_columns = outcome.special_columns;
  report.overflows = overflows;
  report.largest_bound = outcome.entries.largest_bound;
  report.seconds_scale = outcome.times.scale;
  report.seconds_encode = outcome.times.encode;
  report.seconds_multiply = outcome.times.multiply;
  report.seconds_reconstruct = outcome.times.reconstruct;
  report.seconds_repair = outcome.times.repair;
  write_sized(to, &report, to->size, sizeof report);
}

}  // namespace ozfp4::c_api
