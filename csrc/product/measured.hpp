// Figures of this machine that `ozfp4 calibrate` keeps, for Python, C and `ozfp4 exec` alike: lines `device<TAB>name<TAB>figure`
// of the file `calibration` in the cache folder (cpu/runtime/environment.hpp). The last line of a device and a name counts; what
// is no such line is ignored.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace ozfp4 {

// The figure "never"; the others are whole numbers from 1 on, as a point is a comma in some locales.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Behind the name of a figure that says what something takes over its model. Raised with every change of such a model: what was
// measured over others says nothing about these.
inline constexpr const char* kModels = " 1";

// Nothing where none was measured. The first call reads the file.
std::optional<std::int64_t> measured(const std::string& device, const std::string& name);

// Whether there is a figure of any device.
bool has_measured();

// Reads the environment and the file again. Precondition: no other thread sets a variable of the environment meanwhile.
void read_measured();

// Counts the calls of read_measured.
int measured_generation();

// The path of the file; "" where there is no cache folder.
std::string measured_file();

// The CPU of this process in lines of thresholds.
std::string cpu_name();

}  // namespace ozfp4
