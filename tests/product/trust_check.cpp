// The self-test finds kernels that are nearly right, on the CPU and for a GPU. Loops play the GPU kernels here: they read planes
// by the contract (csrc/cuda/multiply/contract.hpp). Verdicts are kept on disk. A crash of a test in another process does not
// end this one.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "cpu/runtime/environment.hpp"
#include "product/choose.hpp"
#include "product/cpu/rates.hpp"
#include "product/cpu/units.hpp"
#include "product/refusal.hpp"
#include "product/trust/child.hpp"
#include "product/trust/cpu.hpp"
#include "product/trust/examination.hpp"
#include "product/trust/machine.hpp"
#include "product/trust/verdict.hpp"

using namespace ozfp4;
using namespace ozfp4::product;

namespace {

using Sums64 = std::vector<std::int64_t>;

// ---- A kernel of a GPU in plain loops ----

std::int64_t entry_of(const PlaneProduct& p, const std::vector<std::uint8_t>& plane, std::int64_t row, std::int64_t k) {
  const std::uint8_t* bytes = plane.data() + row * p.pitch;
  if (p.element == Element::u8) return bytes[k];
  if (p.element == Element::s8) return static_cast<std::int8_t>(bytes[k]);
  constexpr int limbs[] = {0, 1, 2, 3, 4, 6, 8, 12};
  const int code = k % 2 == 0 ? bytes[k / 2] & 15 : bytes[k / 2] >> 4;
  return code >= 8 ? -limbs[code & 7] : limbs[code];
}

struct FakeGpu {
  std::function<void(Sums64&)> spoil = [](Sums64&) {};                                // sums before they are folded
  std::function<void(Sums64&, std::int64_t)> misread = [](Sums64&, std::int64_t) {};  // entries of B before they are multiplied
  bool writes_behind = false;
  std::size_t most_moduli = 0;
  std::vector<bool> codes = std::vector<bool>(16, false);  // that were multiplied

  std::vector<std::uint8_t> run(const PlaneProduct& p) {
    Sums64 a, b, sums;
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t k = 0; k < p.k; ++k) a.push_back(entry_of(p, p.a, i, k));
    }
    for (std::int64_t j = 0; j < p.n; ++j) {
      for (std::int64_t k = 0; k < p.k; ++k) b.push_back(entry_of(p, p.b, j, k));
    }
    if (p.element == Element::e2m1) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        const std::uint8_t* row = p.a.data() + i * p.pitch;
        for (std::int64_t k = 0; k < p.k; ++k) codes[k % 2 == 0 ? row[k / 2] & 15 : row[k / 2] >> 4] = true;
        if (p.k % 2 == 1 && row[p.k / 2] >> 4 != 0) throw std::runtime_error("the unused half of a byte is no zero");
      }
    }
    misread(b, p.k);
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k)
          sum += a[static_cast<std::size_t>(i * p.k + k)] * b[static_cast<std::size_t>(j * p.k + k)];
        sums.push_back(sum);
      }
    }
    spoil(sums);
    most_moduli = std::max(most_moduli, p.moduli.size());
    std::vector<std::uint8_t> out(static_cast<std::size_t>(p.out_bytes() + kBehind), kNoise);
    std::uint8_t* row = out.data();
    for (const std::uint32_t modulus : p.moduli) {
      for (std::int64_t i = 0; i < p.m; ++i, row += p.out_pitch) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          const auto m = static_cast<std::int64_t>(modulus);
          row[j] = static_cast<std::uint8_t>((sums[static_cast<std::size_t>(i * p.n + j)] % m + m) % m);
        }
      }
    }
    if (writes_behind) out.back() = 0;
    return out;
  }
};

Verdict verdict_on(FakeGpu& gpu, Element element) {
  return examine({"a kernel", name_of(element)}, true, [&](Examination& examination) {
    for_each_case(case_alphabet(name_of(element)), true, [&](const Case& own) {
      examination.sums(own, [&](const Case& given) {
        return sums_by_planes(given, element, [&](const PlaneProduct& planes) { return gpu.run(planes); });
      });
    });
  });
}

