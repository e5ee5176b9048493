// The updates of a run as a resident kernel takes them, and its answers as the monitor takes them.
//
//   run.ends    a lifetime that begins: an insertion; one that ends: a deletion       updates()
//   run.roots   plans by moment; with the classes of both ends they are a kind        kinds
//   records     by moment and plan                                                    totals(), rows()
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "dynamic/flat_map.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/run_matcher.hpp"

namespace motiflux::dynamic {

// As streaming::Update, of what the host judged.
struct StreamUpdate {
  std::uint32_t source, target;
  std::uint32_t of;  // its kind
  std::uint32_t flags;
  static constexpr std::uint32_t kInserts = 1, kJudged = 2;
};
static_assert(sizeof(StreamUpdate) == 4 * sizeof(std::uint32_t));

// What updates have in common: their classes as seen from source and target, the plans that search from
// them, and the rows, by number, that they do not change although their class belongs there.
struct KindKey {
  std::uint32_t forward, back;
  std::vector<std::uint32_t> plans, skipped;
};

// The rows of a target in one direction.
struct StreamRows {
  Way way = Way::kEither;
  bool all = false;                    // of classes
  std::vector<std::uint8_t> accepted;  // by class
  bool counted = false;                // whether an entry may stand for several edges
  std::vector<std::uint64_t> entries;  // vertex, neighbour; ascending
  std::vector<std::uint32_t> edges;    // of each entry, when they were counted
};

class StreamUpdates {
 public:
  explicit StreamUpdates(bool directed) : directed_(directed) {}

  // Forgets rows and kinds: there are other plans.
  void clear();
  std::size_t num_rows() const { return rows_.size(); }
  void set_rows(std::size_t number, StreamRows rows);
  bool counts(std::size_t number) const { return number < rows_.size() && rows_[number].counted; }
  // Takes the edges that a run brings out of the counts of some rows, which have them already.
  void uncount(std::size_t number, const Run& run);

  // Lists the updates of a run that change anything. Returns kinds that are not known.
  std::vector<KindKey> begin(const Run& run);
  // Gives unknown kinds of this run their numbers, in the order of begin().
  void number_kinds(std::span<const std::uint32_t> numbers);
  std::span<const StreamUpdate> updates() const { return updates_; }
  void forget_kinds() { kinds_.clear(); }

  // Takes records of `words` words: moment (two words), plan, sign with kIsRow, then a total of four words or
  // vertices. `base`: the moment before that of the first update.
  void take(std::span<const std::uint32_t> records, std::size_t words, std::uint64_t base);
  std::vector<std::uint64_t> take_totals() { return std::move(totals_); }
  // Rows by root: its number, then `width - 1` vertices.
  std::vector<std::uint32_t> take_rows(std::size_t width);

  static constexpr std::uint32_t kIsRow = 2;
  static constexpr std::size_t kHeaderWords = 4, kCountWords = 8;

 private:
  // The edges of entries that have changed since they were counted.
  struct Entry {
    std::uint64_t key;
    bool operator==(const Entry&) const = default;
    std::uint64_t hash() const { return mixed(key); }
  };
  struct Rows : StreamRows {
    FlatMap<Entry, std::uint32_t> changed;
  };
  struct Hash {
    std::size_t operator()(const std::vector<std::uint32_t>& words) const {
      std::uint64_t sum = words.size();
      for (const std::uint32_t word : words) sum = mixed(sum ^ word) + 0x9E3779B97F4A7C15u;
      return mixed(sum);
    }
  };

  bool changes(const Rows& rows, std::uint32_t of, bool is_back) const;
  // Counts an edge of an entry; whether the entry comes or goes.
  static bool count(Rows& rows, Vertex vertex, Vertex neighbor, bool inserts);
  void skip_rows(const StreamUpdate& update, std::uint32_t forward, std::uint32_t back);
  std::uint32_t root_of(std::uint64_t moment, std::uint32_t plan, std::uint64_t base) const;

  bool directed_;
  std::vector<Rows> rows_;
  std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, Hash> kinds_;
  std::vector<std::vector<std::uint32_t>> unknown_;
  std::vector<std::vector<std::size_t>> unknown_updates_;
  std::vector<StreamUpdate> updates_;
  std::vector<std::uint32_t> first_roots_, plans_;  // plans of roots
  std::vector<std::uint64_t> totals_;
  std::vector<std::uint32_t> row_roots_, row_values_;
  std::size_t row_width_ = 0;
  std::vector<std::uint32_t> skipped_, key_;
};

}  // namespace motiflux::dynamic
