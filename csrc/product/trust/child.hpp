// A test in another process: a kernel that hangs, or that traps, does not take the program with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "product/trust/verdict.hpp"

namespace ozfp4::product {

// Whether a kernel is to be tested there: as the environment says, else where this code has hardly run it.
bool goes_apart(bool is_proven);

// The verdict that a child finds, a copy of this process, which makes it and ends. One that takes longer than the environment
// allows is killed: that counts for this process alone, as a copy may wait for what another thread held. Nothing where no child
// can be made, or it has no verdict. Precondition: what is tested touches no GPU, and no lock that is not free in a child.
std::optional<Verdict> examine_in_copy(bool is_short, const std::function<Verdict()>& examined);

// The same by a program, which writes it to its standard output. One that does not end has failed for other processes, too.
std::optional<Verdict> examine_by_program(bool is_short, const std::vector<std::string>& command);

// For that program: all of the verdict to a file descriptor. Returns whether it was written.
bool write_verdict(int file, const Verdict& verdict);

}  // namespace ozfp4::product
