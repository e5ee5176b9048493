// NumPy arrays as arguments and results.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/column.hpp"
#include "common/large_pages.hpp"

namespace motiflux {

template <class T>
using InputArray = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class T>
std::span<const T> as_span(const InputArray<T>& array) {
  return {array.data(), array.size()};
}

// An array given as None is an empty span.
template <class T>
std::span<const T> as_span(const std::optional<InputArray<T>>& array) {
  return array ? as_span(*array) : std::span<const T>();
}

// Moves `values` into a NumPy array of the given shape, without a copy.
template <class T, class Values, class... Extent>
nanobind::object hand_over(Values&& values, Extent... shape) {
  auto* kept = new Values(std::move(values));
  nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<Values*>(p); });
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, T>(kept->data(), {static_cast<std::size_t>(shape)...}, owner));
}

template <class T, class Allocator, class... Extent>
nanobind::object to_numpy(std::vector<T, Allocator>&& values, Extent... shape) {
  return hand_over<T>(std::move(values), shape...);
}

template <class T, class... Extent>
nanobind::object to_numpy(Unwritten<T>&& values, Extent... shape) {
  return hand_over<T>(std::move(values), shape...);
}

template <class T>
nanobind::object to_numpy(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return to_numpy(std::move(values), size);
}

template <class T, class... Extent>
nanobind::object to_numpy(Column<T>&& values, Extent... shape) {
  return hand_over<T>(std::move(values), shape...);
}

template <class T>
nanobind::object to_numpy(Column<T>&& values) {
  const std::size_t size = values.size();
  return to_numpy(std::move(values), size);
}

// None when empty.
template <class T>
nanobind::object to_numpy_or_none(std::vector<T>&& values) {
  return values.empty() ? nanobind::none() : to_numpy(std::move(values));
}

}  // namespace motiflux
