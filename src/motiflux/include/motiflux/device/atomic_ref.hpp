// The one way in which threads that run at the same time communicate: lanes and groups of a block,
// blocks of a grid, a kernel and the host.
//
//   device_wide(*counter).fetch_add(1, Order::kRelaxed);
//   if (system_wide(*flag).load(Order::kAcquire) != 0) ...    // writes before the release are visible
//
// On a GPU these are NVRTC's built-ins, elsewhere std::atomic_ref; the names and guarantees are those of C++,
// plus a scope: the threads among which the operation is atomic and ordered. Two operations on one object
// need scopes that include both threads. Release and acquire pass on all writes that the releasing thread has
// made or acquired (they are cumulative, across scopes too). They do not order an earlier store before a
// later load of another object (store buffering): two threads that each set a flag and then read the other's
// flag may both read 0. No code here relies on that order; it would need kSeqCst throughout.
//
// Memory that the host maps for the GPU takes loads and stores from both sides. Read-modify-write operations
// are only for memory that one side changes: across PCI Express they are not atomic.
//
// In the emulator every operation that reads is a scheduling point, so that a spinning fiber lets others run.
#pragma once

#include "motiflux/device/builtin_atomics.hpp"

namespace motiflux::device {

// An order as a type: the built-ins take only constants, and an invalid order does not compile.
template <OrderName name>
struct OrderIs {};

struct Order {
  static constexpr OrderIs<OrderName::kRelaxed> kRelaxed{};
  static constexpr OrderIs<OrderName::kAcquire> kAcquire{};
  static constexpr OrderIs<OrderName::kRelease> kRelease{};
  static constexpr OrderIs<OrderName::kAcqRel> kAcqRel{};
  static constexpr OrderIs<OrderName::kSeqCst> kSeqCst{};
};

namespace builtin {

template <class T>
inline constexpr bool kIsWord = false;
template <>
inline constexpr bool kIsWord<std::uint32_t> = true;
template <>
inline constexpr bool kIsWord<std::uint64_t> = true;

// The order of a compare_exchange that fails: it only reads.
MOTIFLUX_HOST_DEVICE constexpr OrderName when_it_fails(OrderName order) {
  if (order == OrderName::kAcqRel) return OrderName::kAcquire;
  if (order == OrderName::kRelease) return OrderName::kRelaxed;
  return order;
}

}  // namespace builtin

// A word that other threads may change at the same time: every access that may be concurrent goes through an
// AtomicRef. T is std::uint32_t or std::uint64_t.
template <class T, Scope scope>
class atomic_ref {
  static_assert(builtin::kIsWord<T>, "words are std::uint32_t or std::uint64_t");

 public:
  MOTIFLUX_DEVICE explicit atomic_ref(T& object) : object_(&object) {}

  template <OrderName order>
  MOTIFLUX_DEVICE T load(OrderIs<order>) const {
    static_assert(order != OrderName::kRelease && order != OrderName::kAcqRel, "a load releases nothing");
    return builtin::load<order, scope>(object_);
  }

  template <OrderName order>
  MOTIFLUX_DEVICE void store(T value, OrderIs<order>) const {
    static_assert(order != OrderName::kAcquire && order != OrderName::kAcqRel, "a store acquires nothing");
    builtin::store<order, scope>(object_, value);
  }

  // The operations below return the old value.

  template <OrderName order>
  MOTIFLUX_DEVICE T exchange(T value, OrderIs<order>) const {
    return builtin::exchange<order, scope>(object_, value);
  }

  // Weak: may fail although the value is `expected`, so call it in a loop. On failure `expected` becomes the
  // value found, read with the acquiring half of `order`.
  template <OrderName order>
  MOTIFLUX_DEVICE bool compare_exchange(T& expected, T desired, OrderIs<order>) const {
    return builtin::compare_exchange<order, builtin::when_it_fails(order), scope>(object_, &expected,
                                                                                  desired);
  }

  // Modulo 2^32 or 2^64: subtract by adding T(0) - value.
  template <OrderName order>
  MOTIFLUX_DEVICE T fetch_add(T value, OrderIs<order>) const {
    return builtin::fetch_add<order, scope>(object_, value);
  }

  template <OrderName order>
  MOTIFLUX_DEVICE T fetch_or(T bits, OrderIs<order>) const {
    return builtin::fetch_or<order, scope>(object_, bits);
  }

  template <OrderName order>
  MOTIFLUX_DEVICE T fetch_and(T bits, OrderIs<order>) const {
    return builtin::fetch_and<order, scope>(object_, bits);
  }

  template <OrderName order>
  MOTIFLUX_DEVICE T fetch_max(T value, OrderIs<order>) const {
    return builtin::fetch_max<order, scope>(object_, value);
  }

 private:
  T* object_;
};

// Shared among the threads of a block; of a device; of the device, other devices and the host.
template <class T>
MOTIFLUX_DEVICE atomic_ref<T, Scope::kBlock> block_wide(T& object) {
  return atomic_ref<T, Scope::kBlock>(object);
}

template <class T>
MOTIFLUX_DEVICE atomic_ref<T, Scope::kDevice> device_wide(T& object) {
  return atomic_ref<T, Scope::kDevice>(object);
}

template <class T>
MOTIFLUX_DEVICE atomic_ref<T, Scope::kSystem> system_wide(T& object) {
  return atomic_ref<T, Scope::kSystem>(object);
}

}  // namespace motiflux::device
