#include "exec/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>

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
  return set_words(value, words) && std::all_of(words.begin(), words.end(), [&to](const std::string& word) {
           int type = 0;
           const auto is_named = [&](Type of) { return word == name_of(of) || word == std::string(1, letter_of(of)); };
           while (type < type_count && !is_named(static_cast<Type>(type))) ++type;
           return type < type_count && (to[static_cast<std::size_t>(type)] = true);
         });
}

struct Setting {
  const char *name, *allowed;
};
constexpr Setting known[] = {
    {"MODE", "it is fastest or always"},
    {"MIN_SIZE", "it is a number, 0 or more"},
    {"ACCURACY", "it is standard, correct or scaled"},
    {"DTYPES", "it is all, or one or more of float32, float64, complex64, complex128, or s, d, c, z"},
    {"ONLY", "it is words with commas between"},
    {"SPARE", "it is words with commas between"},
    {"SUMMARY", "it is 0 or 1"},
    {"REPORT", "it is a file"},
    {"VERIFY", "it is a number, at most 1000000"},
    {"ROOT", "it is a number"},
};

bool set(const std::string& name, const std::string& value, Settings& to) {
  if (name == "MODE") return set_choice(value, {"fastest", "always"}, 0, to.always);
  if (name == "MIN_SIZE") return set_count(value, to.min_size);
  if (name == "ACCURACY") return set_choice(value, {"scaled", "standard", "correct"}, OZFP4_ACCURACY_SCALED, to.accuracy);
  if (name == "DTYPES") return set_types(value, to.types);
  if (name == "ONLY") return set_words(value, to.only);
  if (name == "SPARE") return set_words(value, to.spare);
  if (name == "SUMMARY") return set_choice(value, {"0", "1"}, 0, to.summary);
  if (name == "REPORT") return !(to.report = value).empty();
  if (name == "VERIFY") return set_count(value, to.verify) && to.verify <= 1000000;
  return set_count(value, to.root);
}

[[noreturn]] void refuse(const std::string& text) {
  say(prefix + text);
  _exit(own_error);
}

Settings from_environment() {
  Settings found;
  for (char** each = environ; each && *each; ++each) {
    const std::string variable = *each;
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || variable.compare(0, prefix_length, prefix) != 0) continue;
    const std::string name = variable.substr(prefix_length, equals - prefix_length), value = variable.substr(equals + 1);
    const auto setting = std::find_if(std::begin(known), std::end(known), [&](const Setting& of) { return of.name == name; });
    if (setting == std::end(known)) {
      refuse(name + " is unknown; there are MODE, MIN_SIZE, ACCURACY, DTYPES, ONLY, SPARE, SUMMARY, REPORT and VERIFY");
    }
    if (!set(name, value, found)) refuse(name + ": '" + value + "' is not allowed; " + setting->allowed);
  }
  return found;
}

}  // namespace

const Settings& settings() {
  static const Settings& found = *new Settings(from_environment());  // outlives whatever the process ends with
  return found;
}

}  // namespace ozfp4::exec
