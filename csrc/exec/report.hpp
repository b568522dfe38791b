// The report at the end of the process.
#pragma once

#include <string>
#include <vector>

#include "exec/record.hpp"

namespace ozfp4::exec {

// For people: what was caught and left, in all, by routine, by reason, and by routine and shape, the longest first.
std::string summary_text(const std::vector<Row>& rows);
// One object of JSON in one line.
std::string report_line(const std::vector<Row>& rows);
// Adds the line to a file of such lines, at its end and at once. False where it cannot be written, or the file holds something
// else.
bool add_to_report(const std::string& file, const std::string& line);

}  // namespace ozfp4::exec