bool begins(const std::string& text, const std::string& with) { return text.compare(0, with.size(), with) == 0; }

constexpr Element kElements[] = {Element::u8, Element::s8, Element::e2m1};

void check_right_kernels() {
  for (const Element element : kElements) {
    FakeGpu gpu;
    const Verdict verdict = verdict_on(gpu, element);
    report(std::string("a right kernel of ") + name_of(element) + " passes", verdict.is_passed && verdict.is_short,
           verdict.reason);
    report("enough moduli for large tiles", gpu.most_moduli == 60);
    report("every code is multiplied", element != Element::e2m1 || std::count(gpu.codes.begin(), gpu.codes.end(), true) == 16);
  }
  FakeGpu beyond;
  beyond.writes_behind = true;
  const Verdict verdict = verdict_on(beyond, Element::u8);
  report("a store behind the output", !verdict.is_passed && verdict.reason.find("wrote behind its output") != std::string::npos,
         verdict.reason);
}

// Sums as accumulators leave them that are too short, or one that is wrong.
void keep_24_bits(Sums64& sums) {
  for (std::int64_t& x : sums) x = static_cast<std::int64_t>(static_cast<float>(x));
}
void keep_23_bits(Sums64& sums) {
  for (std::int64_t& x : sums) x -= std::abs(x) >= 1 << 23 && x % 2 == 1 ? 1 : 0;
}
void saturate(Sums64& sums) {
  for (std::int64_t& x : sums) x = std::clamp<std::int64_t>(x, -(1 << 23), 1 << 23);
}
void one_wrong(Sums64& sums) { sums.back() += 1; }

void check_accumulators() {
  const struct {
    Element element;
    void (*spoil)(Sums64&);
    const char* found;
  } wrong[] = {{Element::e2m1, keep_23_bits, "sums at the limit"},
               {Element::e2m1, saturate, "sums at the limit"},
               {Element::s8, keep_24_bits, "sums at the limit"},
               {Element::u8, keep_24_bits, "sums at the limit"},
               {Element::u8, one_wrong, "every pair of limbs"}};
  for (const auto& each : wrong) {
    FakeGpu gpu;
    gpu.spoil = each.spoil;
    const Verdict verdict = verdict_on(gpu, each.element);
    const bool names_it = begins(verdict.reason, each.found) && verdict.reason.find(" modulo 25") != std::string::npos &&
                          verdict.reason.find(" entry (") != std::string::npos;
    report(std::string("a wrong accumulator of ") + name_of(each.element), !verdict.is_passed && names_it, verdict.reason);
  }
  FakeGpu codes;
  codes.spoil = keep_24_bits;
  report("FP32 holds sums of codes", verdict_on(codes, Element::e2m1).is_passed);
}

void swap_two_places(Sums64& b, std::int64_t k) {
  for (std::size_t at = 0; k > 70 && at < b.size(); at += static_cast<std::size_t>(k)) std::swap(b[at + 69], b[at + 70]);
}
void double_a_block(Sums64& b, std::int64_t k) {
  for (std::size_t at = 0; at < b.size(); at += static_cast<std::size_t>(k)) {
    for (std::int64_t place = 96; place < std::min<std::int64_t>(k, 128); ++place) b[at + static_cast<std::size_t>(place)] *= 2;
  }
}
void take_a_row_twice(Sums64& b, std::int64_t k) {
  const auto width = static_cast<std::ptrdiff_t>(k);
  if (static_cast<std::ptrdiff_t>(b.size()) >= 18 * width) std::copy_n(b.begin() + 16 * width, width, b.begin() + 17 * width);
}

void check_places() {
  for (const Element element : kElements) {
    for (const auto misread : {swap_two_places, double_a_block, take_a_row_twice}) {
      FakeGpu gpu;
      gpu.misread = misread;
      report(std::string("entries in the wrong place of ") + name_of(element), !verdict_on(gpu, element).is_passed);
    }
  }
}

