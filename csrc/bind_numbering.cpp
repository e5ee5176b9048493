// Bindings of the ids of vertices (csrc/dynamic/vertex_ids.hpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "bind_checks.hpp"
#include "bind_found.hpp"
#include "bind_numbering.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "common/parallel.hpp"
#include "common/watched.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/numbering.hpp"
#include "dynamic/threads.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using dynamic::IntegerIds;
using dynamic::Label;
using dynamic::Numbered;
using dynamic::StringIds;
using dynamic::Vertex;

using Flags = InputArray<bool>;

constexpr Label kNoCode = ~Label{0};     // of vertices without a label, where no element has one yet
constexpr std::size_t kBrief = 1 << 10;  // ids numbered while the GIL is held
constexpr std::size_t kFew = 1 << 16;    // ids numbered too fast for Ctrl-C to matter
constexpr std::size_t kTaken = 1 << 14;  // updates that a thread numbers at a time

// Writes UTF-8 as code points, with zeros up to `width`.
void put_points(std::string_view text, std::uint32_t* to, std::size_t width) {
  std::uint32_t* const end = to + width;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t after) { return static_cast<unsigned char>(text[at + after]); };
    const unsigned first = byte(0);
    if (first < 0x80) {
      *to++ = first;
      at += 1;
    } else if (first < 0xE0) {
      *to++ = (first & 0x1F) << 6 | (byte(1) & 0x3F);
      at += 2;
    } else if (first < 0xF0) {
      *to++ = (first & 0x0F) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3F);
      at += 3;
    } else {
      *to++ = (first & 0x07) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3F);
      at += 4;
    }
  }
  std::fill(to, end, 0);
}

template <class Ids, class Column>
using PyNamed = std::tuple<typename Column::Input, InputArray<Label>, InputArray<std::int64_t>>;

// Takes the lock without the GIL if another thread has it.
std::unique_lock<std::mutex> locked(std::mutex& mutex) {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) {
    const FreeGil free_gil;
    lock.lock();
  }
  return lock;
}

template <class Column, class Ids>
nb::object number(PyVertexIds& self, Ids& ids, nb::handle monitor, const typename Column::Input& sources,
                  const typename Column::Input& targets, const std::optional<InputArray<std::uint8_t>>& kept,
                  const std::optional<PyNamed<Ids, Column>>& named, Label unlabelled, int threads) {
  require(threads >= 1 && threads <= 1024, "threads must be 1 to 1024");
  const Column from(sources), to(targets);
  require(from.size() == to.size() && (!kept || kept->size() == from.size()),
          "columns of updates differ in length");
  const dynamic::Graph& graph = native_monitor_of(monitor).graph();
  const std::size_t before = self.ids.size();
  Numbered found;
  const auto work = [&](const std::atomic<bool>& stop) {
    const std::lock_guard lock(self.mutex);
    try {
      dynamic::Numbering<Ids> numbering(ids, self.most, unlabelled);
      const Workers workers{threads, &stop};
      if (threads == 1 || from.size() < kFew || kept || !numbering.number_known(from, to, workers))
        numbering.number(from, to, as_span(kept), [&] { workers.check(); });
      if (named) {
        const auto& [names, codes, positions] = *named;
        const dynamic::NamedVertices<Column> vertices{Column(names), as_span(codes), as_span(positions)};
        numbering.name(vertices, [&](Vertex vertex) { return graph.label(vertex); });
      }
      found = numbering.take();
      if (found.conflict) ids.keep(before);
    } catch (...) {
      ids.keep(before);
      throw;
    }
  };
  if (named) {
    const auto& [names, codes, positions] = *named;
    require(codes.size() == names.shape(0) && positions.size() == names.shape(0),
            "columns of labels of vertices differ in length");
  }
  const std::size_t size = from.size() + (named ? std::get<1>(*named).size() : 0);
  const std::atomic<bool> never{false};
  try {
    if (size <= kBrief && self.mutex.try_lock()) {
      self.mutex.unlock();
      work(never);
    } else if (size <= kFew) {
      const FreeGil free_gil;
      work(never);
    } else {
      run_interruptible(work);
    }
  } catch (const dynamic::TooManyVertices&) {
    return nb::none();
  }
  const bool all = found.sources.size() == from.size();
  const nb::object conflict =
      found.conflict ? nb::object(nb::make_tuple(found.conflict->at, found.conflict->before)) : nb::none();
  return nb::make_tuple(to_numpy(std::move(found.sources)), to_numpy(std::move(found.targets)),
                        all ? nb::none() : to_numpy(std::move(found.origins)), found.self_loops, found.added,
                        to_numpy_or_none(std::move(found.codes)), conflict);
}

// Labels of edges: codes, or integers and the code of each small one (-1: unknown).
using Codes = InputArray<Label>;
using IntegerLabels = std::tuple<InputArray<std::int64_t>, InputArray<std::int32_t>>;

