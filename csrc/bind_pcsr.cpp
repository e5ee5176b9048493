// Bindings of rows of partitions: by label of edges, or of targets. The GIL is free meanwhile.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/watched.hpp"
#include "pcsr/hash_rows.hpp"
#include "pcsr/interval_rows.hpp"
#include "pcsr/membership.hpp"
#include "pcsr/renaming.hpp"

namespace motiflux {
namespace {

namespace nb = nanobind;

using Numbers = InputArray<std::uint32_t>;
using Offsets = InputArray<std::uint64_t>;
using PyDirection = std::tuple<Offsets, Numbers, std::optional<Numbers>>;

constexpr std::size_t kInlineEntries = 1 << 16;  // below it a watching thread costs more than the work

template <class Work>
void run_pcsr_work(std::size_t entries, int threads, Work&& work) {
  if (entries < kInlineEntries) {
    work(Workers{1, nullptr});
    return;
  }
  run_interruptible([&](const std::atomic<bool>& stop) { work(Workers{threads, &stop}); });
}

// Arcs of a graph divided into partitions, and the partitions of each vertex. The arrays are kept alive.
class Partitions {
 public:
  Partitions(std::vector<PyDirection> given, std::optional<Numbers> vertex_labels, std::uint32_t codes,
             bool by_target, int threads)
      : given_(std::move(given)), vertex_labels_(std::move(vertex_labels)) {
    if (given_.empty() || given_.size() > 2 || codes == 0)
      throw nb::value_error("one or two directions with at least one label expected");
    for (const auto& [offsets, neighbors, labels] : given_)
      directions_.push_back({as_span(offsets), as_span(neighbors), as_span(labels)});
    division_ = {directions_, as_span(vertex_labels_), codes, by_target};
    run_pcsr_work(entries(), threads, [&](const Workers& workers) {
      check();
      membership_ = pcsr::collect(division_, workers);
    });
  }
  Partitions(const Partitions&) = delete;

  // Number of partitions of each vertex, these partitions, and the number of arcs in each.
  nb::tuple membership() const {
    std::vector<std::uint64_t> offsets(membership_.offsets);
    std::vector<std::uint32_t> partitions(membership_.partitions), arcs(membership_.arcs);
    return nb::make_tuple(to_numpy(std::move(offsets)), to_numpy(std::move(partitions)),
                          to_numpy(std::move(arcs)));
  }

  nb::object rename(std::uint64_t steps, int threads) const {
    std::vector<std::uint32_t> renamed;
    run_pcsr_work(entries(), threads, [&](const Workers& workers) {
      renamed =
          pcsr::rename(membership_.offsets, membership_.partitions, division_.partitions(), steps, workers);
    });
    return to_numpy(std::move(renamed));
  }

  nb::tuple interval_rows(const Numbers& renamed, std::uint64_t most_arcs, int threads) const {
    const auto ids = as_span(renamed);
    if (ids.size() != division_.vertices()) throw nb::value_error("an id for each vertex expected");
    pcsr::IntervalRows rows;
    run_pcsr_work(entries(), threads, [&](const Workers& workers) {
      std::vector<std::uint8_t> seen(ids.size(), 0);
      for (const std::uint32_t id : ids)
        if (id >= ids.size() || seen[id]++ != 0) throw std::invalid_argument("ids are no permutation");
      rows = pcsr::interval_rows(division_, membership_, ids, most_arcs, workers);
    });
    const bool wide = !rows.wide_offsets.empty();
    const std::uint64_t arcs = rows.first_arc.back();
    return nb::make_tuple(to_numpy(std::move(rows.first_row)), to_numpy(std::move(rows.first_arc)),
                          to_numpy(std::move(rows.first_interval)), to_numpy(std::move(rows.firsts)),
                          to_numpy(std::move(rows.rows_before)),
                          wide ? to_numpy(std::move(rows.wide_offsets)) : to_numpy(std::move(rows.offsets)),
                          to_numpy(std::move(rows.neighbors), arcs));
  }

 private:
  std::size_t entries() const {
    std::size_t entries = 0;
    for (const pcsr::Direction& one : directions_) entries += one.offsets.size() + one.neighbors.size();
    return entries;
  }

