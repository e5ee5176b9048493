// Search over a candidate space that matches next, at each partial embedding, the level with the fewest
// candidates left. Levels name query vertices here, not the order in which they are matched.
//
//   matched      0 ── 3        every other level knows the candidates that its matched neighbours leave it,
//                |    |        and they shrink as soon as another one is matched (forward checking)
//   candidates   1:40 2:3      next is level 2; were it left with none, another vertex for the one matched
//   last
//
// Failing sets are kept as in walker_jumps.cpp: a neighbour whose row left nothing out has no part in a
// failure.
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

  // What becomes of embeddings, and of the work done.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual bool counts() const = 0;
    virtual void counted(Total embeddings) = 0;
    virtual void complete(const Vertex* values) = 0;
    virtual bool worked(std::size_t work) = 0;  // false to stop
  };

  Adaptive(const NativePlan& native_plan, const AdaptiveOrder& order, Owner& owner);

  // Starts from the first `levels` values. False, with the reason in failing(), if nothing can follow.
  bool begin(const Vertex* values, int levels);
  void end();

  // Searches with `candidate` at `level`, which the levels before lead to; false when stopped.
  bool search(int level, Vertex candidate);

  // The levels for whose vertices the last search found nothing; all if it found something.
  Levels failing() const { return failing_; }

 private:
  struct Choices {
    sets::Span set;      // what the matched neighbours leave
    Levels reasons = 0;  // those of them that left something out
    Levels neighbors = 0;
    std::size_t narrowed = 0;                  // matched neighbours
    std::vector<std::vector<Vertex>> buffers;  // by their number
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
  std::array<Vertex, view::kMaxLevels> vertex_{};  // that the values stand for
  std::array<Choices, view::kMaxLevels> choices_;
  std::vector<Saved> saved_;
  std::vector<std::size_t> begun_;  // how much was saved before each level that begin() matched
  std::size_t read_ = 0;            // elements of sets that were not reported as work yet
  Levels matched_ = 0;
  Levels failing_ = 0;
};

}  // namespace motiflux::search