class LabelColumn {
 public:
  LabelColumn(const std::optional<Codes>& codes, const std::optional<IntegerLabels>& integers,
              std::size_t size) {
    if (codes) codes_ = as_span(*codes);
    if (integers)
      std::tie(integers_, table_) = std::apply(
          [](const auto& labels, const auto& table) { return std::pair(as_span(labels), as_span(table)); },
          *integers);
    require((!codes || codes_.size() == size) && (!integers || integers_.size() == size),
            "columns of updates differ in length");
  }
  // kNoCode if it is unknown.
  Label at(std::size_t row) const {
    if (!integers_.empty()) {
      const auto label = static_cast<std::uint64_t>(integers_[row]);
      return label < table_.size() ? static_cast<Label>(table_[label]) : kNoCode;
    }
    return codes_.empty() ? 0 : codes_[row];
  }

 private:
  std::span<const Label> codes_;
  std::span<const std::int64_t> integers_;
  std::span<const std::int32_t> table_;
};

// Thrown if a label of an edge has no code, or one that is too large.
struct UnknownLabel {};

// Calls keep(row, source, target) for all updates, on several threads, and returns true; returns false if
// they are few, an id is new, or an update is a self-loop. `keep` may have been called for some of them then.
template <class Column, class Ids, class Keep>
bool number_known(const dynamic::Numbering<Ids>& numbering, const Column& from, const Column& to, int threads,
                  dynamic::Watch& watch, Keep&& keep) {
  if (threads == 1 || from.size() < kFew) return false;
  const auto parts = static_cast<int>((from.size() + kTaken - 1) / kTaken);
  std::atomic<bool> all{true};
  dynamic::for_each_partition(parts, threads, watch, [&](int part, dynamic::Watch& guarded) {
    if (!all.load(std::memory_order_relaxed)) return;
    if (!guarded.keep_going()) throw dynamic::Stopped();
    const std::size_t begin = static_cast<std::size_t>(part) * kTaken;
    if (!numbering.know(from, to, begin, std::min(begin + kTaken, from.size()), keep))
      all.store(false, std::memory_order_relaxed);
  });
  return all.load();
}

// Numbers and applies updates at once, or prepares them (prepare_all). Returns what apply_all() does, or
// False if labels of edges are unknown, or new vertices need more than the label `unlabelled`: then nothing
// is done.
template <class Column, class Ids>
nb::object apply(PyVertexIds& self, Ids& ids, nb::handle monitor, const Flags& inserts,
                 const typename Column::Input& sources, const typename Column::Input& targets,
                 const std::optional<Codes>& codes, const std::optional<IntegerLabels>& integers,
                 Label unlabelled, const Terms& terms, const std::optional<nb::callable>& full,
                 std::optional<double> timeout, bool prepares) {
  const Column from(sources), to(targets);
  const std::size_t size = from.size();
  require(to.size() == size && inserts.size() == size, "columns of updates differ in length");
  const LabelColumn labels(codes, integers, size);
  dynamic::Monitor& changing = native_monitor_of(monitor);
  dynamic::Graph& graph = changing.graph();
  Applied applied;
  Numbered found;
  SignalWatch watch(timeout);
  {
    const auto lock = locked(self.mutex);
    if (size > kBrief) watch.free_gil();
    const std::size_t before = ids.size();
    bool fits = true;
    try {
      dynamic::Numbering<Ids> numbering(ids, self.most, unlabelled);
      applied.updates.resize(size);
      dynamic::Update* next = applied.updates.data();
      const auto update = [&](std::size_t row, Vertex source, Vertex target) {
        const Label label = labels.at(row);
        if (label >= dynamic::kStandIn) throw UnknownLabel();
        return dynamic::Update{graph.named(source, target, label), inserts.data()[row]};
      };
      const auto put = [&](std::size_t row, Vertex source, Vertex target) {
        next[row] = update(row, source, target);
      };
      if (!number_known(numbering, from, to, terms.how.threads, watch, put)) {
        numbering.number(
            from, to, {},
            [&] {
              if (!watch.keep_going()) throw dynamic::Stopped();
            },
            [&](std::size_t row, Vertex source, Vertex target) { *next++ = update(row, source, target); });
        applied.updates.resize(static_cast<std::size_t>(next - applied.updates.data()));
      }
      found = numbering.take();
      fits = found.added == 0 || unlabelled != kNoCode;
      if (fits)
        for (std::size_t more = 0; more < found.added; ++more) graph.add_vertex(unlabelled);
    } catch (const dynamic::TooManyVertices&) {
      fits = false;
    } catch (const UnknownLabel&) {
      fits = false;
    } catch (const dynamic::Stopped&) {
      ids.keep(before);
      watch.take_gil();
      if (watch.failed()) throw nb::python_error();
      return nb::none();
    } catch (...) {
      ids.keep(before);
      throw;
    }
    if (!fits) {
      ids.keep(before);
      watch.take_gil();
      return nb::bool_(false);
    }
  }
  applied.origins = std::move(found.origins);
  nb::object result;
  if (prepares) {
    result = prepare_all(changing, std::move(applied), terms, watch);
  } else {
    add_expired(monitor, applied);
    result = apply_all(changing, std::move(applied), terms, full, watch);
  }
  if (!result.is_none()) nb::cast<PyFound&>(result).self_loops = found.self_loops;
  return result;
}