  void check() const {
    const pcsr::Direction& first = directions_.front();
    for (const pcsr::Direction& one : directions_) {
      if (one.offsets.empty() || one.offsets.size() != first.offsets.size() || one.offsets.front() != 0 ||
          one.offsets.back() != one.neighbors.size() || !std::ranges::is_sorted(one.offsets))
        throw std::invalid_argument("offsets from 0 to the number of neighbours expected");
      if (!one.labels.empty() && one.labels.size() != one.neighbors.size())
        throw std::invalid_argument("one label per arc expected");
      if (one.labels.empty() != first.labels.empty())
        throw std::invalid_argument("directions with and without labels");
      check_below(one.labels, division_.codes);
      check_below(one.neighbors, division_.vertices());
    }
    const auto labels = division_.vertex_labels;
    if (!labels.empty() && labels.size() != division_.vertices())
      throw std::invalid_argument("one label per vertex expected");
    if (division_.by_target) check_below(labels, division_.codes);
  }

  static void check_below(std::span<const std::uint32_t> numbers, std::size_t bound) {
    if (std::ranges::any_of(numbers, [&](std::uint32_t one) { return one >= bound; }))
      throw std::invalid_argument("a label or neighbour out of range");
  }

  std::vector<PyDirection> given_;
  std::optional<Numbers> vertex_labels_;
  std::vector<pcsr::Direction> directions_;
  pcsr::Division division_;
  pcsr::Membership membership_;
};

nb::object rename_vertices(const Offsets& offsets, const Numbers& partitions, std::uint32_t count,
                           std::uint64_t steps, int threads) {
  const auto ends = as_span(offsets);
  const auto all = as_span(partitions);
  if (ends.empty() || ends.front() != 0 || ends.back() != all.size() || !std::ranges::is_sorted(ends))
    throw nb::value_error("offsets from 0 to the number of partitions expected");
  for (std::size_t v = 0; v + 1 < ends.size(); ++v)
    for (std::uint64_t at = ends[v]; at < ends[v + 1]; ++at)
      if (all[at] >= count || (at > ends[v] && all[at] <= all[at - 1]))
        throw nb::value_error("ascending partitions of each vertex expected");
  std::vector<std::uint32_t> renamed;
  run_pcsr_work(all.size() + ends.size(), threads,
                [&](const Workers& workers) { renamed = pcsr::rename(ends, all, count, steps, workers); });
  return to_numpy(std::move(renamed));
}

nb::tuple hash_rows(const Numbers& ids, const Numbers& offsets, const Numbers& neighbors, int threads) {
  const auto ends = as_span(offsets);
  if (ends.size() != ids.size() + 1 || ends.front() != 0 || ends.back() != neighbors.size() ||
      !std::ranges::is_sorted(ends))
    throw nb::value_error("offsets from 0 to the number of neighbours expected");
  pcsr::HashRows rows;
  run_pcsr_work(ids.size() + neighbors.size(), threads, [&](const Workers& workers) {
    rows = pcsr::hash_rows(as_span(ids), ends, as_span(neighbors), workers);
  });
  return nb::make_tuple(to_numpy(std::move(rows.groups)),
                        to_numpy(std::move(rows.neighbors), neighbors.size()));
}

}  // namespace

void bind_pcsr(nb::module_& module) {
  nb::class_<Partitions>(module, "Partitions")
      .def(nb::init<std::vector<PyDirection>, std::optional<Numbers>, std::uint32_t, bool, int>(),
           nb::arg("directions"), nb::arg("vertex_labels").none(), nb::arg("codes"), nb::arg("by_target"),
           nb::arg("threads"))
      .def("membership", &Partitions::membership)
      .def("rename", &Partitions::rename, nb::arg("steps"), nb::arg("threads"))
      .def("interval_rows", &Partitions::interval_rows, nb::arg("renamed"), nb::arg("most_arcs"),
           nb::arg("threads"));
  module.attr("COMPARED_STEPS") = pcsr::kComparedSteps;
  module.def("rename_vertices", &rename_vertices, nb::arg("offsets"), nb::arg("partitions"), nb::arg("count"),
             nb::arg("steps"), nb::arg("threads"));
  module.def("hash_rows", &hash_rows, nb::arg("ids"), nb::arg("offsets"), nb::arg("neighbors"),
             nb::arg("threads"));
}

}  // namespace motiflux
