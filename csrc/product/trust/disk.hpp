// Verdicts of other processes of this machine: small files in Environment::cache_folder, one for each key, so that processes
// never rewrite each other's; each is written beside its place and moved there at once. Nothing here throws but std::bad_alloc: a
// folder that cannot be read or written, or a damaged file, means that nothing is remembered.
#pragma once

#include <optional>
#include <string>

#include "product/trust/verdict.hpp"

namespace ozfp4::product {

// The verdict that store_verdict wrote under this key; nothing where none is whole.
std::optional<Verdict> load_verdict(const Facts& key);

void store_verdict(const Facts& key, const Verdict& verdict);

// All of a verdict in lines of "name: value", as files hold it behind their keys, and the verdict of such a text; nothing of
// another.
std::string text_of(const Verdict& verdict);
std::optional<Verdict> verdict_of_text(const std::string& text);

}  // namespace ozfp4::product