nb::object apply_integers(PyVertexIds& self, nb::handle monitor, const Flags& inserts,
                          const IntegerColumn::Input& sources, const IntegerColumn::Input& targets,
                          const std::optional<Codes>& codes, const std::optional<IntegerLabels>& integers,
                          Label unlabelled, const Terms& terms, const std::optional<nb::callable>& full,
                          std::optional<double> timeout, bool prepares) {
  return apply<IntegerColumn>(self, self.ids.integers, monitor, inserts, sources, targets, codes, integers,
                              unlabelled, terms, full, timeout, prepares);
}

nb::object apply_strings(PyVertexIds& self, nb::handle monitor, const Flags& inserts,
                         const StringColumn::Input& sources, const StringColumn::Input& targets,
                         const std::optional<Codes>& codes, const std::optional<IntegerLabels>& integers,
                         Label unlabelled, const Terms& terms, const std::optional<nb::callable>& full,
                         std::optional<double> timeout, bool prepares) {
  return apply<StringColumn>(self, self.ids.strings, monitor, inserts, sources, targets, codes, integers,
                             unlabelled, terms, full, timeout, prepares);
}

nb::object number_integers(PyVertexIds& self, nb::handle monitor, const IntegerColumn::Input& sources,
                           const IntegerColumn::Input& targets,
                           const std::optional<InputArray<std::uint8_t>>& kept,
                           const std::optional<PyNamed<IntegerIds, IntegerColumn>>& named, Label unlabelled,
                           int threads) {
  return number<IntegerColumn>(self, self.ids.integers, monitor, sources, targets, kept, named, unlabelled,
                               threads);
}

nb::object number_strings(PyVertexIds& self, nb::handle monitor, const StringColumn::Input& sources,
                          const StringColumn::Input& targets,
                          const std::optional<InputArray<std::uint8_t>>& kept,
                          const std::optional<PyNamed<StringIds, StringColumn>>& named, Label unlabelled,
                          int threads) {
  return number<StringColumn>(self, self.ids.strings, monitor, sources, targets, kept, named, unlabelled,
                              threads);
}

void load_integers(PyVertexIds& self, const IntegerColumn::Input& ids) {
  require(self.ids.size() == 0, "there are ids already");
  const FreeGil free_gil;
  self.ids.integers.load(ids.data(), ids.size());
}

void load_strings(PyVertexIds& self, const StringColumn::Input& ids) {
  require(self.ids.size() == 0, "there are ids already");
  const FreeGil free_gil;
  const StringColumn column(ids);
  for (std::size_t row = 0; row < column.size(); ++row) self.ids.strings.add(column.at(row));
}

// The vertex of an id; None if there is no such vertex.
nb::object vertex_of(PyVertexIds& self, nb::handle id) {
  const auto lock = locked(self.mutex);
  Vertex found = dynamic::kUnknown;
  if (nb::isinstance<nb::str>(id)) {
    const nb::object utf8 = id.attr("encode")("utf-8", "surrogatepass");
    const nb::bytes bytes = nb::cast<nb::bytes>(utf8);
    found = self.ids.strings.find({bytes.c_str(), bytes.size()});
  } else if (std::int64_t value; nb::try_cast(id, value)) {
    found = self.ids.integers.find(value);
  }
  return found == dynamic::kUnknown ? nb::none() : nb::object(nb::int_(found));
}

// Calls get(row), the number of a vertex, for each row.
template <class Get>
nb::object integers(const IntegerIds& ids, std::size_t count, Get&& get) {
  std::vector<std::int64_t> values(count);
  for (std::size_t row = 0; row < count; ++row) values[row] = ids.at(get(row));
  return to_numpy(std::move(values));
}

template <class Get>
nb::object points(const StringIds& ids, std::size_t count, Get&& get) {
  const std::size_t width = std::max<std::size_t>(ids.widest(), 1);
  std::vector<std::uint32_t> values(count * width);
  for (std::size_t row = 0; row < count; ++row) put_points(ids.at(get(row)), &values[row * width], width);
  return to_numpy(std::move(values), count, width);
}

