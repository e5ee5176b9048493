#include "dynamic/stream_updates.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace motiflux::dynamic {
namespace {

std::uint64_t entry_of(Vertex vertex, Vertex neighbor) {
  return std::uint64_t{vertex} << 32 | neighbor;
}

}  // namespace

void StreamUpdates::clear() {
  rows_.clear();
  kinds_.clear();
}

void StreamUpdates::set_rows(std::size_t number, StreamRows rows) {
  if (rows_.size() <= number) rows_.resize(number + 1);
  Rows& own = rows_[number];
  if (own.counted && rows.counted) {  // the counts that there are go on
    rows.entries = std::move(own.entries);
    rows.edges = std::move(own.edges);
  }
  static_cast<StreamRows&>(own) = std::move(rows);
}

bool StreamUpdates::changes(const Rows& rows, std::uint32_t of, bool is_back) const {
  if (directed_ && rows.way != Way::kEither && is_back != (rows.way == Way::kIn)) return false;
  return rows.all || (of < rows.accepted.size() && rows.accepted[of] != 0);
}

bool StreamUpdates::count(Rows& rows, Vertex vertex, Vertex neighbor, bool inserts) {
  const std::uint64_t key = entry_of(vertex, neighbor);
  std::uint32_t* edges = rows.changed.find({key});
  if (edges == nullptr) {
    const auto at = std::ranges::lower_bound(rows.entries, key);
    const bool is_there = at != rows.entries.end() && *at == key;
    edges = &rows.changed[{key}];
    *edges = is_there ? rows.edges[static_cast<std::size_t>(at - rows.entries.begin())] : 0;
  }
  const std::uint32_t before = *edges;
  if (!inserts && before == 0) throw WrongMatches("an edge that is deleted was not counted");
  *edges = inserts ? before + 1 : before - 1;
  return (before == 0) != (*edges == 0);
}

void StreamUpdates::uncount(std::size_t number, const Run& run) {
  Rows& rows = rows_.at(number);
  const RunEnd* before = nullptr;
  for (const RunEnd& end : run.all_ends()) {
    const bool is_first = before == nullptr || before->vertex != end.vertex || before->of != end.of ||
                          before->neighbor != end.neighbor;
    before = &end;
    const bool is_back = (end.of & End::kBack) != 0;
    if (is_first && end.fresh != 0 && changes(rows, end.of & ~End::kBack, is_back))
      count(rows, end.vertex, end.neighbor, false);
  }
}

// Fills skipped_.
void StreamUpdates::skip_rows(const StreamUpdate& update, std::uint32_t forward, std::uint32_t back) {
  skipped_.clear();
  const bool inserts = (update.flags & StreamUpdate::kInserts) != 0;
  for (std::size_t number = 0; number < rows_.size(); ++number) {
    Rows& rows = rows_[number];
    if (!rows.counted) continue;
    bool is_there = false, changed = false;
    if (changes(rows, forward, false)) {
      is_there = true;
      changed |= count(rows, update.source, update.target, inserts);
    }
    if (changes(rows, back, true)) {
      is_there = true;
      changed |= count(rows, update.target, update.source, inserts);
    }
    if (is_there && !changed) skipped_.push_back(static_cast<std::uint32_t>(number));
  }
}

