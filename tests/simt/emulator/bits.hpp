// Integer built-ins.
#pragma once

#include <bit>

inline int __popc(unsigned value) {
  return std::popcount(value);
}
inline int __popcll(unsigned long long value) {
  return std::popcount(value);
}
inline int __ffs(int value) {
  return __builtin_ffs(value);
}
inline int __ffsll(long long value) {
  return __builtin_ffsll(value);
}
inline int __clz(int value) {
  return std::countl_zero(static_cast<unsigned>(value));
}
inline int __clzll(long long value) {
  return std::countl_zero(static_cast<unsigned long long>(value));
}

inline unsigned __brev(unsigned value) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (value >> bit & 1U) << (31 - bit);
  return reversed;
}

inline unsigned long long __brevll(unsigned long long value) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(value))) << 32 |
         __brev(static_cast<unsigned>(value >> 32));
}

inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}

inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<Wide>(a) * b >> 64);
}

#define MOTIFLUX_SIMT_MINMAX(Value)    \
  inline Value min(Value a, Value b) { \
    return b < a ? b : a;              \
  }                                    \
  inline Value max(Value a, Value b) { \
    return a < b ? b : a;              \
  }
MOTIFLUX_SIMT_MINMAX(int)
MOTIFLUX_SIMT_MINMAX(unsigned)
MOTIFLUX_SIMT_MINMAX(long)
MOTIFLUX_SIMT_MINMAX(unsigned long)
MOTIFLUX_SIMT_MINMAX(long long)
MOTIFLUX_SIMT_MINMAX(unsigned long long)
MOTIFLUX_SIMT_MINMAX(float)
MOTIFLUX_SIMT_MINMAX(double)
#undef MOTIFLUX_SIMT_MINMAX
