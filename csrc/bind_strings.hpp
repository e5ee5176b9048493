// Strings of the text parsers, given to Python without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdlib>
#include <utility>

#include "text/dictionary.hpp"
#include "text/growing.hpp"

namespace motiflux {

template <class T>
nanobind::object hand_over(text::Growing<T>&& values) {
  const std::size_t size = values.size();
  T* const kept = values.release();
  nanobind::capsule owner(kept, [](void* p) noexcept { std::free(p); });
  return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(kept, {size}, owner));
}

// None when empty.
template <class T>
nanobind::object hand_over_or_none(text::Growing<T>&& values) {
  return values.empty() ? nanobind::none() : hand_over(std::move(values));
}

// (text, offsets)
inline nanobind::object hand_over(text::Strings&& strings) {
  if (strings.offsets.empty()) strings.offsets.push_back(0);
  return nanobind::make_tuple(hand_over(std::move(strings.text)), hand_over(std::move(strings.offsets)));
}

}  // namespace motiflux
