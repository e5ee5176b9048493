#include "rows/witness.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace motiflux::rows {
namespace {

constexpr std::size_t kGrainRows = 1 << 14;
constexpr std::size_t kGrainVertices = 1 << 16;

// Looks for the edges of one query edge, row after row. Neighbouring rows of a search mostly agree in all but
// their last vertices, and these ascend: the next lookup begins at the last result.
class Finder {
 public:
  Finder(const EdgeRows& edges, const QueryEdge& query) : edges_(edges), query_(query) {}

  std::int64_t find(std::uint32_t source, std::uint32_t target) {
    if (source == source_ && target == target_ && known_) return found_;
    known_ = true;
    source_ = source;
    target_ = target;
    if (!edges_.shifts.empty()) {
      found_ = arc(std::min(source, target), std::max(source, target));
      if (found_ != kNoEdge) found_ -= static_cast<std::int64_t>(edges_.shifts[from_]);
    } else {
      found_ = arc(source, target);
      if (found_ == kNoEdge && query_.either) found_ = arc(target, source);
    }
    return found_;
  }

 private:
  // The first arc that may be the witness, or kNoEdge; updates the place where the next lookup begins.
  std::int64_t arc(std::uint32_t from, std::uint32_t to) {
    if (from >= edges_.offsets.size() - 1) throw std::out_of_range("a row names a vertex that is not there");
    const std::uint64_t end = edges_.offsets[from + 1];
    std::uint64_t begin = edges_.offsets[from];
    if (started_ && from == from_ && to >= to_) begin = place_;
    started_ = true;
    from_ = from;
    to_ = to;
    place_ = lower_bound(begin, end, to);
    for (std::uint64_t at = place_; at < end && edges_.neighbors[at] == to; ++at)
      if (serves(at)) return static_cast<std::int64_t>(at);
    return kNoEdge;
  }

  // Galloping from `begin`, then bisection: fast if the next vertex is near.
  std::uint64_t lower_bound(std::uint64_t begin, std::uint64_t end, std::uint32_t to) const {
    std::uint64_t step = 1;
    while (begin + step < end && edges_.neighbors[begin + step] < to) {
      begin += step;
      step *= 2;
    }
    const auto* first = edges_.neighbors.data();
    return static_cast<std::uint64_t>(
        std::lower_bound(first + begin, first + std::min(end, begin + step + 1), to) - first);
  }

  bool serves(std::uint64_t at) const {
    if (!query_.arcs.empty() && query_.arcs[at] == 0) return false;
    return query_.labels.empty() || query_.labels[edges_.labels.empty() ? 0 : edges_.labels[at]] != 0;
  }

  const EdgeRows& edges_;
  const QueryEdge& query_;
  bool known_ = false, started_ = false;
  std::uint32_t source_ = 0, target_ = 0;
  std::int64_t found_ = kNoEdge;
  std::uint32_t from_ = 0, to_ = 0;
  std::uint64_t place_ = 0;
};

}  // namespace

std::vector<std::uint64_t> edge_shifts(const EdgeRows& edges, const Workers& workers) {
  std::vector<std::uint64_t> shifts(edges.offsets.size() - 1);
  parallel_for(workers, shifts.size(), kGrainVertices, [&](std::size_t begin, std::size_t end) {
    const auto* first = edges.neighbors.data();
    for (std::size_t v = begin; v < end; ++v) {
      const auto* row = first + edges.offsets[v];
      const auto* greater =
          std::lower_bound(row, first + edges.offsets[v + 1], static_cast<std::uint32_t>(v));
      shifts[v] = static_cast<std::uint64_t>(greater - row);
    }
  });
  std::partial_sum(shifts.begin(), shifts.end(), shifts.begin());
  return shifts;
}

void find_edges(const Block& block, const EdgeRows& edges, std::span<const QueryEdge> queries,
                std::int64_t* out, const Workers& workers) {
  const std::size_t rows = block.rows();
  parallel_for(workers, rows, kGrainRows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t query = 0; query < queries.size(); ++query) {
      Finder finder(edges, queries[query]);
      for (std::size_t row = begin; row < end; ++row) {
        const std::uint32_t* cells = block.cells.data() + row * block.columns;
        out[query * rows + row] = finder.find(cells[queries[query].source], cells[queries[query].target]);
      }
    }
  });
}

}  // namespace motiflux::rows
