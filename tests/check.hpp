// Parts that the stand-alone checks share: random numbers, and the count of checks that passed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <type_traits>

constexpr std::uint8_t kPoison = 0xA5;  // in bytes that nothing may write to

inline std::mt19937_64 generator(20240611);

// Uniform in [low, high].
template <class Low, class High>
auto random_int(Low low, High high) {
  return std::uniform_int_distribution<std::common_type_t<Low, High>>(low, high)(generator);
}

inline std::int64_t passed_checks = 0, failed_checks = 0;

// Counts one check, and says where it failed, and its name; the first 20 of those. The file and the line are the caller's.
inline bool report(const std::string& name, bool holds, const std::string& detail = "", const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  ++(holds ? passed_checks : failed_checks);
  if (!holds && failed_checks <= 20) std::printf("%s:%d: FAILED %s %s\n", file, line, name.c_str(), detail.c_str());
  return holds;
}

// Whether the arguments of a check are `few`: fewer cases, where each instruction is emulated.
inline bool is_few(int count, char** arguments) { return count > 1 && std::string(arguments[1]) == "few"; }

// The last line of a check; returns its exit status. One that checked nothing has failed.
inline int finish() {
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(passed_checks), static_cast<long long>(failed_checks));
  return failed_checks == 0 && passed_checks > 0 ? 0 : 1;
}
