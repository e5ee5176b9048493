// Blocks of eight against blocks of eight: one is compared with the other and with its seven rotations.
//
// Each function is compiled for its instructions by attribute, so that templates that this file instantiates
// (and that the linker may take from here) do not need them.
#include "sets/routines.hpp"

#ifdef MOTIFLUX_X86_SIMD
#include <immintrin.h>

#define MOTIFLUX_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))

namespace motiflux::sets {
namespace {

constexpr std::size_t kBlock = 8;

MOTIFLUX_AVX2 inline __m256i load(const std::uint32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// The elements of `a` that are in `b`, as bits.
MOTIFLUX_AVX2 inline std::uint32_t common(__m256i a, __m256i b) {
  const __m256i c = _mm256_permute2x128_si256(b, b, 1);
  const __m256i b0 = _mm256_or_si256(_mm256_cmpeq_epi32(a, b), _mm256_cmpeq_epi32(a, c));
  const __m256i b1 = _mm256_or_si256(_mm256_cmpeq_epi32(a, _mm256_shuffle_epi32(b, 0x39)),
                                     _mm256_cmpeq_epi32(a, _mm256_shuffle_epi32(c, 0x39)));
  const __m256i b2 = _mm256_or_si256(_mm256_cmpeq_epi32(a, _mm256_shuffle_epi32(b, 0x4E)),
                                     _mm256_cmpeq_epi32(a, _mm256_shuffle_epi32(c, 0x4E)));
  const __m256i b3 = _mm256_or_si256(_mm256_cmpeq_epi32(a, _mm256_shuffle_epi32(b, 0x93)),
                                     _mm256_cmpeq_epi32(a, _mm256_shuffle_epi32(c, 0x93)));
  const __m256i any = _mm256_or_si256(_mm256_or_si256(b0, b1), _mm256_or_si256(b2, b3));
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(any)));
}

// Writes the elements of `block` in the mask `chosen` to `out`, and nothing beyond them; returns their
// number.
MOTIFLUX_AVX2 inline int compress(std::uint32_t* out, __m256i block, std::uint32_t chosen) {
  const int size = _mm_popcnt_u32(chosen);
  // Byte-wide positions 0..7; the positions of chosen elements are gathered at the low end.
  const std::uint64_t bytes = _pdep_u64(chosen, 0x0101010101010101) * 0xFF;
  const std::uint64_t positions = _pext_u64(0x0706050403020100, bytes);
  const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(positions)));
  const __m256i first =
      _mm256_cmpgt_epi32(_mm256_set1_epi32(size), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  _mm256_maskstore_epi32(reinterpret_cast<int*>(out), first, _mm256_permutevar8x32_epi32(block, order));
  return size;
}

// Where `out` is the start of a list, a block may be read again after some of it was overwritten: by elements
// less than the rest of the other list, and only in place of such elements.
template <bool Misses>
MOTIFLUX_AVX2 std::size_t write_blocks(Span a, Span b, std::uint32_t* out) {
  std::uint32_t* write = out;
  while (a.size() >= kBlock && b.size() >= kBlock) {
    const __m256i block = load(a.first);
    const std::uint32_t chosen = common(block, load(b.first));
    const std::uint32_t most_a = a.first[kBlock - 1], most_b = b.first[kBlock - 1];
    if (!Misses || chosen != 0) write += compress(write, block, chosen);
    a.first += most_a <= most_b ? kBlock : 0;
    b.first += most_b <= most_a ? kBlock : 0;
  }
  return static_cast<std::size_t>(write - out) + write_scalar(a, b, write);
}

}  // namespace

MOTIFLUX_AVX2 std::size_t count_avx2(Span a, Span b) {
  std::size_t found = 0;
  while (a.size() >= kBlock && b.size() >= kBlock) {
    found += static_cast<std::size_t>(_mm_popcnt_u32(common(load(a.first), load(b.first))));
    const std::uint32_t most_a = a.first[kBlock - 1], most_b = b.first[kBlock - 1];
    a.first += most_a <= most_b ? kBlock : 0;
    b.first += most_b <= most_a ? kBlock : 0;
  }
  return found + count_scalar(a, b);
}

MOTIFLUX_AVX2 std::size_t write_avx2(Span a, Span b, std::uint32_t* out) {
  return mostly_misses(a.size(), b.size()) ? write_blocks<true>(a, b, out) : write_blocks<false>(a, b, out);
}

MOTIFLUX_AVX2 Chains count_chains_avx2(const BitRows& bits) {
  return count_chains_in(bits);
}

}  // namespace motiflux::sets
#endif
