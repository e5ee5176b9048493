// The seam for engines that match runs of updates elsewhere: on a GPU, or in Python for tests.
//
// The monitor stays the truth about the graph: it applies the updates, keeps copies, windows and undo, and
// writes its rows, before the run is matched or meanwhile. An engine has a copy of the rows, which it loads
// once and changes by the lifetimes of each run. It finds the matches of *roots*: pairs of vertices at levels
// 0 and 1 of a plan, each at its moment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "common/large_pages.hpp"
#include "dynamic/lifetimes.hpp"
#include "dynamic/matcher.hpp"

namespace motiflux::dynamic {

// A row of an edge that lives during part of a run: End, and whether its lifetime began in the run.
struct RunEnd {
  Vertex vertex;
  std::uint32_t of;  // the class; with End::kBack in rows of incoming edges
  Vertex neighbor;
  Moment first, last;
  std::uint32_t fresh;  // 1: the entry is to be inserted; 0: it was there before the run
};
static_assert(sizeof(RunEnd) == 6 * sizeof(std::uint32_t));

// The start of a search: only if it can have matches.
struct Root {
  std::uint32_t plan;
  Vertex first, second;  // at levels 0 and 1
  Moment moment;
};
static_assert(sizeof(Root) == 4 * sizeof(std::uint32_t));

// The rows of the candidate table that changed since those of the run before. At its moments all of them
// hold.
struct CandidateChanges {
  bool is_used = false;
  std::uint64_t version = 0, taken = 0;  // CandidateTable: taken() before the run
  std::vector<Vertex> vertices;          // ascending
  std::vector<std::uint64_t> words;      // of each vertex
};

struct Run {
  Unwritten<RunEnd> ends{0};            // sorted by vertex, class, neighbour and time
  Unwritten<Root> roots{0};             // by moment, then in the order of the plans of its gate
  Unwritten<std::uint8_t> positive{0};  // by root: whether the effect is that matches appear
  CandidateChanges candidates;
  bool one_change = false;  // all updates are one change
  bool is_written = false;  // the rows of the monitor have all its entries already
  std::size_t updates = 0;
  int threads = 1;  // that may work on it at once

  std::span<const RunEnd> all_ends() const { return {ends.data(), ends.size()}; }
  std::span<const Root> all_roots() const { return {roots.data(), roots.size()}; }
};

// The matches of a run. Numbers have two words, the low one first, and are without the plan's multiplier.
struct RunMatches {
  std::span<const std::uint64_t> totals;  // of each root; or empty
  std::span<const std::uint64_t> sums;    // of one change: by plan, of roots that vanish and that appear
  // Matches of listing plans: the number of the root, ascending, then the data vertices by level; `width`
  // words each.
  std::span<const Vertex> rows;
  std::size_t width = 1;
};

// An engine gave matches that cannot be those of the run.
struct WrongMatches : std::runtime_error {
  explicit WrongMatches(const std::string& expected)
      : std::runtime_error("an engine returned wrong matches of a run: " + expected) {}
};

class RunMatcher {
 public:
  virtual ~RunMatcher() = default;
  // Calls use(matches) once; the spans are valid until it returns. Throws Stopped if `watch` says so. write()
  // writes the run into the rows of the monitor, on its threads, or does nothing if it is written already:
  // call it in this thread while a device searches, or leave it to the monitor.
  virtual void match(const std::shared_ptr<const Run>& run, Watch& watch, const std::function<void()>& write,
                     const std::function<void(const RunMatches&)>& use) = 0;
};

}  // namespace motiflux::dynamic
