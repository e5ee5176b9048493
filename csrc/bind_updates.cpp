// Bindings of the parser of streams of updates. The GIL is free while bytes are parsed; a parser belongs to
// one thread at a time.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind_strings.hpp"
#include "bindings.hpp"
#include "common/free_gil.hpp"
#include "text/updates.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace motiflux {
namespace {

text::UpdateParser::Options options_of(const text::Layout* layout, const std::vector<int>& fields,
                                       const std::vector<std::string>& names, std::size_t width,
                                       const std::string& width_reason, bool skips, std::int64_t line,
                                       std::int64_t offset, const std::vector<int>& forms) {
  text::UpdateParser::Options options;
  if (fields.size() != text::UpdateColumns::kParts || names.size() != text::UpdateColumns::kParts)
    throw nb::value_error("a field and a name for each part of an update expected");
  if (forms.size() != options.forms.size()) throw nb::value_error("three forms expected");
  if (layout != nullptr) options.layout = *layout;
  std::copy(fields.begin(), fields.end(), options.columns.field.begin());
  std::copy(names.begin(), names.end(), options.columns.name.begin());
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i] < 0 || forms[i] > 2) throw nb::value_error("unknown form");
    options.forms[i] = static_cast<text::Form>(forms[i]);
  }
  options.width = width;
  options.width_reason = width_reason;
  options.skips = skips;
  options.line = line;
  options.offset = offset;
  return options;
}

void feed(text::UpdateParser& parser, nb::bytes chunk) {
  const std::string_view bytes(chunk.c_str(), chunk.size());
  const FreeGil free_gil;
  parser.feed(bytes);
}

bool fill(text::UpdateParser& parser, std::size_t most) {
  const FreeGil free_gil;
  return parser.fill(most);
}

nb::bytes bytes_of(std::string_view text) {
  return nb::bytes(text.data(), text.size());
}

// The strings that the values are codes of; None if they are integers.
nb::object names_of(text::UpdateParser& parser, std::size_t which) {
  if (parser.form(which) != text::Form::kNames) return nb::none();
  return hand_over(parser.take_names(which));
}

nb::tuple take(text::UpdateParser& parser) {
  text::UpdateBatch batch = parser.take();
  nb::list skipped;
  for (const auto& [line, message] : batch.skipped) skipped.append(nb::make_tuple(line, message));
  const nb::object error =
      batch.error ? nb::object(nb::make_tuple(batch.error->line, batch.error->what())) : nb::none();
  const nb::object times = batch.fraction.empty() ? hand_over_or_none(std::move(batch.time))
                                                  : hand_over(std::move(batch.fraction));
  const nb::object vertices =
      batch.vertex.empty()
          ? nb::none()
          : nb::object(nb::make_tuple(
                hand_over(std::move(batch.vertex)), hand_over(std::move(batch.vertex_label)),
                hand_over(std::move(batch.vertex_before)), hand_over(std::move(batch.vertex_line))));
  return nb::make_tuple(hand_over(std::move(batch.inserts)), hand_over(std::move(batch.source)),
                        hand_over(std::move(batch.target)), hand_over_or_none(std::move(batch.label)), times,
                        hand_over(std::move(batch.line)), vertices,
                        nb::make_tuple(names_of(parser, 0), names_of(parser, 1), names_of(parser, 2)),
                        skipped, batch.skips, error, nb::bytes(batch.raw.data(), batch.raw.size()));
}

}  // namespace

void bind_updates(nb::module_& m) {
  nb::class_<text::UpdateParser>(m, "UpdateParser")
      .def(
          "__init__",
          [](text::UpdateParser* parser, const text::Layout* layout, const std::vector<int>& fields,
             const std::vector<std::string>& names, std::size_t width, const std::string& width_reason,
             bool skips, std::int64_t line, std::int64_t offset, const std::vector<int>& forms) {
            new (parser) text::UpdateParser(
                options_of(layout, fields, names, width, width_reason, skips, line, offset, forms));
          },
          "layout"_a.none(), "fields"_a, "names"_a, "width"_a, "width_reason"_a, "skips"_a, "line"_a,
          "offset"_a, "forms"_a)
      .def("feed", &feed, "chunk"_a)
      .def("end", &text::UpdateParser::end)
      .def("fill", &fill, "most"_a)
      .def("take", &take)
      .def_prop_ro("raw", [](const text::UpdateParser& parser) { return bytes_of(parser.raw()); })
      .def_prop_ro("rest", [](const text::UpdateParser& parser) { return bytes_of(parser.rest()); })
      .def_prop_ro("filled", [](const text::UpdateParser& parser) { return parser.filled().size(); })
      .def_prop_ro("has_any", [](const text::UpdateParser& parser) { return !parser.filled().empty(); })
      .def_prop_ro("has_dates", &text::UpdateParser::has_dates)
      .def_prop_ro("line", &text::UpdateParser::line)
      .def_prop_ro("offset", &text::UpdateParser::offset);
}

}  // namespace motiflux
