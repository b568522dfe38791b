// What the process tells when it ends.
#pragma once

#include <string>
#include <vector>

#include "interpose/process/record.hpp"

namespace ozfp4::interpose {

// For people: what was caught and left, by routine and shape, the longest first.
std::string summary_text(const std::vector<Row>& rows);
// One object of JSON in one line.
std::string summary_json(const std::vector<Row>& rows);
// Adds the object to those of other processes in {"version": 1, "processes": [...]}; the file is whole at any time that nobody
// holds its lock. False where it cannot be written, or holds something else.
bool add_to_report(const std::string& file, const std::string& object);

}  // namespace ozfp4::interpose