// A kernel of which one tile is wrong, not that which a small product takes.
void check_tiles() {
  for (const Element element : kElements) {
    const Verdict verdict = examine({"a kernel", name_of(element)}, true, [&](Examination& examination) {
      for_each_case(case_alphabet(name_of(element)), true, [&](const Case& own) {
        if (!own.every_tile) return;
        examination.sums(own, [](const Case& given) {
          Sums wrong{0, given.expected(), "tile 128x128 "};
          ++wrong.entries.back();
          return std::vector<Sums>{{0, given.expected(), "tile 64x64 "}, std::move(wrong)};
        });
      });
    });
    report(std::string("each tile for ") + name_of(element),
           verdict.reason.find(": tile 128x128 entry (256, 269) is") != std::string::npos, verdict.reason);
  }
}

// ---- Any kernel ----

Verdict after(const std::function<void()>& fails) {
  return examine({"a kernel", "u8"}, true, [&](Examination& examination) {
    for_each_case(case_alphabet("u8"), true, [&](const Case& own) {
      examination.sums(own, [&](const Case&) -> std::vector<Sums> { return fails(), std::vector<Sums>{}; });
    });
  });
}

void check_whole_products() {
  const WholeProduct product = whole_products(true).front();
  PlanRequest request;
  request.alphabet = Alphabet::fp64;
  request.k = product.k;
  const Plan plan = make_plan(request);
  const auto verdict_with = [&](const std::function<void(std::vector<double>&)>& spoil) {
    return examine({"a kernel", "fp64"}, true, [&](Examination& examination) {
      examination.whole(product, plan, [&](const WholeProduct& given, const Plan&) {
        std::vector<double> c = given.expected;
        spoil(c);
        return c;
      });
    });
  };
  report("a right whole product", verdict_with([](std::vector<double>&) {}).is_passed);
  const Verdict wrong = verdict_with([](std::vector<double>& c) { c.back() = std::nextafter(c.back(), HUGE_VAL); });
  report(
      "the last bit of a whole product",
      begins(wrong.reason, "whole product 19 x 700 x 23, scheme II fp64 least, 53 bits: entry (18, 22) is") && wrong.is_lasting,
      wrong.reason);
  const std::size_t exact = wrong.reason.find(", exact is ");
  report("what is right", exact != std::string::npos && std::stod(wrong.reason.substr(exact + 11)) == product.expected.back(),
         wrong.reason);
  const Verdict none = verdict_with([](std::vector<double>& c) { std::fill(c.begin(), c.end(), NAN); });
  report("NaN in the place of a result", !none.is_passed && none.reason.find("is nan") != std::string::npos, none.reason);
}

void check_errors() {
  const Verdict verdict = after([] { throw std::runtime_error("no kernel image is available"); });
  report("an error of the device is a matter of the moment",
         !verdict.is_passed && !verdict.is_lasting &&
             verdict.reason == "after every pair of limbs, K = 1: no kernel image is available",
         verdict.reason);
  bool is_passed_on = false;
  try {
    after([] { throw std::bad_alloc(); });
  } catch (const std::bad_alloc&) {
    is_passed_on = true;
  }
  report("no memory is no verdict", is_passed_on);
  try {
    after([] { refuse(Fault::out_of_memory, "memory: none"); });
    report("no memory of a device is no verdict", false);
  } catch (const Refusal& refusal) {
    report("no memory of a device is no verdict", refusal.fault() == Fault::out_of_memory);
  }
}

// ---- What is kept ----

