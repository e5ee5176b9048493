#include "graph/number.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

namespace motiflux::graph {
namespace {

constexpr std::size_t kGrain = 1 << 15;
constexpr std::size_t kSmallestTable = 1 << 12;
constexpr std::size_t kLargestFirstTable = 1 << 20;
constexpr std::uint32_t kMostValues = std::numeric_limits<std::uint32_t>::max() - 2;

// A bitmap is used while it has at most this many bits for each entry, or this many in all.
constexpr std::uint64_t kBitsPerEntry = 8;
constexpr std::uint64_t kFewBits = 1 << 16;

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 32;
  value *= 0x9e3779b97f4a7c15u;
  value ^= value >> 29;
  value *= 0xbf58476d1ce4e5b9u;
  return value ^ value >> 32;
}

struct IntegerKeys {
  using Key = std::int64_t;
  std::uint64_t hash(Key key) const { return mixed(static_cast<std::uint64_t>(key)); }
  bool equal(Key a, Key b) const { return a == b; }
};

struct RowKeys {
  using Key = const std::uint8_t*;
  std::size_t width;

  std::uint64_t hash(Key key) const {
    std::uint64_t hash = width, word = 0;
    std::size_t at = 0;
    for (; at + 8 <= width; at += 8) {
      std::memcpy(&word, key + at, 8);
      hash = mixed(hash ^ word);
    }
    word = 0;
    std::memcpy(&word, key + at, width - at);
    return mixed(hash ^ word);
  }
  bool equal(Key a, Key b) const { return std::memcmp(a, b, width) == 0; }
};

// A hash table with linear probing that several threads fill at once, at most three quarters full.
//
//   slot   state: 0 free, 1 being written, c + 2 holds the value of code c
//          tag:   high half of the hash
//          key
//
// Codes are given in the order of arrival, which differs from run to run; callers sort.
template <class Keys>
class Distinct {
 public:
  using Key = typename Keys::Key;

  Distinct(Keys keys, std::size_t entries)
      : keys_(keys), slots_(std::bit_ceil(std::clamp(entries / 16, kSmallestTable, kLargestFirstTable))) {}

  std::size_t size() const { return count_.load(std::memory_order_relaxed); }

  // The number of entries that all threads together may look up before grow().
  std::size_t free_slots() const { return slots_.size() / 4 * 3 - size(); }

  void grow(const Workers& workers) {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    const std::size_t last = slots_.size() - 1;
    for (const Slot& slot : old) {
      workers.check();
      if (slot.state == kFree) continue;
      std::size_t place = keys_.hash(slot.key) & last;
      while (slots_[place].state != kFree) place = (place + 1) & last;
      slots_[place] = slot;
    }
  }

  std::uint32_t code(Key key) {
    const std::uint64_t hash = keys_.hash(key);
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    const std::size_t last = slots_.size() - 1;
    for (std::size_t place = hash & last;; place = (place + 1) & last) {
      Slot& slot = slots_[place];
      std::atomic_ref<std::uint32_t> state(slot.state);
      std::uint32_t found = state.load(std::memory_order_acquire);
      if (found == kFree && state.compare_exchange_strong(found, kBusy, std::memory_order_acquire)) {
        const std::uint32_t code = count_.fetch_add(1, std::memory_order_relaxed);
        slot.tag = tag;
        slot.key = key;
        state.store(code + kFirst, std::memory_order_release);
        return code;
      }
      while (found == kBusy) {  // by another thread, at the three lines above
        std::this_thread::yield();
        found = state.load(std::memory_order_acquire);
      }
      if (slot.tag == tag && keys_.equal(slot.key, key)) return found - kFirst;
    }
  }

  // Calls visit(code, key) for each value.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.state != kFree) visit(slot.state - kFirst, slot.key);
  }

 private:
  static constexpr std::uint32_t kFree = 0, kBusy = 1, kFirst = 2;
  struct Slot {
    std::uint32_t state = kFree;
    std::uint32_t tag = 0;
    Key key{};
  };

  Keys keys_;
  std::vector<Slot> slots_;  // a power of two
  std::atomic<std::uint32_t> count_{0};
};

