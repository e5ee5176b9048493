// Bindings of streams that are read, numbered and applied natively.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bind_checks.hpp"
#include "bind_strings.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "feed/comes.hpp"
#include "quiet_feed.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// The bytes that are there within a time; None if none come.
nb::object read_soon(int descriptor, double spin, double timeout) {
  std::array<char, kReadBytes> bytes;
  ssize_t size = 0;
  int error = 0;
  {
    const FreeGil free_gil;
    const std::chrono::microseconds spinning(static_cast<std::int64_t>(1e6 * spin));
    if (!feed::comes(descriptor, spinning, std::chrono::milliseconds(std::llround(std::ceil(1e3 * timeout)))))
      size = -1;
    else if ((size = read(descriptor, bytes.data(), bytes.size())) < 0)
      error = errno;
  }
  if (size >= 0) return nb::bytes(bytes.data(), static_cast<std::size_t>(size));
  if (error != 0 && error != EAGAIN && error != EINTR) {
    errno = error;
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
  }
  return nb::none();
}

// Rows ("+" or "-", source, target) with integers: (inserts, sources, targets); None if they are any others.
nb::object plain_rows(nb::handle rows) {
  if (!PyList_CheckExact(rows.ptr())) return nb::none();
  const auto size = static_cast<std::size_t>(PyList_Size(rows.ptr()));
  std::vector<std::uint8_t> inserts(size);
  std::vector<std::int64_t> sources(size), targets(size);
  for (std::size_t at = 0; at < size; ++at) {
    PyObject* const row = PyList_GetItem(rows.ptr(), static_cast<Py_ssize_t>(at));
    if (!PyTuple_CheckExact(row) || PyTuple_Size(row) != 3) return nb::none();
    PyObject* const op = PyTuple_GetItem(row, 0);
    if (!PyUnicode_CheckExact(op) || PyUnicode_GetLength(op) != 1) return nb::none();
    const Py_UCS4 sign = PyUnicode_ReadChar(op, 0);
    if (sign != '+' && sign != '-') return nb::none();
    inserts[at] = sign == '+';
    std::int64_t* const ends[] = {&sources[at], &targets[at]};
    for (Py_ssize_t end = 0; end < 2; ++end) {
      PyObject* const id = PyTuple_GetItem(row, end + 1);
      if (!PyLong_CheckExact(id)) return nb::none();
      int overflow = 0;
      *ends[end] = PyLong_AsLongLongAndOverflow(id, &overflow);
      if (overflow != 0) return nb::none();
    }
  }
  return nb::make_tuple(to_numpy(std::move(inserts)), to_numpy(std::move(sources)),
                        to_numpy(std::move(targets)));
}

}  // namespace

void bind_feed(nb::module_& module) {
  // `patterns`: (number in the monitor, text before each vertex and after the last one).
  using Pattern = std::tuple<std::size_t, std::vector<std::string>>;
  nb::class_<Lines>(module, "Lines")
      .def(
          "__init__",
          [](Lines* self, int descriptor, bool grows,
             std::tuple<std::string, std::string, std::string> around, const std::string& separator,
             bool changes, std::vector<Pattern> patterns) {
            feed::LineFormat format{std::get<0>(around),
                                    std::get<1>(around),
                                    std::get<2>(around),
                                    separator.empty() ? '\0' : separator[0],
                                    changes,
                                    {}};
            for (auto& [slot, parts] : patterns) {
              require(!parts.empty(), "text after the last vertex expected");
              format.patterns.push_back({slot, std::move(parts)});
            }
            new (self) Lines{std::move(format), {descriptor, grows}};
          },
          "descriptor"_a, "grows"_a, "around"_a, "separator"_a, "changes"_a, "patterns"_a)
      .def("take_written", [](Lines& self) { return self.output.take_written(); })
      .def("take_rest", [](Lines& self) {
        const std::string rest = self.output.take_rest();
        return nb::bytes(rest.data(), rest.size());
      });
  nb::class_<QuietFeed>(module, "QuietFeed")
      .def(nb::init<std::vector<std::string>>(), "words"_a)
      .def("run", &QuietFeed::run, "parser"_a, "ids"_a, "monitor"_a, "most"_a, "partial"_a, "unlabelled"_a,
           "zero"_a, "label_codes"_a.none(), "terms"_a, "opens"_a, "lines"_a.none(), "first"_a,
           "descriptor"_a, "spin"_a, "wait"_a)
      .def("go_on", &QuietFeed::go_on)
      .def_prop_ro("turn_is_over", &QuietFeed::turn_is_over)
      .def("take", &QuietFeed::take)
      .def_prop_ro("is_open", &QuietFeed::is_open)
      .def_prop_ro("first", &QuietFeed::first)
      .def("found", &QuietFeed::found)
      .def("commit", &QuietFeed::commit)
      .def("take_back", &QuietFeed::take_back)
      .def_prop_ro("batches", &QuietFeed::batches);
  module.def("read_soon", &read_soon, "descriptor"_a, "spin"_a, "timeout"_a);
  module.def("plain_rows", &plain_rows, "rows"_a);
}

}  // namespace motiflux