void check_disk(const std::string& folder) {
  const Facts key{{"device", "one"}, {"build", "a\nb"}}, other{{"device", "two"}, {"build", "a\nb"}};
  Verdict verdict;
  verdict.cases = 7, verdict.microseconds = 250;
  report("nothing is known at first", !load_verdict(key));
  store_verdict(key, verdict);
  const auto passed = load_verdict(key);
  report("what passed comes back",
         passed && passed->is_passed && passed->is_short && passed->cases == 7 && passed->microseconds == 250);
  report("of another key nothing", !load_verdict(other));
  verdict.is_passed = verdict.is_short = false;
  verdict.reason = "entry (0, 1)\nis 3";
  store_verdict(key, verdict);
  const auto failed = load_verdict(key);
  report("the last one counts", failed && !failed->is_passed && !failed->is_short && failed->reason == "entry (0, 1) is 3");
  verdict.is_lasting = false;
  store_verdict(other, verdict);
  report("what does not last is not kept", !load_verdict(other));
  setenv("OZFP4_CACHE_DIR", (folder + "/a/b").c_str(), 1);
  report("the folder stays until the environment is read", load_verdict(key).has_value());
  read_environment();
  report("in another folder nothing is known", !load_verdict(key));
  verdict.is_lasting = true;
  store_verdict(key, verdict);
  report("folders are made", load_verdict(key).has_value());
  setenv("OZFP4_CACHE_DIR", "/dev/null/none", 1);
  read_environment();
  store_verdict(key, verdict);
  report("without a folder nothing is kept", !load_verdict(key));
  setenv("OZFP4_CACHE_DIR", folder.c_str(), 1);
  read_environment();
}

// ---- In another process ----

Verdict wrong_verdict() { return {false, false, 3, 0, true, "sums: entry (1, 2) is 3, exact is 4"}; }

bool is_wrong_verdict(const std::optional<Verdict>& found) {
  return found && !found->is_passed && !found->is_short && found->cases == 3 && found->is_lasting &&
         found->reason == wrong_verdict().reason;
}

void set_limit(const char* seconds) {
  setenv("OZFP4_SELFTEST_SECONDS", seconds, 1);
  read_environment();
}

void check_copies() {
  report("a verdict comes from a copy", is_wrong_verdict(examine_in_copy(true, wrong_verdict)));
  const auto trap = examine_in_copy(true, []() -> Verdict { return raise(SIGILL), Verdict(); });
  report("a trap ends the copy alone", trap && !trap->is_passed && trap->is_lasting && trap->is_short &&
                                           begins(trap->reason, "the test was ended by signal " + std::to_string(SIGILL)));
  report("an exception is no verdict", !examine_in_copy(true, []() -> Verdict { throw std::bad_alloc(); }));
  signal(SIGCHLD, SIG_IGN);
  report("of children that nobody waits for, too", is_wrong_verdict(examine_in_copy(true, wrong_verdict)));
  signal(SIGCHLD, SIG_DFL);
  for (const CpuKernel& kernel : cpu_kernels()) {
    const auto found = examine_in_copy(true, [&] { return test(kernel, true); });
    report("threads serve in a copy", found && found->is_passed && found->cases > 5, kernel.name().name);
  }
  set_limit("1");
  const auto hang = examine_in_copy(true, []() -> Verdict {
    for (;;) pause();
  });
  report("what does not end is killed",
         hang && !hang->is_passed && !hang->is_lasting && hang->reason == "the test did not end in 1 seconds and was killed");
  set_limit("60");
}

std::optional<Verdict> by_shell(const std::string& line) { return examine_by_program(true, {"/bin/sh", "-c", line}); }

void check_programs() {
  const auto passed = by_shell("printf 'passed: yes\\nshort: yes\\ncases: 7\\nmicroseconds: 9\\nlasting: yes\\nreason: \\n'");
  report("a verdict comes from a program", passed && passed->is_passed && passed->cases == 7);
  const auto trap = by_shell("kill -ILL $$");
  report("a trap ends the program alone", trap && !trap->is_passed && trap->is_lasting);
  report("one that is killed from elsewhere says nothing for good", !by_shell("kill -KILL $$")->is_lasting);
  report("half a verdict is none", !by_shell("printf 'passed: yes\\nshort: yes'"));
  report("no verdict", !by_shell("exit 1") && !examine_by_program(true, {"/dev/null/none"}));
  report("nothing is preloaded", !by_shell("test -z \"$LD_PRELOAD\" || kill -ILL $$"));
  set_limit("1");
  const auto hang = by_shell("exec sleep 20");
  report("one that does not end", hang && !hang->is_passed && hang->is_lasting, hang ? hang->reason : "");
  set_limit("60");
}

