// Bindings of a run of updates, and of the arrays that kernels read of it.
#include "bind_run.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "bind_checks.hpp"
#include "common/arrays.hpp"
#include "dynamic/changed_rows.hpp"
#include "dynamic/divided_roots.hpp"

namespace motiflux {

namespace nb = nanobind;
using namespace nb::literals;

bool PyRun::keep_going() {
  if (watch_ == nullptr || stopped_) return false;
  stopped_ = !watch_->keep_going();
  keep_error();
  return !stopped_;
}

void PyRun::keep_error() {
  if (PyErr_Occurred() == nullptr) return;
  stopped_ = true;
  try {
    throw nb::python_error();
  } catch (...) {
    error_ = std::current_exception();
  }
}

void PyRun::end() {
  watch_ = nullptr;
  stop_shares();
  if (const std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

void PyRun::write_rows() {
  if (write_ == nullptr) return;
  without_gil([&](dynamic::Watch&) { (*write_)(); });
}

namespace {

template <class T>
using Writable = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<T> span_of(const Writable<T>& array) {
  return {array.data(), array.size()};
}

// Gives an array of structs of words, which belongs to the run, to NumPy as a table.
template <class Word, class Struct>
nb::object as_table(const PyRun& run, std::span<const Struct> values) {
  auto* kept = new std::shared_ptr<const dynamic::Run>(run.run());
  nb::capsule owner(kept,
                    [](void* p) noexcept { delete static_cast<std::shared_ptr<const dynamic::Run>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, const Word>(reinterpret_cast<const Word*>(values.data()),
                                                     {values.size(), sizeof(Struct) / sizeof(Word)}, owner));
}

nb::object positive_of(const PyRun& run) {
  auto* kept = new std::shared_ptr<const dynamic::Run>(run.run());
  nb::capsule owner(kept,
                    [](void* p) noexcept { delete static_cast<std::shared_ptr<const dynamic::Run>*>(p); });
  const auto& positive = run.run()->positive;
  return nb::cast(nb::ndarray<nb::numpy, const std::uint8_t>(positive.data(), {positive.size()}, owner));
}

// (version, taken, vertices, words); None if there is no candidate table.
nb::object candidate_changes_of(const PyRun& run) {
  const dynamic::CandidateChanges& changes = run.run()->candidates;
  if (!changes.is_used) return nb::none();
  return nb::make_tuple(changes.version, changes.taken,
                        to_numpy(std::vector<dynamic::Vertex>(changes.vertices)),
                        to_numpy(std::vector<std::uint64_t>(changes.words)));
}

// What a run changes in the rows of a device (dynamic/changed_rows.hpp).
class PyChangedRows {
 public:
  PyChangedRows(PyRun& run, const std::optional<InputArray<std::uint8_t>>& accepts, int way, bool directed,
                bool mixes, std::uint32_t piece, Writable<std::uint64_t> address, Writable<std::int64_t> size,
                Writable<std::int64_t> capacity, bool packed)
      : run_(&run), address_(std::move(address)), size_(std::move(size)), capacity_(std::move(capacity)) {
    require(address_.size() == size_.size() && size_.size() == capacity_.size(),
            "arrays of the same length expected");
    places_ = {span_of(address_), span_of(size_), span_of(capacity_)};
    measure(way, directed, as_span(accepts), mixes, piece, packed);
  }
  PyChangedRows(PyRun& run, const dynamic::OwnRows& own, std::span<const std::uint8_t> accepts, int way,
                bool directed, std::uint32_t piece)
      : run_(&run), places_{{}, {}, {}, own} {
    measure(way, directed, accepts, false, piece, false);
  }

  const dynamic::ChangedRows& rows() const { return *rows_; }
  void write(const Writable<std::uint8_t>& block, std::uint64_t address, std::uint64_t memory,
             std::uint64_t room) {
    require(!written_, "the changes of rows can be written once");
    require(block.size() == rows_->layout().size, "the block has another size");
    written_ = true;
    run_->without_gil([&](dynamic::Watch& watch) {
      rows_->write({reinterpret_cast<std::byte*>(block.data()), address, memory, room}, places_, watch);
    });
  }

 private:
  void measure(int way, bool directed, std::span<const std::uint8_t> accepts, bool mixes, std::uint32_t piece,
               bool packed) {
    require(way >= 0 && way <= 2, "unknown way");
    require(piece > 0, "a piece has entries");
    run_->without_gil([&](dynamic::Watch& watch) {
      const dynamic::RowKind kind{static_cast<dynamic::Way>(way), directed, accepts, mixes, packed};
      rows_.emplace(run_->run(), kind, places_, piece, watch);
    });
  }

  PyRun* run_;
  Writable<std::uint64_t> address_;
  Writable<std::int64_t> size_, capacity_;
  dynamic::PlacesOfRows places_;
  std::optional<dynamic::ChangedRows> rows_;
  bool written_ = false;
};

// The roots of a run, by how their matches are found (dynamic/divided_roots.hpp).
class PyDividedRoots {
 public:
  PyDividedRoots(PyRun& run, const InputArray<std::uint8_t>& manners) : run_(&run) {
    std::vector<dynamic::Manner> all;
    for (const std::uint8_t one : as_span(manners)) {
      require(one <= static_cast<std::uint8_t>(dynamic::Manner::kIsMatch), "unknown manner");
      all.push_back(static_cast<dynamic::Manner>(one));
    }
    run.without_gil([&](dynamic::Watch& watch) { roots_.emplace(run.run(), all, run.share(), watch); });
    counted = roots_->counted();
    listed = to_numpy(std::vector<std::uint32_t>(roots_->listed()));
    matches = to_numpy(std::vector<std::uint32_t>(roots_->matches()));
  }

  void write(const Writable<std::uint8_t>& block_of_counted, const Writable<std::uint8_t>& block_of_listed) {
    const auto to_counted = roots_in(block_of_counted), to_listed = roots_in(block_of_listed);
    require(to_counted.size() == counted && to_listed.size() == roots_->listed().size(),
            "the blocks have other sizes");
    run_->without_gil([&](dynamic::Watch& watch) {
      roots_->write_counted(to_counted, watch);
      roots_->write_listed(to_listed);
    });
  }

  std::size_t counted;
  nb::object listed, matches;

 private:
  static std::span<dynamic::SearchRoot> roots_in(const Writable<std::uint8_t>& block) {
    return {reinterpret_cast<dynamic::SearchRoot*>(block.data()), block.size() / sizeof(dynamic::SearchRoot)};
  }

  PyRun* run_;
  std::optional<dynamic::DividedRoots> roots_;
};

}  // namespace

nb::object changed_own_rows(const dynamic::Monitor& monitor, nb::handle run, std::uint32_t target, int way,
                            std::uint32_t piece) {
  const dynamic::Graph& graph = monitor.graph();
  const auto own = dynamic::own_rows(graph, static_cast<dynamic::Way>(way), target);
  require(own.has_value(), "rows of the monitor expected");
  std::vector<std::uint8_t> accepts;
  if (own->of) {
    accepts.resize(graph.relations().classes().size());
    accepts[*own->of] = 1;
  }
  return nb::cast(new PyChangedRows(nb::cast<PyRun&>(run), *own, accepts, way, graph.directed(), piece),
                  nb::rv_policy::take_ownership);
}

void bind_run(nb::module_& module) {
  nb::class_<PyRun>(module, "Run")
      .def_prop_ro("ends",
                   [](const PyRun& run) { return as_table<std::uint32_t>(run, run.run()->all_ends()); })
      .def_prop_ro("roots",
                   [](const PyRun& run) { return as_table<std::uint32_t>(run, run.run()->all_roots()); })
      .def_prop_ro("positive", &positive_of)
      .def_prop_ro("one_change", [](const PyRun& run) { return run.run()->one_change; })
      .def_prop_ro("is_written", [](const PyRun& run) { return run.run()->is_written; })
      .def_prop_ro("updates", [](const PyRun& run) { return run.run()->updates; })
      .def_prop_ro("candidate_changes", &candidate_changes_of)
      .def_prop_ro("num_ends", [](const PyRun& run) { return run.run()->ends.size(); })
      .def_prop_ro("num_roots", [](const PyRun& run) { return run.run()->roots.size(); })
      .def("keep_going", &PyRun::keep_going)
      .def("write_rows", &PyRun::write_rows)
      .def(
          "share",
          [](const PyRun& run, std::uint32_t number, std::uint32_t shares) {
            require(number < shares, "shares are numbered from 0");
            return new PyRun(run, dynamic::ShareOfRoots{number, shares});
          },
          nb::rv_policy::take_ownership, "number"_a, "shares"_a)
      .def("stop_shares", &PyRun::stop_shares);
  const auto sum = [](auto member) {
    return [member](const PyChangedRows& changed) { return changed.rows().sums().*member; };
  };
  const auto place = [](auto member) {
    return [member](const PyChangedRows& changed) { return changed.rows().layout().*member; };
  };
  using Sums = dynamic::ChangedRows::Sums;
  using Layout = dynamic::ChangedRows::Layout;
  nb::class_<PyChangedRows>(module, "ChangedRows")
      .def(nb::init<PyRun&, std::optional<InputArray<std::uint8_t>>, int, bool, bool, std::uint32_t,
                    Writable<std::uint64_t>, Writable<std::int64_t>, Writable<std::int64_t>, bool>(),
           nb::keep_alive<1, 2>(), "run"_a, "accepts"_a.none(), "way"_a, "directed"_a, "mixes"_a, "piece"_a,
           "address"_a.noconvert(), "size"_a.noconvert(), "capacity"_a.noconvert(), "packed"_a = false)
      .def_prop_ro("num_changes", sum(&Sums::changes))
      .def_prop_ro("num_rows", sum(&Sums::rows))
      .def_prop_ro("growth",
                   [](const PyChangedRows& changed) {
                     return static_cast<std::int64_t>(changed.rows().sums().growth);
                   })
      .def_prop_ro("room", sum(&Sums::room))
      .def_prop_ro("num_updates", sum(&Sums::updates))
      .def_prop_ro("num_inserts", sum(&Sums::inserts))
      .def_prop_ro("merged_pieces", sum(&Sums::merged))
      .def_prop_ro("settled_pieces", sum(&Sums::settled))
      .def_prop_ro("touched_at", place(&Layout::touched))
      .def_prop_ro("merged_at", place(&Layout::merged))
      .def_prop_ro("settled_at", place(&Layout::settled))
      .def_prop_ro("updates_at", place(&Layout::updates))
      .def_prop_ro("nbytes", place(&Layout::size))
      .def_prop_ro("memory_nbytes", [](const PyChangedRows& changed) { return changed.rows().memory_size(); })
      .def_prop_ro("longest", [](const PyChangedRows& changed) { return changed.rows().longest(); })
      .def("write", &PyChangedRows::write, "block"_a.noconvert(), "address"_a, "memory"_a, "room"_a);
  nb::class_<PyDividedRoots>(module, "DividedRoots")
      .def(nb::init<PyRun&, InputArray<std::uint8_t>>(), nb::keep_alive<1, 2>(), "run"_a, "manners"_a)
      .def_ro("num_counted", &PyDividedRoots::counted)
      .def_ro("listed", &PyDividedRoots::listed)
      .def_ro("matches", &PyDividedRoots::matches)
      .def("write", &PyDividedRoots::write, "counted"_a.noconvert(), "listed"_a.noconvert());
}

}  // namespace motiflux
