#include "exec/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "exec/process.hpp"
#include "ozfp4.h"

extern char** environ;

namespace ozfp4::exec {
namespace {

constexpr int own_error = 125;  // as env(1) has it
constexpr char prefix[] = "OZFP4_EXEC_";
constexpr std::size_t prefix_length = sizeof prefix - 1;

// Each sets what a value says, and returns whether it says anything.
bool set_choice(const std::string& value, std::initializer_list<const char*> names, int first, int& to) {
  const auto found = std::find(names.begin(), names.end(), value);
  to = first + static_cast<int>(found - names.begin());
  return found != names.end();
}

bool set_count(const std::string& value, std::int64_t& to) {
  errno = 0;
  to = std::strtoll(value.c_str(), nullptr, 10);
  return errno == 0 && !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
}

bool set_words(const std::string& value, std::vector<std::string>& to) {
  to.clear();
  for (std::size_t from = 0, comma = 0; from <= value.size(); from = comma + 1) {
    comma = std::min(value.find(',', from), value.size());
    to.push_back(value.substr(from, comma - from));
  }
  return std::find(to.begin(), to.end(), "") == to.end();
}

bool set_types(const std::string& value, std::array<bool, type_count>& to) {
  to.fill(value == "all");
  std::vector<std::string> words;
  if (value == "all") return true;
  if (!set_words(value, words)) return false;
  for (const std::string& word : words) {
    std::size_t type = 0;
    const auto is_named = [&word](Type of) { return word == name_of(of) || word == std::string(1, letter_of(of)); };
    while (type < to.size() && !is_named(static_cast<Type>(type))) ++type;
    if (type == to.size()) return false;
    to[type] = true;
  }
  return true;
}

// Sets what a value says. Returns what is wrong with it, to stand behind the name, or "".
std::string set(const std::string& name, const std::string& value, Settings& to) {
  const auto check = [&value](bool is_set, const std::string& allowed) {
    return is_set ? "" : ": '" + value + "' is not allowed; it is " + allowed;
  };
  const auto check_words = [&](std::vector<std::string>& words) {
    return check(set_words(value, words), "words with commas between");
  };
  const std::string types = "all, or one or more of float32, float64, complex64, complex128, or s, d, c, z";
  if (name == "MODE") return check(set_choice(value, {"fastest", "always"}, 0, to.always), "fastest or always");
  if (name == "MIN_SIZE") return check(set_count(value, to.min_size), "a number, 0 or more");
  if (name == "ACCURACY") {
    constexpr int first = OZFP4_ACCURACY_SCALED;
    return check(set_choice(value, {"scaled", "standard", "correct"}, first, to.accuracy), "standard, correct or scaled");
  }
  if (name == "DTYPES") return check(set_types(value, to.types), types);
  if (name == "ONLY") return check_words(to.only);
  if (name == "SPARE") return check_words(to.spare);
  if (name == "SUMMARY") return check(set_choice(value, {"0", "1"}, 0, to.summary), "0 or 1");
  if (name == "REPORT") return check(!(to.report = value).empty(), "a file");
  if (name == "VERIFY") return check(set_count(value, to.verify) && to.verify <= 1000000, "a number, at most 1000000");
  if (name == "ROOT") return check(set_count(value, to.root), "a number");
  return " is unknown; there are MODE, MIN_SIZE, ACCURACY, DTYPES, ONLY, SPARE, SUMMARY, REPORT and VERIFY";
}

Settings from_environment() {
  Settings found;
  for (char** each = environ; each && *each; ++each) {
    const std::string variable = *each;
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || variable.compare(0, prefix_length, prefix) != 0) continue;
    const std::string name = variable.substr(prefix_length, equals - prefix_length), value = variable.substr(equals + 1);
    const std::string wrong = set(name, value, found);
    if (wrong.empty()) continue;
    say(prefix + name + wrong);
    _exit(own_error);
  }
  return found;
}

}  // namespace

const Settings& settings() {
  static const Settings& found = *new Settings(from_environment());  // outlives whatever the process ends with
  return found;
}

}  // namespace ozfp4::exec
