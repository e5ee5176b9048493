// Collectives of a warp. Overloads are CUDA's, so that a small type is promoted alike.
#pragma once

#include <cstring>

#include "interface.hpp"

namespace motiflux_simt {

template <class Value>
std::uint64_t to_bits(Value value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class Value>
Value from_bits(std::uint64_t bits) {
  Value value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class Value>
Value shuffle(Kind kind, unsigned mask, Value value, unsigned operand, int width) {
  return from_bits<Value>(collective({kind, sizeof value, mask, to_bits(value), operand, width}));
}

template <class Value>
Value combine(Kind kind, unsigned mask, Value value) {
  return from_bits<Value>(collective({kind, sizeof value, mask, to_bits(value)}));
}

inline unsigned vote(Kind kind, unsigned mask, int predicate) {
  return static_cast<unsigned>(collective({kind, sizeof predicate, mask, predicate != 0}));
}

}  // namespace motiflux_simt

inline void __syncwarp(unsigned mask = 0xffffffffU) {
  motiflux_simt::collective({motiflux_simt::Kind::syncwarp, 0, mask});
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return motiflux_simt::vote(motiflux_simt::Kind::ballot, mask, predicate);
}

inline int __any_sync(unsigned mask, int predicate) {
  return static_cast<int>(motiflux_simt::vote(motiflux_simt::Kind::any, mask, predicate));
}

inline int __all_sync(unsigned mask, int predicate) {
  return static_cast<int>(motiflux_simt::vote(motiflux_simt::Kind::all, mask, predicate));
}

// CUDA promises no more than that the calling lane is in it; code that needs more is wrong.
inline unsigned __activemask() {
  return 1U << (motiflux_simt::here->thread % 32);
}

#define MOTIFLUX_SIMT_EXCHANGE(Value)                                                         \
  inline Value __shfl_sync(unsigned mask, Value value, int lane, int width = 32) {            \
    return motiflux_simt::shuffle(motiflux_simt::Kind::shfl, mask, value, lane, width);       \
  }                                                                                           \
  inline Value __shfl_up_sync(unsigned mask, Value value, unsigned delta, int width = 32) {   \
    return motiflux_simt::shuffle(motiflux_simt::Kind::shfl_up, mask, value, delta, width);   \
  }                                                                                           \
  inline Value __shfl_down_sync(unsigned mask, Value value, unsigned delta, int width = 32) { \
    return motiflux_simt::shuffle(motiflux_simt::Kind::shfl_down, mask, value, delta, width); \
  }                                                                                           \
  inline Value __shfl_xor_sync(unsigned mask, Value value, int lanes, int width = 32) {       \
    return motiflux_simt::shuffle(motiflux_simt::Kind::shfl_xor, mask, value, lanes, width);  \
  }                                                                                           \
  inline unsigned __match_any_sync(unsigned mask, Value value) {                              \
    const motiflux_simt::Call call{motiflux_simt::Kind::match_any, sizeof value, mask,        \
                                   motiflux_simt::to_bits(value)};                            \
    return static_cast<unsigned>(motiflux_simt::collective(call));                            \
  }

MOTIFLUX_SIMT_EXCHANGE(int)
MOTIFLUX_SIMT_EXCHANGE(unsigned)
MOTIFLUX_SIMT_EXCHANGE(long)
MOTIFLUX_SIMT_EXCHANGE(unsigned long)
MOTIFLUX_SIMT_EXCHANGE(long long)
MOTIFLUX_SIMT_EXCHANGE(unsigned long long)
MOTIFLUX_SIMT_EXCHANGE(float)
MOTIFLUX_SIMT_EXCHANGE(double)
#undef MOTIFLUX_SIMT_EXCHANGE

inline int __reduce_add_sync(unsigned mask, int value) {
  return motiflux_simt::combine(motiflux_simt::Kind::reduce_add, mask, value);
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return motiflux_simt::combine(motiflux_simt::Kind::reduce_add, mask, value);
}
inline int __reduce_min_sync(unsigned mask, int value) {
  return motiflux_simt::combine(motiflux_simt::Kind::reduce_min_signed, mask, value);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
  return motiflux_simt::combine(motiflux_simt::Kind::reduce_min_unsigned, mask, value);
}
inline int __reduce_max_sync(unsigned mask, int value) {
  return motiflux_simt::combine(motiflux_simt::Kind::reduce_max_signed, mask, value);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  return motiflux_simt::combine(motiflux_simt::Kind::reduce_max_unsigned, mask, value);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return motiflux_simt::combine(motiflux_simt::Kind::reduce_and, mask, value);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return motiflux_simt::combine(motiflux_simt::Kind::reduce_or, mask, value);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  return motiflux_simt::combine(motiflux_simt::Kind::reduce_xor, mask, value);
}
