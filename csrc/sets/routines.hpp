// Intersecting ascending lists of distinct vertices: one set of routines per set of instructions, chosen when
// the program runs.
//
// Every routine reads only the elements of its lists, and does not change `out` beyond the result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sets/bit_rows.hpp"
#include "sets/span.hpp"

namespace motiflux::sets {

// Elements of each list compared at once: 1, 8 or 16; 16 by AVX-512 with VP2INTERSECT.
enum class Simd : int { kScalar = 0, kAvx2 = 1, kAvx512 = 2 };

inline constexpr Simd kAllSimd[] = {Simd::kScalar, Simd::kAvx2, Simd::kAvx512};

inline constexpr std::size_t kLongList = 64;

// Bit v % 32 of word v / 32: whether v is in the set.
using Bits = const std::uint32_t*;

struct Routines {
  // Merges two lists for the size of their intersection.
  std::size_t (*count)(Span a, Span b);
  // Merges two lists into `out`, which has room for the shorter and may be the start of either; returns the
  // size of their intersection.
  std::size_t (*write)(Span a, Span b, std::uint32_t* out);
  // The number of elements of `list` in `set`.
  std::size_t (*count_marked)(Bits set, Span list);
  // Writes these elements to `out`, which has room for all of `list`; returns their number.
  std::size_t (*write_marked)(Bits set, Span list, std::uint32_t* out);
  Chains (*count_chains)(const BitRows& bits);
  // Lists whose lengths differ by more than this factor are galloped through; the second factor is for
  // shorter lists of fewer than `few` elements, which fill no block.
  std::size_t gallop_ratio;
  std::size_t gallop_ratio_of_few;
  std::size_t few;
  // A list of at least kLongList is intersected with a set of up to this many times its length by a merge,
  // even if the set is marked.
  std::size_t merge_ratio;
};

// Whether few blocks of lists of these lengths have common elements: then a branch on that pays.
constexpr bool mostly_misses(std::size_t a, std::size_t b) {
  return a / 8 > b || b / 8 > a;
}

// Whether the instructions were compiled and this processor and system have them.
bool runs_here(Simd simd);

// The fastest instructions that run here.
Simd best_here();

// Precondition: runs_here(simd).
const Routines& routines_of(Simd simd);

std::size_t count_scalar(Span a, Span b);
std::size_t write_scalar(Span a, Span b, std::uint32_t* out);
std::size_t count_marked_scalar(Bits set, Span list);
std::size_t write_marked_scalar(Bits set, Span list, std::uint32_t* out);

Chains count_chains_scalar(const BitRows& bits);

// Elsewhere, or with MOTIFLUX_NO_SIMD, there are only scalar routines.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(MOTIFLUX_NO_SIMD)
#define MOTIFLUX_X86_SIMD 1
std::size_t count_avx2(Span a, Span b);
std::size_t write_avx2(Span a, Span b, std::uint32_t* out);
Chains count_chains_avx2(const BitRows& bits);
std::size_t count_avx512(Span a, Span b);
std::size_t write_avx512(Span a, Span b, std::uint32_t* out);
std::size_t count_marked_avx512(Bits set, Span list);
std::size_t write_marked_avx512(Bits set, Span list, std::uint32_t* out);
#endif

}  // namespace motiflux::sets
