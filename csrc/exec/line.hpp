// What the library says on stderr, lines with its name before them, written at once: no signal comes of it.
#pragma once

#include <string>

namespace ozfp4::exec {

void write_on_stderr(const std::string& text);
// As a line.
void say(const std::string& text);
// Of a process, the first line alone.
void say_once(const std::string& text);

}  // namespace ozfp4::exec
