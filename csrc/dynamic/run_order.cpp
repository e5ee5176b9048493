// The order in which threads match the updates of a run whose searches read each row once: by the end with
// the longer row, whose marks (dynamic/marked_rows.hpp) then serve several updates.
#include <algorithm>
#include <atomic>
#include <vector>

#include "dynamic/by_vertex.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/sort_by.hpp"
#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

// Fewer tasks are sorted by comparison.
constexpr std::size_t kFew = 1024;

// Updates whose rows are prefetched.
constexpr std::size_t kAhead = 8;

}  // namespace

// The updates that may have matches, by vertex and moment.
Unwritten<Monitor::Task> Monitor::tasks_by_row(std::span<const Update> run, int threads, Watch& watch) const {
  const int slices = threads_for(run.size(), threads);
  const Rows& out = graph_.rows(Way::kOut);
  const Rows& in = graph_.rows(Way::kIn);
  const auto length = [&](Vertex vertex) {
    return std::size_t{out.degree(vertex)} + (graph_.directed() ? in.degree(vertex) : 0);
  };
  std::vector<std::vector<Task>> found(static_cast<std::size_t>(slices));
  ByVertex<Task> sorted;
  sorted.start(run.size(), graph_.vertices(), slices);
  for_each_partition(slices, threads, watch, [&](int slice, Watch&) {
    std::vector<Task>& tasks = found[static_cast<std::size_t>(slice)];
    const std::size_t first = begin_of_slice(run.size(), slice, slices);
    const std::size_t last = begin_of_slice(run.size(), slice + 1, slices);
    tasks.reserve(last - first);
    for (std::size_t number = first; number < last; ++number) {
      if (number + kAhead < last) graph_.prefetch(run[number + kAhead].edge);
      if (!is_task(number)) continue;
      const auto [source, target, label] = run[number].edge;
      const Vertex row = length(source) < length(target) ? target : source;
      tasks.push_back({row, static_cast<Moment>(number)});
      sorted.count(slice, row);
    }
  });
  sorted.place();
  for_each_partition(slices, threads, watch, [&](int slice, Watch&) {
    for (const Task& one : found[static_cast<std::size_t>(slice)]) sorted.put(slice, one.row, one);
  });
  Unwritten<Task> tasks(sorted.size());
  const auto pieces = sorted.pieces();
  std::atomic<std::size_t> next{0};
  with_others(slices, watch, [&](int, Watch& guarded) {
    std::vector<Task> own, scratch;
    for (std::size_t number; (number = next.fetch_add(1, std::memory_order_relaxed)) < pieces.size();) {
      const std::size_t first = sorted.take(pieces[number], own);
      if (own.size() < kFew)
        std::ranges::stable_sort(own, {}, &Task::row);
      else
        sort_by(own, scratch, graph_.vertices() - 1, [](const Task& one) { return one.row; });
      std::ranges::copy(own, tasks.data() + first);
      if (!guarded.keep_going()) throw Stopped();
    }
  });
  return tasks;
}

}  // namespace motiflux::dynamic
