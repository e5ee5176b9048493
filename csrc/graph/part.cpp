#include "graph/part.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace motiflux::graph {
namespace {

constexpr std::int64_t kNone = -1;

void check_piece(const RowPiece& piece, std::int64_t vertices) {
  const std::size_t rows = piece.ids.size();
  if (piece.begins.size() != rows || piece.ends.size() != rows)
    throw std::invalid_argument("a begin and an end for each row expected");
  for (std::size_t row = 0; row < rows; ++row)
    if (piece.ids[row] < 0 || piece.ids[row] >= vertices || piece.begins[row] < 0 ||
        piece.ends[row] < piece.begins[row] ||
        static_cast<std::uint64_t>(piece.ends[row]) > piece.neighbors.size())
      throw std::invalid_argument("rows within the entries expected");
  std::visit(
      [&](const auto& kinds) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(kinds)>, std::monostate>)
          if (kinds.size() != piece.neighbors.size())
            throw std::invalid_argument("a kind for each entry expected");
      },
      piece.kinds);
}

// Calls use(allows), where allows(at) is whether the entry at a place has an allowed kind.
template <class Use>
void with_kinds(const RowPiece& piece, const std::vector<std::uint8_t>& allowed, Use&& use) {
  std::visit(
      [&](const auto& kinds) {
        if constexpr (std::is_same_v<std::decay_t<decltype(kinds)>, std::monostate>) {
          use([](std::size_t) { return true; });
        } else if (allowed.empty()) {
          use([](std::size_t) { return true; });
        } else {
          use([&](std::size_t at) { return kinds[at] < allowed.size() && allowed[kinds[at]] != 0; });
        }
      },
      piece.kinds);
}

template <class Mask>
class PartOf final : public Part {
 public:
  explicit PartOf(std::size_t vertices) : of_(vertices), marked_(vertices), words_((vertices + 63) / 64) {}

  void clear() override {
    std::fill(of_.begin(), of_.end(), Mask{0});
    std::fill(marked_.begin(), marked_.end(), Mask{0});
    forget_rows();
  }

  void add_range(std::uint32_t query_vertex, std::int64_t first, std::int64_t last) override {
    if (first < 0 || last < first || last > vertices()) throw std::invalid_argument("no such vertices");
    for (std::int64_t v = first; v < last; ++v) of_[static_cast<std::size_t>(v)] |= bit(query_vertex);
  }

