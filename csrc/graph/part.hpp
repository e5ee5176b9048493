// The part of a sharded graph that a search from some roots needs: candidates of query vertices, then the
// rows between them, from entries that come a piece at a time.
//
//   masks of all vertices:  | 0 | 101 | 0 | 010 | 111 | ...   bit q: a candidate of query vertex q
//   masks within spans:     | 0 | 100 | 0 | 010 | 011 | ...   those in the block of query vertex q
//   numbers in the part:    | - |  0  | - |  1  |  -  | ...   ascending; of those that have entries
//   rows of a key:          CSR over these numbers
//
// Candidates are found once; then rows are gathered for spans of them, one after another.
//
// A row is that of a candidate of a query vertex whose image is matched before that of another one, and leads
// to candidates of the latter only. So an arc may be in one row and not in that of its other end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "common/zero_pages.hpp"
#include "graph/part_division.hpp"

namespace motiflux::graph {

// Rows in an array: row i is that of vertex ids[i], and has the entries from begins[i] up to ends[i], by
// ascending neighbour. Entries have kinds, or there is one kind only.
struct RowPiece {
  using Kinds = std::variant<std::monostate, std::span<const std::uint8_t>, std::span<const std::uint16_t>,
                             std::span<const std::uint32_t>>;

  std::span<const std::int64_t> ids;
  std::span<const std::int64_t> begins;
  std::span<const std::int64_t> ends;
  std::span<const std::uint32_t> neighbors;
  Kinds kinds;
};

// A query edge as it leads from the query vertex whose rows are read.
struct PartLead {
  std::uint32_t target = 0;
  std::int64_t least = 0;           // ids of the target's images: from this one
  std::int64_t most = 0;            // up to this one, without it
  int side = 0;                     // 1: greater than the row's vertex; -1: less; 0: any
  std::vector<std::uint8_t> kinds;  // for each kind of an entry, whether it may be used; empty: all
};

// The rows that some sources of a plan read.
struct PartKey {
  struct Pair {
    std::uint32_t source = 0;
    std::uint32_t target = 0;
    int side = 0;  // as PartLead::side
  };

  std::vector<Pair> pairs;
  std::vector<std::uint8_t> kinds;  // as PartLead::kinds
};

// The candidates of a query vertex from one id up to another, without it.
struct IdSpan {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Of the row of ids[i], the neighbours from least[i] up to most[i], without it; by ascending id, then
// `least`.
struct RowSlices {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> least;
  std::vector<std::int64_t> most;
};

struct PartRows {
  ZeroPages<std::uint64_t> offsets;  // those before the first row that may have entries are not written
  ZeroPages<std::uint32_t> neighbors;
};

class Part {
 public:
  virtual ~Part() = default;

  // Forgets all candidates and rows.
  virtual void clear() = 0;

  // Makes vertices candidates of a query vertex.
  virtual void add_range(std::uint32_t query_vertex, std::int64_t first, std::int64_t last) = 0;
  virtual void add(std::uint32_t query_vertex, std::span<const std::int64_t> ids) = 0;

  // Marks the neighbours to which leads go from candidates of `source`.
  virtual void lead(std::uint32_t source, const RowPiece& piece, std::span<const PartLead> leads) = 0;
  // Makes marked vertices candidates of the query vertices in the mask `fresh`, and leaves only these as
  // candidates of those in `known`. Returns the query vertices that have candidates.
  virtual std::uint32_t take_marked(std::uint32_t fresh, std::uint32_t known) = 0;

  // Leaves only those candidates of a query vertex whose bit is set: bit v % 8 of byte v / 8. Returns whether
  // there are any. Throws std::invalid_argument for another number of bytes than vertices need.
  virtual bool keep_only(std::uint32_t query_vertex, std::span<const std::uint8_t> bits) = 0;

  // At most `most` of the vertices from `first` on that are candidates of a query vertex in the mask.
  virtual std::vector<std::int64_t> candidates(std::uint32_t mask, std::int64_t first,
                                               std::size_t most) const = 0;
  // The least candidate, and the one behind the greatest; equal if there are none.
  virtual std::pair<std::int64_t, std::int64_t> span(std::uint32_t query_vertex) const = 0;

  // Begins rows of keys for candidates within spans, one for each query vertex. A key has at most `most`
  // entries; all rows have so many bytes.
  virtual void begin_rows(std::vector<PartKey> keys, std::span<const IdSpan> spans, std::uint64_t bytes,
                          std::uint64_t most) = 0;
  // The slices of rows of vertices from `first` on that keys need, of about `most` vertices.
  virtual RowSlices slices(std::int64_t first, std::size_t most) const = 0;
  // Appends the entries of a piece. Pieces come by ascending vertex and neighbour. Returns whether the rows
  // fit so far; if not, none are kept.
  virtual bool append(const RowPiece& piece) = 0;
  // Numbers the vertices that rows have, and hands over the rows of each key; nothing if they do not fit with
  // `beside` bytes for each vertex.
  virtual std::optional<std::vector<PartRows>> take_rows(std::uint64_t beside) = 0;
  // The number of the vertices of the part, and their ids; once rows were taken.
  virtual std::size_t size() const = 0;
  virtual std::vector<std::int64_t> vertices() const = 0;

  // After begin_rows: begins to weigh the entries of arcs between buckets of candidates. Buckets of a query
  // vertex lie between ascending ids.
  virtual void begin_weights(std::vector<PartKey> arcs, std::vector<std::vector<std::int64_t>> bounds) = 0;
  virtual void weigh(const RowPiece& piece) = 0;
  // Hands over the weights.
  virtual PartWeights take_weights() = 0;

  // The number of a vertex of the part, or of the first one behind it, by ascending id.
  virtual std::size_t position(std::int64_t id) const = 0;
  // Bytes that it takes for each vertex of the graph, times 64.
  virtual std::size_t bytes_of_64() const = 0;
};

// For a graph of so many vertices and a pattern of at most 32 query vertices. Throws std::invalid_argument
// for more.
std::unique_ptr<Part> make_part(std::size_t vertices, std::size_t query_vertices);

}  // namespace motiflux::graph
