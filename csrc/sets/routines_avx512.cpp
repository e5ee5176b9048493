// Blocks of sixteen against blocks of sixteen, by the instruction that compares two such blocks. Without it,
// with fifteen rotations, they are slower than blocks of eight (docs/design/set-operations.md).
//
// The last block of a list may be short. Lanes beyond its end are not read; they are filled with its first
// element, which is found there only if it is found anyway; bits beyond the end are dropped.
//
// Each function is compiled for its instructions by attribute, so that templates that this file instantiates
// (and that the linker may take from here) do not need them.
#include "sets/routines.hpp"

#ifdef MOTIFLUX_X86_SIMD
#include <immintrin.h>

#define MOTIFLUX_AVX512 __attribute__((target("avx512f,avx512vp2intersect,bmi2,popcnt")))

namespace motiflux::sets {
namespace {

constexpr std::size_t kBlock = 16;
constexpr __mmask16 kAll = 0xFFFF;  // used where the plain intrinsics cause warnings of GCC 12

MOTIFLUX_AVX512 inline std::uint32_t lanes(std::size_t size) {
  return _bzhi_u32(0xFFFF, static_cast<std::uint32_t>(size));
}

// The rest of a list, its next block and the block's number of elements.
struct Reader {
  const std::uint32_t* at;
  const std::uint32_t* end;

  MOTIFLUX_AVX512 inline std::size_t size() const {
    const auto left = static_cast<std::size_t>(end - at);
    return left < kBlock ? left : kBlock;
  }
  MOTIFLUX_AVX512 inline bool whole() const { return static_cast<std::size_t>(end - at) >= kBlock; }
  MOTIFLUX_AVX512 inline __m512i block() const { return _mm512_loadu_si512(at); }
  // A possibly short, nonempty block.
  MOTIFLUX_AVX512 inline __m512i short_block() const {
    const __m512i fill = _mm512_set1_epi32(static_cast<int>(*at));
    return _mm512_mask_loadu_epi32(fill, static_cast<__mmask16>(lanes(size())), at);
  }
};

// The elements of `a` that are in `b`, as bits.
MOTIFLUX_AVX512 inline std::uint32_t common(__m512i a, __m512i b) {
  __mmask16 of_a, of_b;
  _mm512_2intersect_epi32(a, b, &of_a, &of_b);
  return of_a;
}

// Skips the blocks, of `size_a` and `size_b` elements, that have no further matches.
MOTIFLUX_AVX512 inline void advance(Reader& a, Reader& b, std::size_t size_a, std::size_t size_b) {
  const std::uint32_t most_a = a.at[size_a - 1], most_b = b.at[size_b - 1];
  a.at += most_a <= most_b ? size_a : 0;
  b.at += most_b <= most_a ? size_b : 0;
}

// Writes the elements of `block` in the mask `chosen` to `out`, and nothing beyond them; returns their
// number.
MOTIFLUX_AVX512 inline int compress(std::uint32_t* out, __m512i block, std::uint32_t chosen) {
  const int size = _mm_popcnt_u32(chosen);
  const __m512i first = _mm512_maskz_compress_epi32(static_cast<__mmask16>(chosen), block);
  _mm512_mask_storeu_epi32(out, static_cast<__mmask16>(lanes(static_cast<std::size_t>(size))), first);
  return size;
}

// The lanes of `valid` whose vertex is in `set`. No word is read for other lanes.
MOTIFLUX_AVX512 inline std::uint32_t marked(Bits set, __m512i vertices, std::uint32_t valid) {
  const __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), static_cast<__mmask16>(valid),
                                                    _mm512_maskz_srli_epi32(kAll, vertices, 5), set, 4);
  const __m512i bits =
      _mm512_maskz_sllv_epi32(kAll, _mm512_set1_epi32(1), _mm512_and_si512(vertices, _mm512_set1_epi32(31)));
  return _mm512_test_epi32_mask(words, bits);
}

// Where `out` is the start of a list, a block may be read again after some of it was overwritten: by elements
// less than the rest of the other list, and only in place of such elements.
template <bool Misses>
MOTIFLUX_AVX512 std::size_t write_blocks(Span list_a, Span list_b, std::uint32_t* out) {
  Reader a{list_a.first, list_a.last}, b{list_b.first, list_b.last};
  std::uint32_t* write = out;
  while (a.whole() && b.whole()) {
    const __m512i block = a.block();
    const std::uint32_t chosen = common(block, b.block());
    advance(a, b, kBlock, kBlock);
    if (!Misses || chosen != 0) write += compress(write, block, chosen);
  }
  while (a.at != a.end && b.at != b.end) {
    const __m512i block = a.short_block();
    const std::uint32_t chosen = common(block, b.short_block()) & lanes(a.size());
    advance(a, b, a.size(), b.size());
    write += compress(write, block, chosen);
  }
  return static_cast<std::size_t>(write - out);
}

}  // namespace

MOTIFLUX_AVX512 std::size_t count_avx512(Span list_a, Span list_b) {
  Reader a{list_a.first, list_a.last}, b{list_b.first, list_b.last};
  std::size_t found = 0;
  while (a.whole() && b.whole()) {
    found += static_cast<std::size_t>(_mm_popcnt_u32(common(a.block(), b.block())));
    advance(a, b, kBlock, kBlock);
  }
  while (a.at != a.end && b.at != b.end) {
    const std::uint32_t chosen = common(a.short_block(), b.short_block()) & lanes(a.size());
    found += static_cast<std::size_t>(_mm_popcnt_u32(chosen));
    advance(a, b, a.size(), b.size());
  }
  return found;
}

MOTIFLUX_AVX512 std::size_t write_avx512(Span a, Span b, std::uint32_t* out) {
  return mostly_misses(a.size(), b.size()) ? write_blocks<true>(a, b, out) : write_blocks<false>(a, b, out);
}

// The bits of sixteen vertices are gathered and tested at once.
MOTIFLUX_AVX512 std::size_t count_marked_avx512(Bits set, Span list) {
  if (list.size() < kBlock / 2) return count_marked_scalar(set, list);
  std::size_t found = 0;
  Reader left{list.first, list.last};
  for (; left.whole(); left.at += kBlock)
    found += static_cast<std::size_t>(_mm_popcnt_u32(marked(set, left.block(), 0xFFFF)));
  if (const std::uint32_t valid = lanes(left.size()))
    found += static_cast<std::size_t>(_mm_popcnt_u32(marked(set, left.short_block(), valid)));
  return found;
}

MOTIFLUX_AVX512 std::size_t write_marked_avx512(Bits set, Span list, std::uint32_t* out) {
  if (list.size() < kBlock / 2) return write_marked_scalar(set, list, out);
  std::uint32_t* write = out;
  Reader left{list.first, list.last};
  for (; left.whole(); left.at += kBlock) {
    const __m512i block = left.block();
    write += compress(write, block, marked(set, block, kAll));
  }
  if (const std::uint32_t valid = lanes(left.size())) {
    const __m512i block = left.short_block();
    write += compress(write, block, marked(set, block, valid));
  }
  return static_cast<std::size_t>(write - out);
}

}  // namespace motiflux::sets
#endif
