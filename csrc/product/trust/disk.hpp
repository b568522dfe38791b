// Verdicts of other processes of this machine: small files in Environment::cache_folder, one for each key, so that processes
// never rewrite each other's; each is written beside its place and moved there at once. Nothing here throws but std::bad_alloc: a
// folder that cannot be read or written, or a damaged file, means that nothing is remembered.
#pragma once

#include <optional>

#include "product/trust/verdict.hpp"

namespace ozfp4::product {

// What store_verdict wrote under this key; nothing where there is none that is whole.
std::optional<Verdict> load_verdict(const Facts& key);

void store_verdict(const Facts& key, const Verdict& verdict);

}  // namespace ozfp4::product
