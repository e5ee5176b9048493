#include "sample/draws.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace motiflux::sample {
namespace {

void draw_each(std::uint32_t level, ReadyKey (&keys)[kGroup]) {
  for (ReadyKey& ready : keys) ready.first = draw(ready.key, Purpose::kChoice, level);
}

#if defined(__x86_64__)

constexpr int kWide = 8;  // samples per register

// The high and low halves of the products of eight numbers with one number.
__attribute__((target("avx2"))) inline void multiply(__m256i numbers, __m256i by, __m256i& high,
                                                     __m256i& low) {
  const __m256i even = _mm256_mul_epu32(numbers, by);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(numbers, 32), by);
  high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
  low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}

__attribute__((target("avx2"))) inline __m256i all(std::uint32_t number) {
  return _mm256_set1_epi32(static_cast<int>(number));
}

// random::philox for eight samples at a time, whose ids differ only in their last bits.
__attribute__((target("avx2"))) void draw_wide(std::uint64_t seed, std::uint64_t first, std::uint32_t level,
                                               ReadyKey (&keys)[kGroup]) {
  const auto low_id = static_cast<std::uint32_t>(first), high_id = static_cast<std::uint32_t>(first >> 32);
  const __m256i step = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (std::uint32_t lane = 0; lane < kGroup; lane += kWide) {
    __m256i word[4] = {_mm256_add_epi32(all(low_id + lane), step), all(high_id),
                       all(static_cast<std::uint32_t>(Purpose::kChoice) + level), _mm256_setzero_si256()};
    auto key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      __m256i high0, low0, high1, low1;
      multiply(word[0], all(0xD2511F53u), high0, low0);
      multiply(word[2], all(0xCD9E8D57u), high1, low1);
      word[0] = _mm256_xor_si256(_mm256_xor_si256(high1, word[1]), all(key0));
      word[1] = low1;
      word[2] = _mm256_xor_si256(_mm256_xor_si256(high0, word[3]), all(key1));
      word[3] = low0;
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    alignas(32) std::uint32_t out[4][kWide];
    for (int w = 0; w < 4; ++w) _mm256_store_si256(reinterpret_cast<__m256i*>(out[w]), word[w]);
    for (std::uint32_t i = 0; i < kWide; ++i)
      keys[lane + i].first = {{out[0][i], out[1][i], out[2][i], out[3][i]}};
  }
}

const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;

#endif

}  // namespace

void make_ready(std::uint64_t seed, std::uint64_t first, std::uint32_t level, ReadyKey (&keys)[kGroup]) {
  for (std::uint32_t lane = 0; lane < kGroup; ++lane) keys[lane].key = {seed, first + lane};
#if defined(__x86_64__)
  if (kHasAvx2) return draw_wide(seed, first, level, keys);
#endif
  draw_each(level, keys);
}

}  // namespace motiflux::sample
