// Matches as lines of text, cells of a table or JSON.
//
//   {"sign": 1, "update": 7, "pattern": 0, "match": {"a": 3, "b": 5}, "change": {"op": "+", ...}}
//   ^head     ^middle       ^parts[0]                ^parts[1]      ^parts[2]                   ^tail
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynamic/monitor.hpp"
#include "dynamic/vertex_ids.hpp"
#include "text/updates.hpp"

namespace motiflux::feed {

// The text between the values of a line.
struct LineFormat {
  struct OfPattern {
    std::size_t slot;                // its number in the monitor
    std::vector<std::string> parts;  // before each vertex, and after the last one
  };

  std::string head, middle, tail;
  char separator = 0;               // of cells; 0: the line is JSON
  bool changes = false;             // whether the update behind a match follows it
  std::vector<OfPattern> patterns;  // those whose matches are written, in their order
};

// What lines say of a batch beside its matches.
struct BatchFacts {
  const text::UpdateBatch& updates;
  std::span<const std::int64_t> origins;  // of the updates applied, among these; empty: all are there
  const text::Dictionary* names;          // of the ids of `updates`; null: integers
  std::int64_t first;                     // number of the first update, or of the batch in batch mode
  bool in_batches;
};

// Appends a line for each match. False if an id has no form in UTF-8, or a row has another width than its
// pattern; `text` is undefined then.
bool append_lines(const LineFormat& format, const dynamic::Found& found, const dynamic::VertexIds& ids,
                  const BatchFacts& facts, std::string& text);

}  // namespace motiflux::feed