// The ids of vertices: integers, or strings as code points.
template <class Get>
nb::object ids_of(PyVertexIds& self, std::size_t count, Get&& get) {
  const auto lock = locked(self.mutex);
  if (self.ids.strings.size() > 0) return points(self.ids.strings, count, get);
  return integers(self.ids.integers, count, get);
}

// The matches of a pattern as sinks get them: (ids, rows, updates from `first` on, signs); None if there are
// none. Ids that are integers have a row for each match; those that are strings, for each vertex.
nb::object columns(PyVertexIds& self, PyFound& found, std::size_t pattern, std::int64_t first) {
  dynamic::Found::OfPattern taken = found.take_rows(pattern);
  if (taken.runs.empty()) return nb::none();
  std::vector<std::int64_t> updates;
  std::vector<std::int8_t> signs;
  for (const dynamic::Found::Run& run : taken.runs) {
    const auto rows = static_cast<std::size_t>(run.rows);
    updates.insert(updates.end(), rows, first + static_cast<std::int64_t>(run.update));
    signs.insert(signs.end(), rows, run.positive ? 1 : -1);
  }
  const std::size_t rows = updates.size();
  const Vertex* const vertices = taken.rows.data();
  nb::object ids;
  {
    const auto lock = locked(self.mutex);
    const std::size_t count = taken.rows.size();
    if (self.ids.strings.size() > 0) {
      ids = points(self.ids.strings, count, [&](std::size_t at) { return vertices[at]; });
    } else {
      std::vector<std::int64_t> values(count);
      for (std::size_t at = 0; at < count; ++at) values[at] = self.ids.integers.at(vertices[at]);
      ids = to_numpy(std::move(values), rows, count / rows);
    }
  }
  return nb::make_tuple(ids, rows, to_numpy(std::move(updates)), to_numpy(std::move(signs)));
}

nb::object names(PyVertexIds& self, const InputArray<Vertex>& vertices) {
  for (const Vertex vertex : as_span(vertices)) require(vertex < self.ids.size(), "there is no such vertex");
  return ids_of(self, vertices.size(), [&](std::size_t row) { return vertices.data()[row]; });
}

nb::object all(PyVertexIds& self) {
  return ids_of(self, self.ids.size(), [](std::size_t row) { return static_cast<Vertex>(row); });
}

// The first letter of the type of ids in NumPy; None while there are none.
nb::object kind(const PyVertexIds& self) {
  if (self.ids.size() == 0) return nb::none();
  return nb::str(self.ids.strings.size() > 0 ? "U" : "i");
}

// The codes of the labels of all vertices.
nb::object vertex_codes(nb::handle monitor) {
  const dynamic::Graph& graph = native_monitor_of(monitor).graph();
  std::vector<Label> codes(graph.vertices());
  for (Vertex vertex = 0; vertex < codes.size(); ++vertex) codes[vertex] = graph.label(vertex);
  return to_numpy(std::move(codes));
}

}  // namespace

void bind_numbering(nb::module_& module) {
  nb::class_<PyVertexIds>(module, "VertexIds")
      .def(nb::init<std::size_t, std::size_t>(), "fewest"_a, "most"_a)
      .def("load_integers", &load_integers, "ids"_a)
      .def("load_strings", &load_strings, "ids"_a)
      .def("number_integers", &number_integers, "monitor"_a, "sources"_a, "targets"_a, "kept"_a.none(),
           "named"_a.none(), "unlabelled"_a, "threads"_a)
      .def("number_strings", &number_strings, "monitor"_a, "sources"_a, "targets"_a, "kept"_a.none(),
           "named"_a.none(), "unlabelled"_a, "threads"_a)
      .def("apply_integers", &apply_integers, "monitor"_a, "inserts"_a, "sources"_a, "targets"_a,
           "codes"_a.none(), "integers"_a.none(), "unlabelled"_a, "terms"_a, "full"_a.none(),
           "timeout"_a.none(), "prepares"_a = false)
      .def("apply_strings", &apply_strings, "monitor"_a, "inserts"_a, "sources"_a, "targets"_a,
           "codes"_a.none(), "integers"_a.none(), "unlabelled"_a, "terms"_a, "full"_a.none(),
           "timeout"_a.none(), "prepares"_a = false)
      .def("keep",
           [](PyVertexIds& self, std::size_t count) {
             const auto lock = locked(self.mutex);
             self.ids.keep(count);
           })
      .def("vertex_of", &vertex_of, "name"_a)
      .def("names", &names, "vertices"_a)
      .def("columns", &columns, "found"_a, "pattern"_a, "first"_a)
      .def("all", &all)
      .def("__len__", [](const PyVertexIds& self) { return self.ids.size(); })
      .def_prop_ro("kind", &kind);
  module.def("vertex_codes", &vertex_codes, "monitor"_a);
}

}  // namespace motiflux
