// What a search tells of the embeddings that it finds.
#pragma once

#include <cstdint>

#include "common/total.hpp"
#include "common/wide.hpp"
#include "sets/span.hpp"

namespace motiflux::search {

// Receives the candidates of the last level.
class Visitor {
 public:
  virtual ~Visitor() = default;
  // `prefix` has the values of levels 0..k-2; each value of `last`, already filtered, completes an embedding.
  virtual void rows(const std::uint32_t* prefix, sets::Span last) = 0;
  virtual void count(Total embeddings) = 0;
  // The same for numbers that a Total might not hold.
  virtual void count_wide(const Wide& embeddings) = 0;
  // Whether it stops once some number below 2^64 is passed.
  virtual bool is_limited() const { return false; }
  // Called every few thousand steps; false to stop.
  virtual bool keep_going() = 0;
};

}  // namespace motiflux::search
