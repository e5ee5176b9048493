#include "rows/extends.hpp"

#include <algorithm>
#include <stdexcept>

namespace motiflux::rows {
namespace {

constexpr std::size_t kGrainPaths = 1 << 10;
constexpr std::uint32_t kStepsPerLook = 1 << 14;

bool is_used(const PathEnds& ends, const std::uint32_t* cells, std::uint32_t vertex) {
  return std::ranges::any_of(ends.before, [&](std::size_t column) { return cells[column] == vertex; });
}

void check_vertex(std::uint32_t vertex, std::size_t offsets) {
  if (vertex + std::size_t{1} >= offsets) throw std::out_of_range("a row names a vertex that is not there");
}

struct OutOfTime {};

// Follows paths from one row, depth first, until one is found. Throws OutOfTime after the deadline.
class Walk {
 public:
  Walk(const PathEnds& ends, std::span<const PathStep> steps, const Workers& workers, Deadline deadline)
      : ends_(ends), steps_(steps), workers_(workers), deadline_(deadline), path_(steps.size() + 1) {}

  bool leads_on(const std::uint32_t* cells) {
    cells_ = cells;
    path_[0] = cells[ends_.start];
    for (const PathStep& step : steps_) {
      check_vertex(path_[0], step.rows.offsets.size());
      for (const Apart& one : step.apart)
        if (!one.of_path) check_vertex(cells[one.at], one.rows.offsets.size());
    }
    if (!steps_[0].reach.empty() && steps_[0].reach[path_[0]] == 0) return false;
    return follow(0);
  }

 private:
  bool follow(std::size_t at) {
    const PathStep& step = steps_[at];
    const auto row = step.rows.of(path_[at]);
    const bool is_last = at + 1 == steps_.size();
    if (is_last && ends_.end) {
      const std::uint32_t vertex = cells_[*ends_.end];
      return std::ranges::binary_search(row, vertex) && is_apart(step, vertex);
    }
    for (const std::uint32_t vertex : row) {
      if (++looks_ % kStepsPerLook == 0) look();
      if (!is_last && !steps_[at + 1].reach.empty() && steps_[at + 1].reach[vertex] == 0) continue;
      if (ends_.distinct && (is_used(ends_, cells_, vertex) || is_on_path(at, vertex))) continue;
      if (!is_apart(step, vertex)) continue;
      path_[at + 1] = vertex;
      if (is_last || follow(at + 1)) return true;
    }
    return false;
  }

  void look() const {
    workers_.check();
    if (deadline_ && std::chrono::steady_clock::now() >= *deadline_) throw OutOfTime();
  }

  bool is_on_path(std::size_t at, std::uint32_t vertex) const {
    const auto last = path_.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    return std::find(path_.begin(), last, vertex) != last;
  }

  bool is_apart(const PathStep& step, std::uint32_t vertex) const {
    return std::ranges::none_of(step.apart, [&](const Apart& one) {
      return std::ranges::binary_search(one.rows.of(one.of_path ? path_[one.at] : cells_[one.at]), vertex);
    });
  }

  const PathEnds& ends_;
  std::span<const PathStep> steps_;
  const Workers& workers_;
  Deadline deadline_;
  const std::uint32_t* cells_ = nullptr;
  std::vector<std::uint32_t> path_;
  std::uint32_t looks_ = 0;
};

}  // namespace

bool mark_extended(const Block& block, const PathEnds& ends, std::span<const PathStep> steps,
                   std::uint8_t* out, const Workers& workers, Deadline deadline) {
  try {
    parallel_for(workers, block.rows(), kGrainPaths, [&](std::size_t begin, std::size_t end) {
      Walk walk(ends, steps, workers, deadline);
      for (std::size_t row = begin; row < end; ++row)
        if (out[row] == 0) out[row] = walk.leads_on(block.cells.data() + row * block.columns) ? 1 : 0;
    });
  } catch (const OutOfTime&) {
    return false;
  }
  return true;
}

void mark_extended(const Block& block, const PathEnds& ends, std::span<const std::uint64_t> offsets,
                   std::span<const std::uint32_t> paths, std::size_t length, std::uint8_t* out,
                   const Workers& workers) {
  parallel_for(workers, block.rows(), kGrainPaths, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      if (out[row] != 0) continue;
      const std::uint32_t* cells = block.cells.data() + row * block.columns;
      const std::uint32_t start = cells[ends.start];
      check_vertex(start, offsets.size());
      for (std::uint64_t at = offsets[start]; at < offsets[start + 1] && out[row] == 0; ++at) {
        const auto path = paths.subspan(at * length, length);
        const auto fresh = ends.end ? path.first(length - 1) : path;
        if (ends.end && path.back() != cells[*ends.end]) continue;
        if (ends.distinct && std::ranges::any_of(fresh, [&](auto one) { return is_used(ends, cells, one); }))
          continue;
        out[row] = 1;
      }
    }
  });
}

}  // namespace motiflux::rows
