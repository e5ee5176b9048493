// Atomics and fences, with CUDA's overloads and order: relaxed. Each is a scheduling point.
#pragma once

#include <atomic>

#include "interface.hpp"

namespace motiflux_simt {

template <class Value, class Step>
Value exchange_by(Value* address, Step step) {
  motiflux_simt_yield();
  const std::atomic_ref<Value> place(*address);
  Value old = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(old, step(old), std::memory_order_relaxed)) {
  }
  return old;
}

}  // namespace motiflux_simt

#define MOTIFLUX_SIMT_ATOMIC(name, Value, next)                                               \
  inline Value name(Value* address, Value value) {                                            \
    return motiflux_simt::exchange_by(address, [value](Value old) -> Value { return next; }); \
  }
#define MOTIFLUX_SIMT_ATOMICS(Value)                                \
  MOTIFLUX_SIMT_ATOMIC(atomicMax, Value, old < value ? value : old) \
  MOTIFLUX_SIMT_ATOMIC(atomicMin, Value, value < old ? value : old) \
  MOTIFLUX_SIMT_ATOMIC(atomicOr, Value, old | value)                \
  MOTIFLUX_SIMT_ATOMIC(atomicAnd, Value, old& value)                \
  MOTIFLUX_SIMT_ATOMIC(atomicXor, Value, old ^ value)
// Wraps around like the GPU, where signed overflow of an atomic is defined.
#define MOTIFLUX_SIMT_ATOMIC_WORD(Value, Unsigned)                                                    \
  MOTIFLUX_SIMT_ATOMIC(atomicAdd, Value,                                                              \
                       static_cast<Value>(static_cast<Unsigned>(old) + static_cast<Unsigned>(value))) \
  MOTIFLUX_SIMT_ATOMIC(atomicExch, Value, (static_cast<void>(old), value))                            \
  inline Value atomicCAS(Value* address, Value expected, Value value) {                               \
    motiflux_simt_yield();                                                                            \
    const std::atomic_ref<Value> place(*address);                                                     \
    place.compare_exchange_strong(expected, value, std::memory_order_relaxed);                        \
    return expected;                                                                                  \
  }

MOTIFLUX_SIMT_ATOMICS(int)
MOTIFLUX_SIMT_ATOMICS(unsigned)
MOTIFLUX_SIMT_ATOMICS(long long)
MOTIFLUX_SIMT_ATOMICS(unsigned long long)
MOTIFLUX_SIMT_ATOMIC_WORD(int, unsigned)
MOTIFLUX_SIMT_ATOMIC_WORD(unsigned, unsigned)
MOTIFLUX_SIMT_ATOMIC_WORD(unsigned long long, unsigned long long)
MOTIFLUX_SIMT_ATOMIC(atomicSub, unsigned, old - value)
MOTIFLUX_SIMT_ATOMIC(atomicSub, int,
                     static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
MOTIFLUX_SIMT_ATOMIC(atomicAdd, float, old + value)
MOTIFLUX_SIMT_ATOMIC(atomicAdd, double, old + value)
MOTIFLUX_SIMT_ATOMIC(atomicExch, float, (static_cast<void>(old), value))
#undef MOTIFLUX_SIMT_ATOMIC
#undef MOTIFLUX_SIMT_ATOMICS
#undef MOTIFLUX_SIMT_ATOMIC_WORD

inline void __threadfence_block() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __threadfence() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void __threadfence_system() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