void check_where() {
  const struct {
    const char* asked;
    bool of_proven, of_others;
  } places[] = {{"", false, true}, {"here", false, false}, {"apart", true, true}, {"else", false, true}};
  for (const auto& place : places) {
    setenv("OZFP4_SELFTEST", place.asked, 1);
    read_environment();
    report(std::string("where: ") + place.asked, goes_apart(true) == place.of_proven && goes_apart(false) == place.of_others);
  }
  setenv("OZFP4_SELFTEST", "apart", 1);
  read_environment();
  for (const CpuKernel& kernel : cpu_kernels()) {
    break_kernels({kernel.name()});
    const Verdict wrong = test(kernel, true);
    report("a wrong kernel is found apart",
           !wrong.is_passed && wrong.reason.find("entry (") != std::string::npos && wrong.is_lasting, wrong.reason);
    break_kernels({});
    report("a right one passes apart", test(kernel, true).is_passed);
  }
  unsetenv("OZFP4_SELFTEST");
  read_environment();
}

template <class Body>
std::string refusal_of(const Body& body) {
  try {
    body();
  } catch (const Refusal& refusal) {
    return refusal.what();
  }
  return "";
}

// Number formats usable for a product, the cheapest first.
std::size_t count_of_units() { return rated_units({}, 53, 100).size(); }
const Alphabet* cheapest() { return alphabets_for({}, 53, 100, rated_units({}, 53, 100)).front(); }

void check_choice() {
  for (const CpuKernel& kernel : cpu_kernels()) test(kernel, true);
  report("all units pass", count_of_units() == 3 && trusts_direct() && trusts_words());
  const Alphabet* best = cheapest();
  const KernelName wrong = planes_kernel(serving_byte_kernel(), *best).name();
  break_kernels({wrong});
  report("what is known is believed", cheapest() == best);
  report("a test says what is so", !test(find_cpu_kernel(wrong), true).is_passed);
  const auto taken = [] { return planes_kernel(serving_byte_kernel(), *cheapest()).name(); };
  report("another one serves", !(taken() == wrong) && failure_of(*cheapest()).empty());
  forget_cpu_verdicts();
  cheapest();
  report("the next process knows", failed_kernels().size() == 1 && failed_kernels().front().name() == wrong);
  std::vector<KernelName> broken;
  for (const CpuKernel& kernel : cpu_kernels()) {
    if (kernel.alphabet != nullptr) broken.push_back(kernel.name());
  }
  break_kernels(broken);
  for (const KernelName& name : broken) test(find_cpu_kernel(name), true);
  report("units for bytes are passed over", trusted_unit() == nullptr);
  report("without any the first is refused",
         count_of_units() == 3 && begins(refusal_of([] { check_trusted(*cheapest()); }), "backend: "));
  break_kernels({});
  for (const CpuKernel& kernel : cpu_kernels()) test(kernel, true);
  report("what passes again serves again",
         count_of_units() == 3 && failure_of(*best).empty() && (trusted_unit() != nullptr) == (byte_kernels().size() > 1));
}

}  // namespace

int main() {
  char folder[] = "/tmp/ozfp4-trust-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  setenv("OZFP4_CACHE_DIR", folder, 1);
  read_environment();
  check_right_kernels();
  check_accumulators();
  check_places();
  check_tiles();
  check_whole_products();
  check_errors();
  check_disk(folder);
  check_copies();
  check_programs();
  check_where();
  check_choice();
  std::filesystem::remove_all(folder);
  return finish();
}
