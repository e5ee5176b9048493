#include "bind_own_rows.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <vector>

#include "bind_checks.hpp"
#include "bind_run.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/parallel.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using dynamic::Arena;
using dynamic::OwnRows;
using dynamic::Vertex;
using dynamic::Way;

OwnRows own_rows_of(const dynamic::Monitor& monitor, std::uint32_t target, int way) {
  require(has_own_rows(monitor, target, way), "rows of the monitor expected");
  return *dynamic::own_rows(monitor.graph(), static_cast<Way>(way), target);
}

// Waits for rows that other threads still write: a reader comes and goes between changes.
//
// Several threads of Python may wait at once, as those of several devices do. They wait without the GIL, and
// take note with it that the rows are written (Monitor::finish_writing), one after another.
class PyGraphReader {
 public:
  explicit PyGraphReader(dynamic::Monitor& monitor) : monitor_(monitor), reader_(monitor.graph()) {}
  PyGraphReader(const PyGraphReader&) = delete;
  PyGraphReader& operator=(const PyGraphReader&) = delete;
  ~PyGraphReader() { wait(); }

  dynamic::GraphReader& reader() { return reader_; }
  // The same once no row is being changed.
  dynamic::GraphReader& settled_reader() {
    wait();
    monitor_.finish_writing();
    return reader_;
  }

 private:
  void wait() const {
    if (!monitor_.is_writing()) return;
    const std::function<void()> wait = monitor_.waiting_for_rows();
    const FreeGil free_gil;
    wait();
  }

  dynamic::Monitor& monitor_;
  dynamic::GraphReader reader_;
};

// Rows whose places one thread finds at a time: 20 to 100 us, as each takes some misses of the cache.
constexpr std::size_t kRowsOfPiece = 256;

template <class VertexAt>
nb::object places(const OwnRows& own, std::size_t count, int threads, VertexAt&& vertex_at) {
  Unwritten<std::uint64_t> addresses(count);
  Unwritten<std::int64_t> sizes(count);
  {
    const FreeGil free_gil;
    parallel_for({threads, nullptr}, count, kRowsOfPiece, [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin; at < end; ++at) {
        const sets::Span row = own.row(vertex_at(at));
        addresses.data()[at] = reinterpret_cast<std::uintptr_t>(row.first);
        sizes.data()[at] = static_cast<std::int64_t>(row.size());
      }
    });
  }
  return nb::make_tuple(to_numpy(std::move(addresses), count), to_numpy(std::move(sizes), count));
}

}  // namespace

bool has_own_rows(const dynamic::Monitor& monitor, std::uint32_t target, int way) {
  require(way >= 0 && way <= 2, "unknown way");
  const dynamic::Graph& graph = monitor.graph();
  require(target < graph.relations().targets(), "no such target");
  return dynamic::own_rows(graph, static_cast<Way>(way), target).has_value();
}

nb::object places_of_own_rows(const dynamic::Monitor& monitor, std::uint32_t target, int way,
                              const InputArray<std::uint32_t>& vertices, int threads) {
  require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
  const OwnRows own = own_rows_of(monitor, target, way);
  const std::span<const Vertex> asked = as_span(vertices);
  for (const Vertex vertex : asked) require(vertex < own.rows->vertices(), "no such vertex");
  return places(own, asked.size(), threads, [&](std::size_t at) { return asked[at]; });
}

nb::object places_in_own_rows(const dynamic::Monitor& monitor, std::uint32_t target, int way, Vertex first,
                              Vertex last) {
  const OwnRows own = own_rows_of(monitor, target, way);
  require(first <= last && last <= own.rows->vertices(), "no such vertices");
  return places(own, last - first, 1, [&](std::size_t at) { return static_cast<Vertex>(first + at); });
}

nb::object sums_of_own_rows(const dynamic::Monitor& monitor, std::uint32_t target, int way, int threads) {
  require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
  const OwnRows own = own_rows_of(monitor, target, way);
  dynamic::SumsOfRows sums;
  {
    const FreeGil free_gil;
    sums = dynamic::sums_of(own, own.rows->vertices(), {threads, nullptr});
  }
  return nb::make_tuple(sums.entries, sums.longest, sums.squares);
}

void bind_own_rows(nb::module_& module) {
  nb::class_<Arena>(module, "Arena")
      .def_prop_ro("address",
                   [](const Arena& arena) { return reinterpret_cast<std::uintptr_t>(arena.data()); })
      .def_prop_ro("nbytes", &Arena::bytes)
      .def_prop_ro("number", &Arena::number)
      .def_prop_ro("is_lent", &Arena::is_lent);
  nb::class_<PyGraphReader>(module, "GraphReader")
      .def("arenas",
           [](PyGraphReader& self) {
             nb::list found;
             for (const auto& arena : self.settled_reader().arenas())
               found.append(std::const_pointer_cast<Arena>(arena));
             return found;
           })
      .def("hold", [](PyGraphReader& self) { return to_numpy(self.settled_reader().hold()); })
      .def("release",
           [](PyGraphReader& self) {
             const FreeGil free_gil;
             self.reader().release();
           })
      .def(
          "leave", [](PyGraphReader& self, const PyRun& run) { self.reader().leave(run.run()->all_ends()); },
          "run"_a)
      .def(
          "note", [](PyGraphReader& self, const PyRun& run) { self.reader().note(run.run()->all_ends()); },
          "run"_a);
}

nb::object reader_of(dynamic::Monitor& monitor) {
  return nb::cast(new PyGraphReader(monitor), nb::rv_policy::take_ownership);
}

}  // namespace motiflux
