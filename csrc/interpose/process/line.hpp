// What the library says on stderr: a line with its name before it, written at once.
#pragma once

#include <string>

namespace ozfp4::interpose {

void say(const std::string& text);
// Of a process, the first line alone.
void say_once(const std::string& text);

}  // namespace ozfp4::interpose
