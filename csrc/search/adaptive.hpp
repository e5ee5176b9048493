// Search over a candidate space that matches next, at each partial embedding, the level with the fewest
// candidates left. Levels name query vertices here, not the order in which they are matched.
//
//   matched      0 ── 3        each other level holds the candidates that its matched neighbours leave,
//                |    |        which shrink at once when another is matched (forward checking)
//   candidates   1:40 2:3      next: level 2; if it had none: another vertex for the level matched
//   last
//
// Failing sets are computed as in walker_jumps.cpp: a neighbour whose row excluded no candidate has no part
// in a failure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/total.hpp"
#include "search/native_plan.hpp"

namespace motiflux::search {

class Adaptive {
 public:
  using Vertex = std::uint32_t;
  using Levels = std::uint32_t;  // a bit mask

  // Receives embeddings and reports of work.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual bool counts() const = 0;
    virtual void counted(Total embeddings) = 0;
    virtual void complete(const Vertex* values) = 0;
    virtual bool worked(std::size_t work) = 0;  // false to stop
  };

  Adaptive(const NativePlan& native_plan, const AdaptiveOrder& order, Owner& owner);

  // Starts from the first `levels` values. False, with the reason in failing(), if a level has no candidates.
  bool begin(const Vertex* values, int levels);
  void end();

  // Searches with `candidate` at `level`, the level after those of begin(); false when stopped.
  bool search(int level, Vertex candidate);

  // The levels whose vertices made the last search fail; all levels if it found an embedding.
  Levels failing() const { return failing_; }

 private:
  struct Choices {
    sets::Span set;      // candidates that the matched neighbours leave
    Levels reasons = 0;  // neighbours that excluded a candidate
    Levels neighbors = 0;
    std::size_t narrowed = 0;                  // matched neighbours
    std::vector<std::vector<Vertex>> buffers;  // by number of matched neighbours
  };
  struct Saved {
    int level;
    sets::Span set;
    Levels reasons;
  };

  int fewest() const;
  bool visit(int level);
  bool only_leaves() const;
  bool count_leaves();
  bool visit_last(int level, sets::Span candidates, Levels failing);
  bool match(int level, Vertex value);
  void unmatch(int level, std::size_t saved);
  bool narrow(const AdaptiveOrder::Link& link, Vertex value);
  sets::Span clipped(int level, Levels& reasons) const;
  Levels taken_by(int level, Vertex candidate) const;

  const NativePlan& native_plan_;
  const AdaptiveOrder& order_;
  Owner& owner_;
  const bool jumps_;
  const Levels all_;
  std::array<Vertex, view::kMaxLevels> value_{};
  std::array<Vertex, view::kMaxLevels> vertex_{};  // the data vertices of the values
  std::array<Choices, view::kMaxLevels> choices_;
  std::vector<Saved> saved_;
  std::vector<std::size_t> begun_;  // size of saved_ before each level that begin() matched
  std::size_t read_ = 0;            // elements of sets read but not reported as work yet
  Levels matched_ = 0;
  Levels failing_ = 0;
};

}  // namespace motiflux::search
