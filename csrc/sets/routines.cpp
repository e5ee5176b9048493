#include "sets/routines.hpp"

namespace motiflux::sets {
namespace {

// The thresholds are measured (docs/design/set-operations.md).
constexpr Routines kScalar = {
    count_scalar, write_scalar, count_marked_scalar, write_marked_scalar, count_chains_scalar, 16, 16, 0, 0};

#ifdef MOTIFLUX_X86_SIMD
// Gathering eight words is slower than loading them one by one.
constexpr Routines kAvx2 = {
    count_avx2, write_avx2, count_marked_scalar, write_marked_scalar, count_chains_avx2, 128, 16, 8, 0};
constexpr Routines kAvx512 = {
    count_avx512, write_avx512, count_marked_avx512, write_marked_avx512, count_chains_avx2, 256, 32, 4, 2};
#endif

}  // namespace

std::size_t count_scalar(Span a, Span b) {
  const std::uint32_t *i = a.first, *j = b.first;
  std::size_t common = 0;
  while (i != a.last && j != b.last) {
    const std::uint32_t x = *i, y = *j;
    common += x == y;
    i += x <= y;
    j += y <= x;
  }
  return common;
}

std::size_t write_scalar(Span a, Span b, std::uint32_t* out) {
  const std::uint32_t *i = a.first, *j = b.first;
  std::uint32_t* write = out;
  while (i != a.last && j != b.last) {
    const std::uint32_t x = *i, y = *j;
    if (x == y) *write++ = x;
    i += x <= y;
    j += y <= x;
  }
  return static_cast<std::size_t>(write - out);
}

std::size_t count_marked_scalar(Bits set, Span list) {
  std::size_t common = 0;
  for (std::uint32_t vertex : list) common += set[vertex / 32] >> (vertex % 32) & 1;
  return common;
}

std::size_t write_marked_scalar(Bits set, Span list, std::uint32_t* out) {
  std::size_t common = 0;
  for (std::uint32_t vertex : list) {
    out[common] = vertex;
    common += set[vertex / 32] >> (vertex % 32) & 1;
  }
  return common;
}

Chains count_chains_scalar(const BitRows& bits) {
  return count_chains_in(bits);
}

bool runs_here(Simd simd) {
#ifdef MOTIFLUX_X86_SIMD
  // They check the processor and, for wider registers, whether the system saves them.
  __builtin_cpu_init();
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  switch (simd) {
    case Simd::kScalar:
      return true;
    case Simd::kAvx2:
      return avx2;
    case Simd::kAvx512:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vp2intersect");
  }
#endif
  return simd == Simd::kScalar;
}

Simd best_here() {
  static const Simd best = [] {
    Simd found = Simd::kScalar;
    for (Simd simd : kAllSimd)
      if (runs_here(simd)) found = simd;
    return found;
  }();
  return best;
}

const Routines& routines_of([[maybe_unused]] Simd simd) {
#ifdef MOTIFLUX_X86_SIMD
  if (simd == Simd::kAvx2) return kAvx2;
  if (simd == Simd::kAvx512) return kAvx512;
#endif
  return kScalar;
}

}  // namespace motiflux::sets
