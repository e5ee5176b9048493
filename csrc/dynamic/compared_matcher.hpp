// Matches the changes of copies of a call for patterns that compare attributes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dynamic/compared_copies.hpp"
#include "dynamic/compared_pattern.hpp"
#include "dynamic/compared_search.hpp"
#include "dynamic/monitor.hpp"

namespace motiflux::dynamic {

class ComparedMatcher {
 public:
  // Both must outlive the object. `monitor` has the vertices; it need not have the edges.
  ComparedMatcher(const Copies& copies, Monitor& monitor)
      : monitor_(monitor), copies_(copies, monitor.directed()) {}
  ComparedMatcher(const ComparedMatcher&) = delete;

  ComparedCopies& copies() { return copies_; }
  const ComparedCopies& copies() const { return copies_; }
  void add_pattern(ComparedPattern pattern);
  void drop_pattern(std::size_t slot);
  bool has_patterns() const { return !patterns_.empty(); }
  // Has a query edge accept these facets, which have these labels.
  void accept(std::size_t slot, std::size_t edge, std::vector<std::uint8_t> facets,
              std::vector<Label> labels);

  // Adds the matches of the changes written by ComparedCopies::apply(), each by itself or all as one.
  // `full` is called whenever there are `most` words of rows. Throws Stopped.
  void match(const How& how, Found& found, Watch& watch, std::size_t most, const std::function<void()>& full);

  // A choice of each row of `images` at its moment, or the last one before down to `least` that has any: rows
  // of copies, one for each query edge. Throws std::logic_error if there is none, and Stopped.
  std::vector<Copies::Row> witnesses(std::size_t slot, std::span<const Vertex> images,
                                     std::span<const ComparedCopies::View> views,
                                     std::span<const ComparedCopies::Moment> least, Watch& watch);

 private:
  using Task = ComparedSearch::Task;
  struct Work {
    Task task;
    std::uint64_t update;  // in the results
    bool positive;
  };
  struct Result {
    std::size_t work, pattern;
    Total matches;
    std::size_t words;  // of the thread's rows
  };
  // Of a thread.
  struct Worker {
    std::vector<std::unique_ptr<ComparedSearch>> searches;  // by pattern
    std::vector<Result> results;
    std::vector<Column<Vertex>> rows;  // by pattern
  };

  std::vector<Work> all_work(bool batch) const;
  void match_slice(std::span<const Work> slice, int threads, Watch& watch);
  void take(std::span<const Work> slice, Found& found);

  Monitor& monitor_;
  ComparedCopies copies_;
  std::vector<std::unique_ptr<ComparedPattern>> patterns_;
  std::vector<Worker> workers_;
};

}  // namespace motiflux::dynamic
