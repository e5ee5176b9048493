// The compilers' atomic operations under one set of names; use them through atomic_ref.hpp.
#pragma once

#include "motiflux/platform.hpp"

#if !defined(__CUDACC_RTC__)
#include <atomic>
#elif !defined(__CUDACC_DEVICE_ATOMIC_BUILTINS__)
#error "motiflux needs NVRTC 12.8 or later: this one has no __nv_atomic_* built-ins"
#endif

namespace motiflux::device {

#if defined(__CUDACC_RTC__)

enum class Scope : int {
  kBlock = __NV_THREAD_SCOPE_BLOCK,
  kDevice = __NV_THREAD_SCOPE_DEVICE,
  kSystem = __NV_THREAD_SCOPE_SYSTEM,
};

enum class OrderName : int {
  kRelaxed = __NV_ATOMIC_RELAXED,
  kAcquire = __NV_ATOMIC_ACQUIRE,
  kRelease = __NV_ATOMIC_RELEASE,
  kAcqRel = __NV_ATOMIC_ACQ_REL,
  kSeqCst = __NV_ATOMIC_SEQ_CST,
};

#else

enum class Scope : int { kBlock, kDevice, kSystem };

enum class OrderName : int {
  kRelaxed = static_cast<int>(std::memory_order_relaxed),
  kAcquire = static_cast<int>(std::memory_order_acquire),
  kRelease = static_cast<int>(std::memory_order_release),
  kAcqRel = static_cast<int>(std::memory_order_acq_rel),
  kSeqCst = static_cast<int>(std::memory_order_seq_cst),
};

#endif

namespace builtin {

#if defined(__CUDACC_RTC__)

template <OrderName order, Scope scope, class T>
MOTIFLUX_DEVICE T load(T* object) {
  return __nv_atomic_load_n(object, static_cast<int>(order), static_cast<int>(scope));
}

template <OrderName order, Scope scope, class T>
MOTIFLUX_DEVICE void store(T* object, T value) {
  __nv_atomic_store_n(object, value, static_cast<int>(order), static_cast<int>(scope));
}

#if __CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ > 8

template <OrderName order, Scope scope, class T>
MOTIFLUX_DEVICE T exchange(T* object, T value) {
  return __nv_atomic_exchange_n(object, value, static_cast<int>(order), static_cast<int>(scope));
}

template <OrderName order, OrderName failure, Scope scope, class T>
MOTIFLUX_DEVICE bool compare_exchange(T* object, T* expected, T desired) {
  return __nv_atomic_compare_exchange_n(object, expected, desired, true, static_cast<int>(order),
                                        static_cast<int>(failure), static_cast<int>(scope));
}

#else  // NVRTC 12.8 does not know the size of T here; later versions need it.

template <OrderName order, Scope scope>
MOTIFLUX_DEVICE unsigned int exchange(unsigned int* object, unsigned int value) {
  return __nv_atomic_exchange_n(object, value, static_cast<int>(order), static_cast<int>(scope));
}

template <OrderName order, Scope scope>
MOTIFLUX_DEVICE unsigned long exchange(unsigned long* object, unsigned long value) {
  return __nv_atomic_exchange_n(object, value, static_cast<int>(order), static_cast<int>(scope));
}

template <OrderName order, OrderName failure, Scope scope>
MOTIFLUX_DEVICE bool compare_exchange(unsigned int* object, unsigned int* expected, unsigned int desired) {
  return __nv_atomic_compare_exchange_n(object, expected, desired, true, static_cast<int>(order),
                                        static_cast<int>(failure), static_cast<int>(scope));
}

template <OrderName order, OrderName failure, Scope scope>
MOTIFLUX_DEVICE bool compare_exchange(unsigned long* object, unsigned long* expected, unsigned long desired) {
  return __nv_atomic_compare_exchange_n(object, expected, desired, true, static_cast<int>(order),
                                        static_cast<int>(failure), static_cast<int>(scope));
}

#endif

template <OrderName order, Scope scope, class T>
MOTIFLUX_DEVICE T fetch_add(T* object, T value) {
  return __nv_atomic_fetch_add(object, value, static_cast<int>(order), static_cast<int>(scope));
}

template <OrderName order, Scope scope, class T>
MOTIFLUX_DEVICE T fetch_or(T* object, T value) {
  return __nv_atomic_fetch_or(object, value, static_cast<int>(order), static_cast<int>(scope));
}

template <OrderName order, Scope scope, class T>
MOTIFLUX_DEVICE T fetch_and(T* object, T value) {
  return __nv_atomic_fetch_and(object, value, static_cast<int>(order), static_cast<int>(scope));
}

template <OrderName order, Scope scope, class T>
MOTIFLUX_DEVICE T fetch_max(T* object, T value) {
  return __nv_atomic_fetch_max(object, value, static_cast<int>(order), static_cast<int>(scope));
}

#else

template <class T>
inline T then_yield(T result) noexcept {
#if defined(MOTIFLUX_SIMT)
  motiflux_simt_yield();
#endif
  return result;
}

template <OrderName order, Scope, class T>
inline T load(T* object) {
  return then_yield(std::atomic_ref<T>(*object).load(static_cast<std::memory_order>(order)));
}

template <OrderName order, Scope, class T>
inline void store(T* object, T value) {
  std::atomic_ref<T>(*object).store(value, static_cast<std::memory_order>(order));
}

template <OrderName order, Scope, class T>
inline T exchange(T* object, T value) {
  return then_yield(std::atomic_ref<T>(*object).exchange(value, static_cast<std::memory_order>(order)));
}

template <OrderName order, OrderName failure, Scope, class T>
inline bool compare_exchange(T* object, T* expected, T desired) {
  return then_yield(std::atomic_ref<T>(*object).compare_exchange_weak(
      *expected, desired, static_cast<std::memory_order>(order), static_cast<std::memory_order>(failure)));
}

template <OrderName order, Scope, class T>
inline T fetch_add(T* object, T value) {
  return then_yield(std::atomic_ref<T>(*object).fetch_add(value, static_cast<std::memory_order>(order)));
}

template <OrderName order, Scope, class T>
inline T fetch_or(T* object, T value) {
  return then_yield(std::atomic_ref<T>(*object).fetch_or(value, static_cast<std::memory_order>(order)));
}

template <OrderName order, Scope, class T>
inline T fetch_and(T* object, T value) {
  return then_yield(std::atomic_ref<T>(*object).fetch_and(value, static_cast<std::memory_order>(order)));
}

// C++20 has no maximum. The value is written even if it stays the same, as on a GPU: a read-modify-write
// operation continues the release sequence that it read.
template <OrderName order, Scope, class T>
inline T fetch_max(T* object, T value) {
  const std::atomic_ref<T> shared(*object);
  T old = shared.load(std::memory_order_relaxed);
  while (!shared.compare_exchange_weak(old, old < value ? value : old, static_cast<std::memory_order>(order),
                                       std::memory_order_relaxed)) {
  }
  return then_yield(old);
}

#endif

}  // namespace builtin

}  // namespace motiflux::device
