// A group of one lane, for which a thread of the system stands.
#pragma once

#include <cstdint>

struct OneLane {
  static constexpr std::uint32_t kLanes = 1;
  static std::uint32_t lane() { return 0; }
  static bool leads() { return true; }
  static std::uint32_t ballot(bool condition) { return condition ? 1 : 0; }
  template <class T>
  static T broadcast(T value, std::uint32_t = 0) {
    return value;
  }
  static std::uint64_t sum(std::uint64_t value) { return value; }
  static std::uint32_t sums_before(std::uint32_t) { return 0; }
  static void sync() {}
};
