// Binding of the dictionary of strings, for columns of strings that do not come from text files.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "bind_strings.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/parallel.hpp"
#include "common/watched.hpp"
#include "text/dictionary.hpp"

namespace nb = nanobind;

namespace motiflux {
namespace {

constexpr std::size_t kAtOnce = 1 << 12;  // strings between two checks for a stop
constexpr std::size_t kFew = 1 << 16;     // strings numbered too fast for Ctrl-C to matter

// String i is text[offsets[i], offsets[i + 1]).
void number(text::Dictionary& names, const InputArray<std::uint8_t>& text,
            const InputArray<std::int64_t>& offsets, text::Growing<std::uint32_t>& codes,
            const std::atomic<bool>& stop) {
  const std::int64_t* const at = offsets.data();
  const std::size_t count = offsets.size() - 1;
  const auto size = static_cast<std::int64_t>(text.size());
  const Workers workers{1, &stop};
  codes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % kAtOnce == 0) workers.check();
    if (at[i] < 0 || at[i] > at[i + 1] || at[i + 1] > size)
      throw nb::value_error("offsets that ascend within the text expected");
    const auto* const first = reinterpret_cast<const char*>(text.data()) + at[i];
    codes.push_back(names.code(std::string_view(first, static_cast<std::size_t>(at[i + 1] - at[i]))));
  }
}

struct Unwatched {
  text::Dictionary& names;
  ~Unwatched() { names.stop_on(nullptr); }
};

nb::object codes_of(text::Dictionary& names, const InputArray<std::uint8_t>& text,
                    const InputArray<std::int64_t>& offsets) {
  if (offsets.size() == 0) throw nb::value_error("offsets must not be empty");
  text::Growing<std::uint32_t> codes;
  std::atomic<bool> stop{false};
  if (offsets.size() <= kFew) {
    const FreeGil free_gil;
    number(names, text, offsets, codes, stop);
  } else {
    names.stop_on(&stop);
    const Unwatched at_end{names};
    run_watched([&] { number(names, text, offsets, codes, stop); }, [] { return true; },
                [&] { stop.store(true, std::memory_order_relaxed); });
  }
  return hand_over(std::move(codes));
}

nb::tuple finish(text::Dictionary& names) {
  text::Growing<std::uint32_t> places;
  text::Strings sorted;
  run_interruptible([&](const std::atomic<bool>& stop) { sorted = names.take_sorted(places, &stop); });
  return nb::make_tuple(hand_over(std::move(sorted)), hand_over(std::move(places)));
}

}  // namespace

void bind_names(nb::module_& module) {
  nb::class_<text::Dictionary>(module, "Names")
      .def(nb::init<>())
      .def("codes", &codes_of, nb::arg("text"), nb::arg("offsets"))
      .def("finish", &finish);
}

}  // namespace motiflux
