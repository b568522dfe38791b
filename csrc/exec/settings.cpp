#include "exec/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "exec/line.hpp"
#include "ozfp4.h"

extern char** environ;

namespace ozfp4::exec {
namespace {

constexpr int own_error = 125;  // as env(1) has it
constexpr const char* prefix = "OZFP4_EXEC_";

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& allowed) {
  say(prefix + name + ": '" + value + "' is not allowed; " + allowed);
  _exit(own_error);
}

std::int64_t count_of(const std::string& name, const std::string& value) {
  errno = 0;
  const long long number = std::strtoll(value.c_str(), nullptr, 10);
  const bool has_digits_alone = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (errno || !has_digits_alone) refuse(name, value, "it is a number, 0 or more");
  return number;
}

// Words with commas between; each has a character.
std::vector<std::string> words_of(const std::string& name, const std::string& value) {
  std::vector<std::string> words;
  for (std::size_t from = 0, comma = 0; from <= value.size(); from = comma + 1) {
    comma = std::min(value.find(',', from), value.size());
    words.push_back(value.substr(from, comma - from));
    if (words.back().empty()) refuse(name, value, "it is words with commas between");
  }
  return words;
}

void set_types(const std::string& value, Settings& to) {
  to.types.fill(value == "all");
  if (value == "all") return;
  for (const std::string& word : words_of("DTYPES", value)) {
    int type = 0;
    const auto is_named = [&](Type of) { return word == name_of(of) || word == std::string(1, letter_of(of)); };
    while (type < type_count && !is_named(static_cast<Type>(type))) ++type;
    if (type == type_count) {
      refuse("DTYPES", value, "it is all, or one or more of float32, float64, complex64, complex128, or s, d, c, z");
    }
    to.types[type] = true;
  }
}

void set(const std::string& name, const std::string& value, Settings& to) {
  if (name == "MODE") {
    if (value != "fastest" && value != "always") refuse(name, value, "it is fastest or always");
    to.always = value == "always";
  } else if (name == "MIN_SIZE") {
    to.min_size = static_cast<double>(count_of(name, value));
  } else if (name == "ACCURACY") {
    if (value != "scaled" && value != "standard" && value != "correct") refuse(name, value, "it is standard, correct or scaled");
    to.accuracy = value == "scaled"     ? OZFP4_ACCURACY_SCALED
                  : value == "standard" ? OZFP4_ACCURACY_STANDARD
                                        : OZFP4_ACCURACY_CORRECT;
  } else if (name == "DTYPES") {
    set_types(value, to);
  } else if (name == "ONLY" || name == "SPARE") {
    (name == "ONLY" ? to.only : to.spare) = words_of(name, value);
  } else if (name == "SUMMARY") {
    if (value != "0" && value != "1") refuse(name, value, "it is 0 or 1");
    to.summary = value == "1";
  } else if (name == "REPORT") {
    if (value.empty()) refuse(name, value, "it is a file");
    to.report = value;
  } else if (name == "ROOT") {
    to.root = count_of(name, value);
  } else if (name == "VERIFY") {
    to.verify = count_of(name, value);
    if (to.verify > 1000000) refuse(name, value, "it is at most 1000000");
  } else {
    say(prefix + name + " is unknown; there are MODE, MIN_SIZE, ACCURACY, DTYPES, ONLY, SPARE, SUMMARY, REPORT and VERIFY");
    _exit(own_error);
  }
}

Settings from_environment() {
  Settings found;
  found.accuracy = OZFP4_ACCURACY_STANDARD;
  const std::size_t length = std::strlen(prefix);
  for (char** each = environ; each && *each; ++each) {
    const char* equals = std::strchr(*each, '=');
    if (!equals || std::strncmp(*each, prefix, length) != 0) continue;
    set(std::string(static_cast<const char*>(*each) + length, equals), equals + 1, found);
  }
  return found;
}

}  // namespace

const Settings& settings() {
  static const Settings& found = *new Settings(from_environment());  // outlives whatever the process ends with
  return found;
}

}  // namespace ozfp4::exec
