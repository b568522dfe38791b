// Small matrices transposed in registers, where the CPU has AVX-512.
#pragma once

#include <cstdint>

namespace ozfp4 {

// Whether this CPU and its system have it.
bool can_transpose();

// Word j of line i, the lines `pitch` bytes apart, becomes word i of line j, lines of 64 bytes one behind the other: 16 x 16
// words of 32 bits. Range: can_transpose().
void transpose_words(const void* from, std::int64_t pitch, void* to);

// Of 16 columns of `count` FP64 numbers, those of a row side by side and rows `step` bytes apart, number k of column i becomes
// to[i * pitch + k]. Range: can_transpose().
void transpose_columns(const char* from, std::int64_t step, std::int64_t count, double* to, std::int64_t pitch);

}  // namespace ozfp4
