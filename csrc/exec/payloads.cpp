#include <cstdint>
#include <cstring>
#include <vector>

#include "cpu/runtime/threads.hpp"
#include "exec/serve_cpu.hpp"

namespace ozfp4::exec {
namespace {

constexpr std::int64_t least_work = 1 << 16;  // entries that a thread looks at, at least

// Bits of real numbers, and how many each entry has.
template <class Word_, int parts_>
struct Bits {
  using Word = Word_;
  static constexpr int parts = parts_;
  static constexpr Word infinity = sizeof(Word) == 4 ? Word(0x7f800000) : Word(0x7ff0000000000000);
  static constexpr Word quiet = sizeof(Word) == 4 ? Word(0x00400000) : Word(0x0008000000000000);

  static bool is_nan(Word word) { return (word & ~(Word(1) << (8 * sizeof(Word) - 1))) > infinity; }

  // The first NaN of an entry's parts, as arithmetic leaves it; 0 where there is none.
  static Word nan_of(const char* entry) {
    Word words[parts];
    std::memcpy(words, entry, sizeof words);
    for (const Word word : words) {
      if (is_nan(word)) return word | quiet;
    }
    return 0;
  }
};

template <class Word>
struct First {
  std::int64_t k;
  Word nan;
};

// Of each line of an operand, `line_step` and `k_step` bytes apart, the first NaN along k; k is `inner` where there is none.
template <class Entry>
std::vector<First<typename Entry::Word>> firsts_of(const void* matrix, std::int64_t lines, std::int64_t inner,
                                                   std::ptrdiff_t line_step, std::ptrdiff_t k_step) {
  std::vector<First<typename Entry::Word>> found(static_cast<std::size_t>(lines), {inner, 0});
  parallel_for(lines, least_work / (inner + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    const auto look = [&](std::int64_t line, std::int64_t k) {
      auto& first = found[static_cast<std::size_t>(line)];
      if (first.k < inner) return;
      const auto nan = Entry::nan_of(static_cast<const char*>(matrix) + line * line_step + k * k_step);
      if (nan != 0) first = {k, nan};
    };
    if (k_step < line_step) {  // as the entries lie in memory
      for (std::int64_t line = begin; line < end; ++line) {
        for (std::int64_t k = 0; k < inner; ++k) look(line, k);
      }
    } else {
      for (std::int64_t k = 0; k < inner; ++k) {
        for (std::int64_t line = begin; line < end; ++line) look(line, k);
      }
    }
  });
  return found;
}

template <class Entry>
void keep(const Product& p) {
  using Word = typename Entry::Word;
  const auto along = [&p](std::int64_t leading, bool is_row) {
    return is_row ? place_of(p, leading, 1, 0) : place_of(p, leading, 0, 1);
  };
  const bool a_plain = p.transpose_a == no_transpose, b_plain = p.transpose_b == no_transpose;
  const auto rows = firsts_of<Entry>(p.a, p.m, p.k, along(p.lda, a_plain), along(p.lda, !a_plain));
  const auto columns = firsts_of<Entry>(p.b, p.n, p.k, along(p.ldb, !b_plain), along(p.ldb, b_plain));
  parallel_for(p.n, least_work / (p.m + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      const First<Word>& column = columns[static_cast<std::size_t>(j)];
      for (std::int64_t i = 0; i < p.m; ++i) {
        const First<Word>& row = rows[static_cast<std::size_t>(i)];
        const First<Word>& first = row.k <= column.k ? row : column;
        if (first.k == p.k) continue;
        Word words[Entry::parts];
        for (Word& word : words) word = first.nan;
        std::memcpy(static_cast<char*>(p.c) + place_of(p, p.ldc, i, j), words, sizeof words);
      }
    }
  });
}

template <class Function>
void by_type(Type type, const Function& function) {
  switch (type) {
    case Type::float32: return function(Bits<std::uint32_t, 1>{});
    case Type::float64: return function(Bits<std::uint64_t, 1>{});
    case Type::complex64: return function(Bits<std::uint32_t, 2>{});
    default: return function(Bits<std::uint64_t, 2>{});
  }
}

}  // namespace

void keep_payloads(const Product& product) {
  by_type(product.type, [&](auto entry) { keep<decltype(entry)>(product); });
}

void keep_payloads_of_line(const Product& product, const void* before, void* line, std::int64_t entries) {
  by_type(product.type, [&](auto entry) {
    using Entry = decltype(entry);
    using Word = typename Entry::Word;
    constexpr std::int64_t bytes = sizeof(Word) * Entry::parts;
    for (std::int64_t i = 0; i < entries; ++i) {
      const Word nan = Entry::nan_of(static_cast<const char*>(before) + i * bytes);
      if (nan == 0) continue;
      char* to = static_cast<char*>(line) + i * bytes;
      Word words[Entry::parts];
      std::memcpy(words, to, sizeof words);
      for (Word& word : words) {
        if (Entry::is_nan(word)) word = nan;
      }
      std::memcpy(to, words, sizeof words);
    }
  });
}

}  // namespace ozfp4::exec
