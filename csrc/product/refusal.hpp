// Why a product is refused. Each face makes its own error of it: a status in C, an exception in Python.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace ozfp4::product {

enum class Fault : std::uint8_t { argument, unsupported, out_of_memory, workspace, overflow, no_device, device_error, internal };

// `text` begins with the name of the argument at fault. `is_option`: that name is a member of Options.
class Refusal : public std::exception {
 public:
  Refusal(Fault fault, std::string text, bool is_option) : text_(std::move(text)), fault_(fault), is_option_(is_option) {}
  Fault fault() const { return fault_; }
  bool is_option() const { return is_option_; }
  // Whether it is of the argument of this name.
  bool is_of(const std::string& name) const { return text_.compare(0, name.size() + 1, name + ":") == 0; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
  Fault fault_;
  bool is_option_;
};

[[noreturn]] inline void refuse(Fault fault, const std::string& text) { throw Refusal(fault, text, false); }
[[noreturn]] inline void refuse(const std::string& text) { refuse(Fault::argument, text); }

[[noreturn]] inline void refuse_option(Fault fault, const char* name, const std::string& text) {
  throw Refusal(fault, std::string(name) + ": " + text, true);
}
[[noreturn]] inline void refuse_option(const char* name, const std::string& text) { refuse_option(Fault::argument, name, text); }

// "bits: 40 " before the rest of a text.
[[noreturn]] inline void refuse_value(const char* name, const std::string& value, const std::string& rest) {
  refuse_option(name, value + " " + rest);
}

}  // namespace ozfp4::product