  void add(std::uint32_t query_vertex, std::span<const std::int64_t> ids) override {
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= vertices()) throw std::invalid_argument("no such vertex");
      of_[static_cast<std::size_t>(id)] |= bit(query_vertex);
    }
  }

  void lead(std::uint32_t source, const RowPiece& piece, std::span<const PartLead> leads) override {
    check_piece(piece, vertices());
    for (const PartLead& one : leads)
      with_kinds(piece, one.kinds, [&](auto&& allows) { lead_along(bit(source), piece, one, allows); });
  }

  std::uint32_t take_marked(std::uint32_t fresh, std::uint32_t known) override {
    const Mask added = static_cast<Mask>(fresh), kept = static_cast<Mask>(~known);
    Mask every = 0;
    for (std::size_t v = 0; v < of_.size(); ++v) {
      of_[v] = static_cast<Mask>((of_[v] | (marked_[v] & added)) & (marked_[v] | kept));
      every |= of_[v];
    }
    std::fill(marked_.begin(), marked_.end(), Mask{0});
    return every;
  }

  std::vector<std::int64_t> candidates(std::uint32_t mask, std::int64_t first,
                                       std::size_t most) const override {
    std::vector<std::int64_t> found;
    for (std::int64_t v = std::max<std::int64_t>(first, 0); v < vertices() && found.size() < most; ++v)
      if ((of(v) & static_cast<Mask>(mask)) != 0) found.push_back(v);
    return found;
  }

  std::pair<std::int64_t, std::int64_t> span(std::uint32_t query_vertex) const override {
    const Mask own = bit(query_vertex);
    const auto has = [&](Mask mask) { return (mask & own) != 0; };
    const auto first = std::find_if(of_.begin(), of_.end(), has);
    if (first == of_.end()) return {0, 0};
    const auto last = std::find_if(of_.rbegin(), of_.rend(), has);
    return {first - of_.begin(), of_.rend() - last};
  }

  std::size_t number() override {
    std::uint32_t before = 0;
    for (std::size_t word = 0; word < words_.size(); ++word) {
      std::uint64_t bits = 0;
      const std::size_t end = std::min(of_.size(), 64 * word + 64);
      for (std::size_t v = 64 * word; v < end; ++v) bits |= std::uint64_t{of_[v] != 0} << (v % 64);
      words_[word] = {bits, before};
      before += static_cast<std::uint32_t>(std::popcount(bits));
    }
    return size_ = before;
  }

  void begin_rows(std::vector<PartKey> keys) override {
    forget_rows();
    keys_ = std::move(keys);
    above_ = below_ = 0;
    for (const PartKey& key : keys_)
      for (const PartKey::Pair& pair : key.pairs) {
        bit(pair.target);  // throws for none
        if (pair.side >= 0) above_ |= bit(pair.source);
        if (pair.side <= 0) below_ |= bit(pair.source);
      }
    rows_.resize(keys_.size());
    // Row v is counted at [v]. Then [v + 1] is its beginning, and its end once it is filled.
    for (PartRows& rows : rows_) rows.offsets.assign(size_ + 1, 0);
    last_.assign(keys_.size(), {kNone, kNone});
  }

  std::vector<std::int64_t> rows_to_read(int side, std::int64_t first, std::size_t most) const override {
    std::vector<std::int64_t> found;
    for (std::int64_t v = std::max<std::int64_t>(first, 0); v < vertices() && found.size() < most; ++v) {
      const bool above = (of(v) & above_) != 0, below = (of(v) & below_) != 0;
      if ((above || below) && int{above} - int{below} == side) found.push_back(v);
    }
    return found;
  }

  std::uint64_t count(const RowPiece& piece) override {
    each_entry(piece, [&](std::size_t key, std::uint64_t row, auto&& entries) {
      std::uint64_t number = 0;
      entries([&](std::uint32_t) { ++number; });
      rows_[key].offsets[row] += number;
      counted_ += number;
    });
    return counted_;
  }

  void end_count() override {
    for (PartRows& rows : rows_) {
      std::uint64_t sum = 0, own = rows.offsets[0];
      rows.offsets[0] = 0;
      for (std::size_t v = 0; v < size_; ++v) {
        const std::uint64_t next = rows.offsets[v + 1];
        rows.offsets[v + 1] = sum;
        sum += own, own = next;
      }
      rows.neighbors.resize(sum);
    }
    last_.assign(keys_.size(), {kNone, kNone});
  }

  void fill(const RowPiece& piece) override {
    each_entry(piece, [&](std::size_t key, std::uint64_t row, auto&& entries) {
      PartRows& rows = rows_[key];
      std::uint64_t& at = rows.offsets[row + 1];
      entries([&](std::uint32_t number) {
        if (at >= rows.neighbors.size())
          throw std::invalid_argument("the entries that were counted expected");
        rows.neighbors[at++] = number;
      });
    });
  }

  std::vector<PartRows> take_rows() override {
    for (PartRows& rows : rows_) {
      if (rows.offsets[0] != 0 || rows.offsets[size_] != rows.neighbors.size() ||
          !std::is_sorted(rows.offsets.begin(), rows.offsets.end()))
        throw std::invalid_argument("the entries that were counted expected");
    }
    return std::exchange(rows_, {});
  }

  std::pair<std::uint64_t, std::uint64_t> weight(std::uint32_t query_vertex) const override {
    std::uint64_t number = 0, entries = 0;
    each_candidate(query_vertex, [&](std::int64_t, std::uint64_t own) { ++number, entries += own; });
    return {number, entries};
  }

  std::vector<std::int64_t> cuts(std::uint32_t query_vertex, std::size_t pieces, double each) const override {
    std::vector<std::int64_t> found = cuts_by(query_vertex, pieces, each, 1.0);
    if (found.size() == 2) found = cuts_by(query_vertex, 2, 1.0, 0.0);  // one vertex has nearly all entries
    return found;
  }

  std::size_t position(std::int64_t id) const override {
    if (id >= vertices()) return size_;
    const Word& word = words_[static_cast<std::size_t>(id) / 64];
    return word.before + static_cast<std::size_t>(std::popcount(word.bits & ((1ull << (id % 64)) - 1)));
  }

  std::size_t bytes_of_64() const override { return 2 * 64 * sizeof(Mask) + sizeof(Word); }

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;  // bits of the words before
  };

  std::int64_t vertices() const { return static_cast<std::int64_t>(of_.size()); }
  Mask of(std::int64_t v) const { return of_[static_cast<std::size_t>(v)]; }
  static Mask bit(std::uint32_t query_vertex) {
    if (query_vertex >= 8 * sizeof(Mask)) throw std::invalid_argument("no such query vertex");
    return static_cast<Mask>(Mask{1} << query_vertex);
  }

  void forget_rows() {
    rows_.clear();
    keys_.clear();
    counted_ = 0;
  }

  std::vector<std::int64_t> cuts_by(std::uint32_t query_vertex, std::size_t pieces, double of_vertex,
                                    double of_entry) const {
    const auto [number, entries] = weight(query_vertex);
    const double whole = of_vertex * static_cast<double>(number) + of_entry * static_cast<double>(entries);
    std::vector<std::int64_t> found;
    double sum = 0;
    each_candidate(query_vertex, [&](std::int64_t id, std::uint64_t own) {
      if (sum * static_cast<double>(pieces) >= whole * static_cast<double>(found.size())) found.push_back(id);
      sum += of_vertex + of_entry * static_cast<double>(own);
    });
    if (!found.empty()) found.push_back(span(query_vertex).second);
    return found;
  }

  template <class Allows>
  void lead_along(Mask own, const RowPiece& piece, const PartLead& one, Allows&& allows) {
    const Mask target = bit(one.target);
    for (std::size_t row = 0; row < piece.ids.size(); ++row) {
      const std::int64_t id = piece.ids[row];
      if ((of(id) & own) == 0) continue;
      const std::int64_t least = one.side > 0 ? std::max(one.least, id + 1) : one.least;
      const std::int64_t most = std::min(one.side < 0 ? std::min(one.most, id) : one.most, vertices());
      const std::uint32_t* const all = piece.neighbors.data();
      const std::uint32_t* const last = all + piece.ends[row];
      const std::uint32_t* at = std::lower_bound(all + piece.begins[row], last, least);
      for (; at != last && *at < most; ++at)
        if (allows(static_cast<std::size_t>(at - all))) marked_[*at] |= target;
    }
  }

  // Calls use(key, number of the row, entries) for rows that a key has; entries(take) calls take(number) for
  // each neighbour that it leads to, once.
  template <class Use>
  void each_entry(const RowPiece& piece, Use&& use) {
    check_piece(piece, vertices());
    for (std::size_t key = 0; key < keys_.size(); ++key)
      with_kinds(piece, keys_[key].kinds, [&](auto&& allows) { entries_of(key, piece, allows, use); });
  }

  template <class Allows, class Use>
  void entries_of(std::size_t key, const RowPiece& piece, Allows&& allows, Use&& use) {
    auto& [last_row, last_neighbor] = last_[key];
    for (std::size_t row = 0; row < piece.ids.size(); ++row) {
      const std::int64_t id = piece.ids[row];
      Mask above = 0, below = 0;
      for (const PartKey::Pair& pair : keys_[key].pairs) {
        if ((of(id) & bit(pair.source)) == 0) continue;
        if (pair.side >= 0) above |= bit(pair.target);
        if (pair.side <= 0) below |= bit(pair.target);
      }
      if ((above | below) == 0) continue;
      if (last_row != id) last_neighbor = kNone;
      last_row = id;
      const std::uint32_t* const all = piece.neighbors.data();
      const std::uint32_t *first = all + piece.begins[row], *last = all + piece.ends[row];
      const std::uint32_t* const middle = std::lower_bound(first, last, id);
      if (below == 0) first = middle;
      if (above == 0) last = middle;
      use(key, position(id), [&](auto&& take) {
        const auto take_all = [&](const std::uint32_t* at, const std::uint32_t* end, Mask wanted) {
          for (; at < end; ++at) {
            const std::int64_t neighbor = *at;
            if (neighbor >= vertices()) throw std::invalid_argument("no such vertex");
            if ((of(neighbor) & wanted) == 0 || neighbor == last_neighbor ||
                !allows(static_cast<std::size_t>(at - all)))
              continue;
            last_neighbor = neighbor;
            take(static_cast<std::uint32_t>(position(neighbor)));
          }
        };
        take_all(first, std::min(middle, last), below);
        take_all(std::max(first, middle), last, above);
      });
    }
  }

  // Calls use(id, entries of its rows) for candidates of a query vertex, ascending; before end_count.
  template <class Use>
  void each_candidate(std::uint32_t query_vertex, Use&& use) const {
    for (std::int64_t v = 0; v < vertices(); ++v) {
      if ((of(v) & bit(query_vertex)) == 0) continue;
      std::uint64_t entries = 0;
      for (const PartRows& rows : rows_) entries += rows.offsets[position(v)];
      use(v, entries);
    }
  }

  std::vector<Mask> of_;      // for each vertex, the query vertices whose candidate it is
  std::vector<Mask> marked_;  // and those to which a lead goes
  std::vector<Word> words_;   // which vertices are candidates
  std::size_t size_ = 0;      // number of candidates
  std::vector<PartKey> keys_;
  Mask above_ = 0, below_ = 0;  // query vertices from which keys lead to greater, and to lesser, neighbours
  std::vector<PartRows> rows_;
  std::uint64_t counted_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> last_;  // for each key, the last row and neighbour
};

}  // namespace

std::unique_ptr<Part> make_part(std::size_t vertices, std::size_t query_vertices) {
  if (query_vertices > 32) throw std::invalid_argument("at most 32 query vertices expected");
  if (query_vertices <= 8) return std::make_unique<PartOf<std::uint8_t>>(vertices);
  if (query_vertices <= 16) return std::make_unique<PartOf<std::uint16_t>>(vertices);
  return std::make_unique<PartOf<std::uint32_t>>(vertices);
}

}  // namespace motiflux::graph