// Sets codes[i] to the code of key_at(i) for all i below `size`, in rounds as large as the table's room.
template <class Keys, class KeyAt>
void look_up_all(Distinct<Keys>& distinct, std::vector<std::uint32_t>& codes, const Workers& workers,
                 KeyAt&& key_at) {
  for (std::size_t done = 0; done < codes.size();) {
    while (distinct.free_slots() < kSmallestTable / 2 || distinct.free_slots() < distinct.size() / 3)
      distinct.grow(workers);
    const std::size_t round = std::min(distinct.free_slots(), codes.size() - done);
    parallel_for(workers, round, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = done + begin; i < done + end; ++i) codes[i] = distinct.code(key_at(i));
    });
    done += round;
    if (distinct.size() > kMostValues) throw std::invalid_argument("more than 2^32 - 3 distinct values");
  }
}

template <class Integer>
struct Range {
  Integer low = std::numeric_limits<Integer>::max();
  Integer high = std::numeric_limits<Integer>::min();

  std::uint64_t span() const { return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low); }
};

template <class Integer>
Range<Integer> range_of(std::span<const IntegerColumn<Integer>> columns, const Workers& workers) {
  Range<Integer> range;
  std::mutex mutex;
  for (const auto& column : columns) {
    parallel_for(workers, column.size, kGrain, [&](std::size_t begin, std::size_t end) {
      Range<Integer> own;
      for (std::size_t i = begin; i < end; ++i) {
        own.low = std::min(own.low, column[i]);
        own.high = std::max(own.high, column[i]);
      }
      std::lock_guard lock(mutex);
      range.low = std::min(range.low, own.low);
      range.high = std::max(range.high, own.high);
    });
  }
  return range;
}

// The set of values, as bits from the lowest value on, and the number of values before each word.
template <class Integer>
class Bitmap {
 public:
  explicit Bitmap(const Range<Integer>& range)
      : low_(static_cast<std::uint64_t>(range.low)), words_(range.span() / 64 + 1) {}

  void add(Integer value) {
    const std::uint64_t bit = place(value);
    std::atomic_ref<std::uint64_t> word(words_[bit / 64].bits);
    const std::uint64_t mask = std::uint64_t{1} << bit % 64;
    if (!(word.load(std::memory_order_relaxed) & mask)) word.fetch_or(mask, std::memory_order_relaxed);
  }

  std::vector<std::int64_t> count() {
    std::uint64_t total = 0;
    for (Word& word : words_) {
      word.before = static_cast<std::uint32_t>(total);
      total += static_cast<std::uint64_t>(std::popcount(word.bits));
    }
    std::vector<std::int64_t> values;
    values.reserve(total);
    for (std::size_t at = 0; at < words_.size(); ++at) {
      for (std::uint64_t bits = words_[at].bits; bits; bits &= bits - 1)
        values.push_back(
            static_cast<std::int64_t>(low_ + 64 * at + static_cast<unsigned>(std::countr_zero(bits))));
    }
    return values;
  }

  std::uint32_t rank(Integer value) const {
    const std::uint64_t bit = place(value);
    const Word& word = words_[bit / 64];
    const std::uint64_t below = word.bits & ((std::uint64_t{1} << bit % 64) - 1);
    return word.before + static_cast<std::uint32_t>(std::popcount(below));
  }

 private:
  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;
  };

  std::uint64_t place(Integer value) const { return static_cast<std::uint64_t>(value) - low_; }

  std::uint64_t low_;
  std::vector<Word> words_;
};

template <class Integer>
Numbered by_bitmap(std::span<const IntegerColumn<Integer>> columns, const Range<Integer>& range,
                   const Workers& workers) {
  Bitmap<Integer> bitmap(range);
  for (const auto& column : columns) {
    parallel_for(workers, column.size, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) bitmap.add(column[i]);
    });
  }
  Numbered result{bitmap.count(), {}};
  for (const auto& column : columns) {
    std::vector<std::uint32_t>& codes = result.codes.emplace_back(column.size);
    parallel_for(workers, column.size, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) codes[i] = bitmap.rank(column[i]);
    });
  }
  return result;
}

