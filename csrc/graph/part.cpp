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
  explicit PartOf(std::size_t vertices) : of_(vertices), within_(vertices), words_((vertices + 63) / 64) {}

  void clear() override {
    std::fill(of_.begin(), of_.end(), Mask{0});
    std::fill(within_.begin(), within_.end(), Mask{0});
    forget_rows();
  }

  void add_range(std::uint32_t query_vertex, std::int64_t first, std::int64_t last) override {
    if (first < 0 || last < first || last > number_of_vertices())
      throw std::invalid_argument("no such vertices");
    for (std::int64_t v = first; v < last; ++v) of_[static_cast<std::size_t>(v)] |= bit(query_vertex);
  }

  void add(std::uint32_t query_vertex, std::span<const std::int64_t> ids) override {
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= number_of_vertices()) throw std::invalid_argument("no such vertex");
      of_[static_cast<std::size_t>(id)] |= bit(query_vertex);
    }
  }

  void lead(std::uint32_t source, const RowPiece& piece, std::span<const PartLead> leads) override {
    check_piece(piece, number_of_vertices());
    for (const PartLead& one : leads)
      with_kinds(piece, one.kinds, [&](auto&& allows) { lead_along(bit(source), piece, one, allows); });
  }

  std::uint32_t take_marked(std::uint32_t fresh, std::uint32_t known) override {
    const Mask added = static_cast<Mask>(fresh), kept = static_cast<Mask>(~known);
    Mask every = 0;
    for (std::size_t v = 0; v < of_.size(); ++v) {
      of_[v] = static_cast<Mask>((of_[v] | (within_[v] & added)) & (within_[v] | kept));
      every |= of_[v];
    }
    std::fill(within_.begin(), within_.end(), Mask{0});
    return every;
  }

  bool keep_only(std::uint32_t query_vertex, std::span<const std::uint8_t> bits) override {
    if (bits.size() != (of_.size() + 7) / 8) throw std::invalid_argument("a bit for each vertex expected");
    const Mask own = bit(query_vertex), others = static_cast<Mask>(~own);
    Mask every = 0;
    for (std::size_t v = 0; v < of_.size(); ++v) {
      const bool kept = ((bits[v / 8] >> (v % 8)) & 1) != 0;
      of_[v] &= kept ? static_cast<Mask>(~Mask{0}) : others;
      every |= of_[v];
    }
    return (every & own) != 0;
  }

  std::vector<std::int64_t> candidates(std::uint32_t mask, std::int64_t first,
                                       std::size_t most) const override {
    std::vector<std::int64_t> found;
    for (std::int64_t v = std::max<std::int64_t>(first, 0); v < number_of_vertices() && found.size() < most;
         ++v)
      if ((of(v) & static_cast<Mask>(mask)) != 0) found.push_back(v);
    return found;
  }

  std::pair<std::int64_t, std::int64_t> span(std::uint32_t query_vertex) const override {
    const IdSpan found = span_of(of_, bit(query_vertex));
    return {found.first, found.last};
  }

  void begin_rows(std::vector<PartKey> keys, std::span<const IdSpan> spans, std::uint64_t bytes,
                  std::uint64_t most) override {
    forget_rows();
    keys_ = std::move(keys);
    keep_within(spans);
    leads_.clear();
    having_rows_ = {number_of_vertices(), 0};
    for (const PartKey& key : keys_)
      for (const PartKey::Pair& pair : key.pairs) {
        const IdSpan sources = span_within(pair.source, spans);
        if (sources.first == sources.last) continue;
        having_rows_.first = std::min(having_rows_.first, sources.first);
        having_rows_.last = std::max(having_rows_.last, sources.last);
        leads_.push_back({bit(pair.source), pair.side, span_within(pair.target, spans)});
      }
    bytes_ = bytes;
    rows_.resize(keys_.size());
    // Pages that are not written take no memory.
    for (Listed& rows : rows_) rows.neighbors.reserve(std::min(most, bytes / sizeof(std::uint32_t)));
  }

  std::size_t size() const override { return size_; }

  std::vector<std::int64_t> vertices() const override {
    std::vector<std::int64_t> found;
    found.reserve(size_);
    for (std::size_t word = 0; word < words_.size(); ++word)
      for (std::uint64_t bits = words_[word].bits; bits != 0; bits &= bits - 1)
        found.push_back(static_cast<std::int64_t>(64 * word) + std::countr_zero(bits));
    return found;
  }

  RowSlices slices(std::int64_t first, std::size_t most) const override {
    RowSlices found;
    std::vector<IdSpan> own;
    const std::int64_t begin = std::max<std::int64_t>(first, having_rows_.first);
    for (std::int64_t v = begin; v < having_rows_.last && found.ids.size() < most; ++v) {
      const Mask mask = within_[static_cast<std::size_t>(v)];
      if (mask == 0) continue;
      own.clear();
      for (const Leads& one : leads_) {
        if ((mask & one.source) == 0) continue;
        const IdSpan slice = side_of(one.to, one.side, v);
        if (slice.first < slice.last) own.push_back(slice);
      }
      if (own.size() > 1) merge(own);
      for (const IdSpan& slice : own) {
        found.ids.push_back(v);
        found.least.push_back(slice.first);
        found.most.push_back(slice.last);
      }
    }
    return found;
  }

  bool append(const RowPiece& piece) override {
    check_piece(piece, number_of_vertices());
    if (rows_.size() != keys_.size()) throw std::invalid_argument("rows that were begun expected");
    for (std::size_t key = 0; key < keys_.size(); ++key)
      with_kinds(piece, keys_[key].kinds, [&](auto&& allows) { append_to(key, piece, allows); });
    if (bytes_of_lists() <= bytes_) return true;
    rows_.clear();
    return false;
  }

  std::optional<std::vector<PartRows>> take_rows(std::uint64_t beside) override {
    for (Word& word : words_) word = {};
    for (const Listed& rows : rows_) {
      for (const Row& row : rows.rows) words_[row.id / 64].bits |= std::uint64_t{1} << (row.id % 64);
      for (const std::uint32_t id : rows.neighbors) words_[id / 64].bits |= std::uint64_t{1} << (id % 64);
    }
    number();
    std::uint64_t bytes = beside * (size_ + 1), largest = 0;
    for (const Listed& rows : rows_) {
      const std::size_t first = rows.rows.empty() ? size_ : position(rows.rows.front().id);
      bytes += rows.neighbors.size() * sizeof(std::uint32_t) + (size_ + 1 - first) * sizeof(std::uint64_t);
      largest = std::max<std::uint64_t>(largest, rows.rows.size() * sizeof(Row));
    }
    std::vector<PartRows> made;
    if (bytes + largest > bytes_) {
      rows_.clear();
      return std::nullopt;
    }
    for (Listed& rows : std::exchange(rows_, {})) {
      ZeroPages<std::uint64_t> offsets(size_ + 1);
      std::uint64_t entries = 0;
      std::size_t next = rows.rows.empty() ? size_ : position(rows.rows.front().id);
      for (const Row& row : rows.rows) {
        for (const std::size_t end = position(row.id); next <= end; ++next) offsets[next] = entries;
        entries += row.entries;
      }
      for (; next <= size_; ++next) offsets[next] = entries;
      for (std::uint32_t& neighbor : rows.neighbors)
        neighbor = static_cast<std::uint32_t>(position(neighbor));
      made.push_back({std::move(offsets), std::move(rows.neighbors)});
    }
    return made;
  }

  void begin_weights(std::vector<PartKey> arcs, std::vector<std::vector<std::int64_t>> bounds) override {
    weights_ = PartWeights();
    arcs_ = std::move(arcs);
    for (std::size_t word = 0; word < words_.size(); ++word) {
      words_[word] = {};
      const std::size_t end = std::min(within_.size(), 64 * word + 64);
      for (std::size_t v = 64 * word; v < end; ++v)
        words_[word].bits |= std::uint64_t{within_[v] != 0} << (v % 64);
    }
    number();
    for (const std::vector<std::int64_t>& one : bounds)
      if (one.empty() || !std::is_sorted(one.begin(), one.end()))
        throw std::invalid_argument("ascending bounds of buckets expected");
    for (std::uint32_t vertex = 0; vertex < bounds.size(); ++vertex) {
      const Mask own = bit(vertex);
      std::vector<std::uint64_t> before, numbers;
      std::uint64_t sum = 0;
      std::int64_t v = std::clamp<std::int64_t>(bounds[vertex].front(), 0, number_of_vertices());
      for (const std::int64_t end : bounds[vertex]) {
        for (; v < std::min(end, number_of_vertices()); ++v)
          sum += (within_[static_cast<std::size_t>(v)] & own) != 0;
        before.push_back(sum);
        numbers.push_back(position(std::max<std::int64_t>(end, 0)));
      }
      weights_.candidates.push_back(std::move(before));
      weights_.numbers.push_back(std::move(numbers));
    }
    weights_.bounds = std::move(bounds);
    for (const PartKey& arc : arcs_) {
      if (arc.pairs.empty()) throw std::invalid_argument("a pair for each arc expected");
      const std::uint32_t source = arc.pairs[0].source;
      for (const PartKey::Pair& pair : arc.pairs)
        if (pair.source != source || std::max(source, pair.target) >= weights_.bounds.size())
          throw std::invalid_argument("pairs of one source, and buckets of each query vertex expected");
      const std::uint32_t target = arc.pairs.size() == 1 ? arc.pairs[0].target : PartWeights::kAllTargets;
      const std::size_t cells = weights_.buckets(source) * weights_.buckets(target);
      weights_.arcs.push_back({source, target, std::vector<std::uint32_t>(cells)});
    }
  }

  void weigh(const RowPiece& piece) override {
    check_piece(piece, number_of_vertices());
    for (std::size_t arc = 0; arc < arcs_.size(); ++arc)
      with_kinds(piece, arcs_[arc].kinds, [&](auto&& allows) { weigh_arc(arc, piece, allows); });
  }

  PartWeights take_weights() override {
    rows_.clear();
    return std::exchange(weights_, {});
  }

  std::size_t position(std::int64_t id) const override {
    if (id >= number_of_vertices()) return size_;
    const Word& word = words_[static_cast<std::size_t>(id) / 64];
    return word.before + static_cast<std::size_t>(std::popcount(word.bits & ((1ull << (id % 64)) - 1)));
  }

  std::size_t bytes_of_64() const override { return 2 * 64 * sizeof(Mask) + sizeof(Word); }

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;  // bits of the words before
  };

  std::int64_t number_of_vertices() const { return static_cast<std::int64_t>(of_.size()); }
  Mask of(std::int64_t v) const { return of_[static_cast<std::size_t>(v)]; }
  static Mask bit(std::uint32_t query_vertex) {
    if (query_vertex >= 8 * sizeof(Mask)) throw std::invalid_argument("no such query vertex");
    return static_cast<Mask>(Mask{1} << query_vertex);
  }

  void forget_rows() {
    rows_.clear();
    keys_.clear();
  }

  // Keeps the candidates within spans, which are a part.
  void keep_within(std::span<const IdSpan> spans) {
    if (spans.size() > 8 * sizeof(Mask)) throw std::invalid_argument("a span of each query vertex expected");
    std::vector<std::int64_t> ends{0, number_of_vertices()};
    for (const IdSpan& one : spans)
      for (const std::int64_t id : {one.first, one.last})
        ends.push_back(std::clamp<std::int64_t>(id, 0, number_of_vertices()));
    std::sort(ends.begin(), ends.end());
    for (std::size_t at = 0; at + 1 < ends.size(); ++at) {
      Mask open = 0;  // query vertices whose spans have these ids
      for (std::uint32_t vertex = 0; vertex < spans.size(); ++vertex)
        if (spans[vertex].first <= ends[at] && ends[at] < spans[vertex].last) open |= bit(vertex);
      for (auto v = static_cast<std::size_t>(ends[at]); v < static_cast<std::size_t>(ends[at + 1]); ++v)
        within_[v] = static_cast<Mask>(of_[v] & open);
    }
  }

  // Numbers the vertices in `words_`.
  void number() {
    std::uint32_t before = 0;
    for (Word& word : words_) {
      word.before = before;
      before += static_cast<std::uint32_t>(std::popcount(word.bits));
    }
    size_ = before;
  }

  std::uint64_t bytes_of_lists() const {
    std::uint64_t bytes = 0;
    for (const Listed& rows : rows_)
      bytes += rows.neighbors.size() * sizeof(std::uint32_t) + rows.rows.size() * sizeof(Row);
    return bytes;
  }

  // The neighbours of a row within a span, on one side of its vertex.
  static IdSpan side_of(const IdSpan& span, int side, std::int64_t id) {
    return {side > 0 ? std::max(span.first, id + 1) : span.first,
            side < 0 ? std::min(span.last, id) : span.last};
  }

  // Sorts spans, and joins those that overlap.
  static void merge(std::vector<IdSpan>& spans) {
    std::sort(spans.begin(), spans.end(),
              [](const IdSpan& one, const IdSpan& other) { return one.first < other.first; });
    std::size_t last = 0;
    for (std::size_t at = 1; at < spans.size(); ++at) {
      if (spans[at].first <= spans[last].last)
        spans[last].last = std::max(spans[last].last, spans[at].last);
      else
        spans[++last] = spans[at];
    }
    spans.resize(last + 1);
  }

  static IdSpan span_of(std::span<const Mask> masks, Mask own) {
    const auto has = [&](Mask mask) { return (mask & own) != 0; };
    const auto first = std::find_if(masks.begin(), masks.end(), has);
    if (first == masks.end()) return {};
    const auto last = std::find_if(masks.rbegin(), masks.rend(), has);
    return {first - masks.begin(), masks.rend() - last};
  }

  // The span of the candidates of a query vertex, which lies within the given one.
  IdSpan span_within(std::uint32_t query_vertex, std::span<const IdSpan> spans) const {
    if (query_vertex >= spans.size()) return span_of(within_, bit(query_vertex));
    const std::int64_t first = std::clamp<std::int64_t>(spans[query_vertex].first, 0, number_of_vertices());
    const std::int64_t last = std::clamp<std::int64_t>(spans[query_vertex].last, first, number_of_vertices());
    const IdSpan found = span_of(
        std::span(within_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)),
        bit(query_vertex));
    return found.first < found.last ? IdSpan{found.first + first, found.last + first} : IdSpan{};
  }

  template <class Allows>
  void lead_along(Mask own, const RowPiece& piece, const PartLead& one, Allows&& allows) {
    const Mask target = bit(one.target);
    for (std::size_t row = 0; row < piece.ids.size(); ++row) {
      const std::int64_t id = piece.ids[row];
      if ((of(id) & own) == 0) continue;
      const std::int64_t least = one.side > 0 ? std::max(one.least, id + 1) : one.least;
      const std::int64_t most =
          std::min(one.side < 0 ? std::min(one.most, id) : one.most, number_of_vertices());
      const std::uint32_t* const all = piece.neighbors.data();
      const std::uint32_t* const last = all + piece.ends[row];
      const std::uint32_t* at = std::lower_bound(all + piece.begins[row], last, least);
      for (; at != last && *at < most; ++at)
        if (allows(static_cast<std::size_t>(at - all))) within_[*at] |= target;
    }
  }

  // Calls take(neighbor) for those neighbours of a row, each once, that are allowed and candidates of `above`
  // or, if less than the row's vertex, of `below`. `before`: the last one that was taken of this row.
  template <class Allows, class Take>
  void take_wanted(const RowPiece& piece, std::size_t row, Mask above, Mask below, IdSpan within,
                   std::int64_t before, Allows&& allows, Take&& take) const {
    const std::int64_t id = piece.ids[row];
    const std::uint32_t* const all = piece.neighbors.data();
    const std::uint32_t *first = all + piece.begins[row], *last = all + piece.ends[row];
    if (below == 0) first = std::lower_bound(first, last, id);
    if (above == 0) last = std::lower_bound(first, last, id);
    if (within.first > 0) first = std::lower_bound(first, last, within.first);
    for (const std::uint32_t* at = first; at < last; ++at) {
      const std::int64_t neighbor = *at;
      if (neighbor >= number_of_vertices()) throw std::invalid_argument("no such vertex");
      if (neighbor >= within.last) return;
      const Mask targets = neighbor > id ? above : below;
      if ((within_[static_cast<std::size_t>(neighbor)] & targets) == 0 || neighbor == before ||
          !allows(static_cast<std::size_t>(at - all)))
        continue;
      before = neighbor;
      take(*at);
    }
  }

  template <class Allows>
  void append_to(std::size_t key, const RowPiece& piece, Allows&& allows) {
    Listed& rows = rows_[key];
    for (std::size_t row = 0; row < piece.ids.size(); ++row) {
      const std::int64_t id = piece.ids[row];
      const auto [above, below] = wanted(keys_[key], within_[static_cast<std::size_t>(id)]);
      if ((above | below) == 0) continue;
      if (id < rows.last) throw std::invalid_argument("ascending rows expected");
      const bool goes_on = id == rows.last;
      rows.last = id;
      std::int64_t before =
          goes_on && !rows.rows.empty() && rows.rows.back().id == id ? rows.neighbors.back() : kNone;
      const std::size_t size = rows.neighbors.size();
      take_wanted(piece, row, above, below, {0, number_of_vertices()}, before, allows,
                  [&](std::uint32_t neighbor) { rows.neighbors.push_back(neighbor); });
      const auto entries = static_cast<std::uint32_t>(rows.neighbors.size() - size);
      if (entries == 0) continue;
      if (!rows.rows.empty() && rows.rows.back().id == id)
        rows.rows.back().entries += entries;
      else
        rows.rows.push_back({static_cast<std::uint32_t>(id), entries});
    }
  }

  template <class Allows>
  void weigh_arc(std::size_t arc, const RowPiece& piece, Allows&& allows) {
    PartWeights::Arc& weighed = weights_.arcs[arc];
    const std::vector<std::int64_t>& rows = weights_.bounds[weighed.source];
    const std::vector<std::int64_t> all_columns{0, number_of_vertices()};
    const bool one_target = weighed.target != PartWeights::kAllTargets;
    const std::vector<std::int64_t>& columns = one_target ? weights_.bounds[weighed.target] : all_columns;
    const std::size_t width = columns.size() - 1;
    if (width == 0) return;
    const Mask from = bit(weighed.source);
    const auto [above, below] = wanted(arcs_[arc], from);
    for (std::size_t row = 0; row < piece.ids.size(); ++row) {
      const std::int64_t id = piece.ids[row];
      if ((within_[static_cast<std::size_t>(id)] & from) == 0 || id < rows.front() || id >= rows.back())
        continue;
      const auto bucket = std::upper_bound(rows.begin(), rows.end(), id) - rows.begin() - 1;
      std::uint32_t* const cells = weighed.cells.data() + static_cast<std::size_t>(bucket) * width;
      std::size_t column = 0;
      take_wanted(piece, row, above, below, {columns.front(), columns.back()}, kNone, allows,
                  [&](std::int64_t neighbor) {
                    while (neighbor >= columns[column + 1]) ++column;
                    if (cells[column] != UINT32_MAX) ++cells[column];
                  });
    }
  }

  // The query vertices to which a key leads from candidates in the mask: to greater ones, and to lesser ones.
  static std::pair<Mask, Mask> wanted(const PartKey& key, Mask own) {
    Mask above = 0, below = 0;
    for (const PartKey::Pair& pair : key.pairs) {
      if ((own & bit(pair.source)) == 0) continue;
      if (pair.side >= 0) above |= bit(pair.target);
      if (pair.side <= 0) below |= bit(pair.target);
    }
    return {above, below};
  }

  struct Row {
    std::uint32_t id = 0;
    std::uint32_t entries = 0;
  };
  // Rows that have entries, which are ids.
  struct Listed {
    std::vector<Row> rows;
    ZeroPages<std::uint32_t> neighbors;
    std::int64_t last = kNone;  // the last vertex that may have a row
  };
  struct Leads {
    Mask source = 0;
    int side = 0;
    IdSpan to;
  };

  std::vector<Mask> of_;      // for each vertex, the query vertices whose candidate it is
  std::vector<Mask> within_;  // those whose spans have it; before that, those to which a lead goes
  std::vector<Word> words_;   // which vertices are in the part
  std::size_t size_ = 0;      // their number
  std::vector<PartKey> keys_;
  std::vector<Leads> leads_;  // of all keys
  IdSpan having_rows_;        // candidates that may have a row
  std::vector<Listed> rows_;  // of each key
  std::uint64_t bytes_ = 0;
  std::vector<PartKey> arcs_;
  PartWeights weights_;
};

}  // namespace

std::unique_ptr<Part> make_part(std::size_t vertices, std::size_t query_vertices) {
  if (query_vertices > 32) throw std::invalid_argument("at most 32 query vertices expected");
  if (query_vertices <= 8) return std::make_unique<PartOf<std::uint8_t>>(vertices);
  if (query_vertices <= 16) return std::make_unique<PartOf<std::uint16_t>>(vertices);
  return std::make_unique<PartOf<std::uint32_t>>(vertices);
}

}  // namespace motiflux::graph