std::vector<KindKey> StreamUpdates::begin(const Run& run) {
  struct Change {
    StreamUpdate update;
    std::uint32_t forward = 0, back = 0;
    bool is_there = false;
  };
  std::vector<Change> changes_at(run.updates);
  const auto note = [&](const RunEnd& end, Moment moment, bool inserts) {
    Change& change = changes_at.at(moment);
    const bool is_far = directed_ ? (end.of & End::kBack) != 0 : end.vertex > end.neighbor;
    change.is_there = true;
    (is_far ? change.back : change.forward) = end.of & ~End::kBack;
    change.update.source = is_far ? end.neighbor : end.vertex;
    change.update.target = is_far ? end.vertex : end.neighbor;
    change.update.flags = StreamUpdate::kJudged | (inserts ? StreamUpdate::kInserts : 0);
  };
  for (const RunEnd& end : run.all_ends()) {
    if (end.fresh != 0) note(end, end.first, true);
    if (end.last != Lifetimes::kForever) note(end, end.last, false);
  }
  const std::span<const Root> roots = run.all_roots();
  updates_.clear();
  first_roots_.clear();
  plans_.clear();
  unknown_.clear();
  unknown_updates_.clear();
  row_roots_.clear();
  row_values_.clear();
  totals_.assign(2 * roots.size(), 0);
  for (const Root& root : roots) plans_.push_back(root.plan);
  std::unordered_map<std::vector<std::uint32_t>, std::size_t, Hash> places;  // into unknown_
  std::size_t next = 0;
  for (std::size_t moment = 0; moment < changes_at.size(); ++moment) {
    Change& change = changes_at[moment];
    if (!change.is_there) continue;
    first_roots_.push_back(static_cast<std::uint32_t>(next));
    const std::size_t first = next;
    while (next < roots.size() && roots[next].moment == moment) ++next;
    if (first < next && roots[first].first != change.update.source) {
      std::swap(change.update.source, change.update.target);
      std::swap(change.forward, change.back);
    }
    skip_rows(change.update, change.forward, change.back);
    key_.assign({change.forward, change.back, static_cast<std::uint32_t>(next - first)});
    key_.insert(key_.end(), plans_.begin() + static_cast<std::ptrdiff_t>(first),
                plans_.begin() + static_cast<std::ptrdiff_t>(next));
    key_.insert(key_.end(), skipped_.begin(), skipped_.end());
    if (const auto known = kinds_.find(key_); known != kinds_.end()) {
      change.update.of = known->second;
    } else {
      const auto [place, is_new] = places.try_emplace(key_, unknown_.size());
      if (is_new) {
        unknown_.push_back(key_);
        unknown_updates_.emplace_back();
      }
      unknown_updates_[place->second].push_back(updates_.size());
    }
    updates_.push_back(change.update);
  }
  first_roots_.push_back(static_cast<std::uint32_t>(next));
  std::vector<KindKey> keys;
  for (const std::vector<std::uint32_t>& words : unknown_) {
    const auto plans_end = words.begin() + 3 + words[2];
    keys.push_back({words[0], words[1], {words.begin() + 3, plans_end}, {plans_end, words.end()}});
  }
  return keys;
}

void StreamUpdates::number_kinds(std::span<const std::uint32_t> numbers) {
  if (numbers.size() != unknown_.size()) throw WrongMatches("a number of each kind expected");
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    for (const std::size_t update : unknown_updates_[at]) updates_[update].of = numbers[at];
    kinds_[std::move(unknown_[at])] = numbers[at];
  }
  unknown_.clear();
  unknown_updates_.clear();
}

std::uint32_t StreamUpdates::root_of(std::uint64_t moment, std::uint32_t plan, std::uint64_t base) const {
  if (moment <= base || moment - base > updates_.size())
    throw WrongMatches("answers to updates of the run expected");
  const auto update = static_cast<std::size_t>(moment - base - 1);
  for (std::uint32_t root = first_roots_[update]; root < first_roots_[update + 1]; ++root)
    if (plans_[root] == plan) return root;
  throw WrongMatches("answers of plans that search from the update expected");
}

void StreamUpdates::take(std::span<const std::uint32_t> records, std::size_t words, std::uint64_t base) {
  if (words < kCountWords || records.size() % words != 0) throw WrongMatches("whole records expected");
  for (std::size_t at = 0; at < records.size(); at += words) {
    const std::uint32_t* record = records.data() + at;
    const std::uint32_t root = root_of(record[0] | std::uint64_t{record[1]} << 32, record[2], base);
    if ((record[3] & kIsRow) == 0) {
      totals_[2 * root] = record[4] | std::uint64_t{record[5]} << 32;
      totals_[2 * root + 1] = record[6] | std::uint64_t{record[7]} << 32;
      continue;
    }
    row_width_ = words - kHeaderWords;
    row_roots_.push_back(root);
    row_values_.insert(row_values_.end(), record + kHeaderWords, record + words);
  }
}

std::vector<std::uint32_t> StreamUpdates::take_rows(std::size_t width) {
  std::vector<std::uint32_t> order(row_roots_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return row_roots_[row]; });
  std::vector<std::uint32_t> table;
  table.reserve(order.size() * width);
  const std::size_t vertices = std::min(width - 1, row_width_);
  for (const std::uint32_t row : order) {
    table.push_back(row_roots_[row]);
    const auto first = row_values_.begin() + static_cast<std::ptrdiff_t>(row * row_width_);
    table.insert(table.end(), first, first + static_cast<std::ptrdiff_t>(vertices));
    table.resize(table.size() + width - 1 - vertices);
  }
  return table;
}

}  // namespace motiflux::dynamic
