// Bindings of the text parsers and of format_csv. The GIL is free while bytes are parsed or formatted; a
// parser belongs to one thread at a time.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bind_strings.hpp"
#include "bindings.hpp"
#include "common/free_gil.hpp"
#include "text/csv.hpp"
#include "text/graph_file.hpp"
#include "text/parse.hpp"

namespace nb = nanobind;

namespace motiflux {
namespace {

using Rows = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename Parser>
void feed(Parser& parser, nb::bytes chunk) {
  const std::string_view bytes(chunk.c_str(), chunk.size());
  const FreeGil free_gil;
  parser.feed(bytes);
}

nb::tuple finish_graph_file(text::GraphFileParser& parser) {
  text::GraphFile file = parser.finish();
  const auto names = [](text::Strings& strings) {
    return strings.size() == 0 ? nb::object(nb::none()) : hand_over(std::move(strings));
  };
  return nb::make_tuple(hand_over(std::move(file.vertex)), hand_over(std::move(file.vertex_label)),
                        hand_over(std::move(file.source)), hand_over(std::move(file.target)),
                        hand_over_or_none(std::move(file.edge_label)), names(file.vertex_names),
                        names(file.edge_names));
}

nb::bytes format_csv(const Rows& rows) {
  std::string text;
  {
    const FreeGil free_gil;
    text = text::format_csv(rows.data(), rows.shape(0), rows.shape(1));
  }
  return nb::bytes(text.data(), text.size());
}

// Makes the Python exception ParseError(line, message); the module keeps it alive for the exception
// translator.
void bind_parse_error(nb::module_& m) {
  PyObject* const type = PyErr_NewException("motiflux._native.ParseError", PyExc_ValueError, nullptr);
  if (type == nullptr) nb::raise_python_error();
  m.attr("ParseError") = nb::steal(type);
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* payload) {
        try {
          std::rethrow_exception(thrown);
        } catch (const text::ParseError& error) {
          const nb::tuple args = nb::make_tuple(error.line, error.what());
          PyErr_SetObject(static_cast<PyObject*>(payload), args.ptr());
        }
      },
      type);
}

}  // namespace

void bind_text(nb::module_& m) {
  bind_parse_error(m);

  nb::class_<text::GraphFileParser>(m, "GraphFileParser")
      .def(nb::init<bool>(), nb::arg("wildcards"))
      .def("feed", &feed<text::GraphFileParser>, nb::arg("chunk"))
      .def("finish", &finish_graph_file);

  m.def("format_csv", &format_csv, nb::arg("rows"));
}

}  // namespace motiflux