// Sorts parts on separate threads, then merges them.
void sort_all(std::vector<std::pair<std::int64_t, std::uint32_t>>& entries, const Workers& workers) {
  const std::size_t chunks = entries.size() < kGrain ? 1 : static_cast<std::size_t>(workers.threads);
  const auto bound = [&](std::size_t chunk) {
    return entries.begin() + static_cast<std::ptrdiff_t>(entries.size() * chunk / chunks);
  };
  const auto less = [&](const auto& a, const auto& b) {
    workers.check();
    return a.first < b.first;
  };
  parallel_for(workers, chunks, 1,
               [&](std::size_t chunk, std::size_t) { std::sort(bound(chunk), bound(chunk + 1), less); });
  for (std::size_t width = 1; width < chunks; width *= 2) {
    const std::size_t pairs = (chunks + 2 * width - 1) / (2 * width);
    parallel_for(workers, pairs, 1, [&](std::size_t pair, std::size_t) {
      const std::size_t first = 2 * width * pair, middle = std::min(first + width, chunks);
      std::inplace_merge(bound(first), bound(middle), bound(std::min(first + 2 * width, chunks)), less);
    });
  }
}

template <class Integer>
Numbered by_hash(std::span<const IntegerColumn<Integer>> columns, std::size_t entry_count,
                 const Workers& workers) {
  Numbered result;
  std::vector<std::pair<std::int64_t, std::uint32_t>> entries;
  {
    Distinct<IntegerKeys> distinct(IntegerKeys{}, entry_count);
    for (const auto& column : columns) {
      std::vector<std::uint32_t>& codes = result.codes.emplace_back(column.size);
      look_up_all(distinct, codes, workers,
                  [&](std::size_t i) { return static_cast<std::int64_t>(column[i]); });
    }
    entries.reserve(distinct.size());
    distinct.for_each([&](std::uint32_t code, std::int64_t value) { entries.emplace_back(value, code); });
  }
  sort_all(entries, workers);
  std::vector<std::uint32_t> rank(entries.size());
  result.values.resize(entries.size());
  for (std::size_t place = 0; place < entries.size(); ++place) {
    result.values[place] = entries[place].first;
    rank[entries[place].second] = static_cast<std::uint32_t>(place);
  }
  for (auto& codes : result.codes) {
    parallel_for(workers, codes.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) codes[i] = rank[codes[i]];
    });
  }
  return result;
}

}  // namespace

template <class Integer>
Numbered number_integers(std::span<const IntegerColumn<Integer>> columns, const Workers& workers) {
  std::size_t entries = 0;
  for (const auto& column : columns) entries += column.size;
  if (entries == 0) return {{}, std::vector<std::vector<std::uint32_t>>(columns.size())};
  const Range<Integer> range = range_of(columns, workers);
  if (range.span() < std::max(kBitsPerEntry * entries, kFewBits)) return by_bitmap(columns, range, workers);
  return by_hash(columns, entries, workers);
}

template Numbered number_integers(std::span<const IntegerColumn<std::int64_t>>, const Workers&);
template Numbered number_integers(std::span<const IntegerColumn<std::int32_t>>, const Workers&);
template Numbered number_integers(std::span<const IntegerColumn<std::uint32_t>>, const Workers&);

NumberedRows number_rows(const ByteRows& columns, const Workers& workers) {
  NumberedRows result;
  Distinct<RowKeys> distinct(RowKeys{columns.width},
                             std::accumulate(columns.sizes.begin(), columns.sizes.end(), std::size_t{0}));
  for (std::size_t c = 0; c < columns.data.size(); ++c) {
    std::vector<std::uint32_t>& codes = result.codes.emplace_back(columns.sizes[c]);
    look_up_all(distinct, codes, workers, [&](std::size_t i) { return columns.data[c] + i * columns.width; });
  }
  result.values.resize(distinct.size() * columns.width);
  distinct.for_each([&](std::uint32_t code, const std::uint8_t* row) {
    if (columns.width) std::memcpy(result.values.data() + code * columns.width, row, columns.width);
  });
  return result;
}

}  // namespace motiflux::graph
