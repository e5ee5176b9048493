#include "local_counts/words.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>

namespace motiflux::local_counts {
namespace {

constexpr std::size_t kGrain = 1 << 16;

// The number of words up to the highest nonzero one; at least one.
std::size_t length(const std::uint64_t* number, std::size_t width) {
  while (width > 1 && number[width - 1] == 0) --width;
  return width;
}

// into += a * b, in the words of `into`, which hold the result.
void add_product(std::uint64_t* into, std::size_t width, const std::uint64_t* a, std::size_t of_a,
                 const std::uint64_t* b, std::size_t of_b) {
  for (std::size_t i = 0; i < of_a; ++i) {
    Total carry = 0;
    for (std::size_t j = 0; i + j < width && (j < of_b || carry != 0); ++j) {
      carry += into[i + j];
      if (j < of_b) carry += Total{a[i]} * b[j];
      into[i + j] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
  }
}

// into -= less; returns whether the result is negative.
bool take_away(std::uint64_t* into, const std::uint64_t* less, std::size_t width) {
  std::uint64_t borrow = 0;
  for (std::size_t at = 0; at < width; ++at) {
    const Total left = Total{into[at]} - less[at] - borrow;
    into[at] = static_cast<std::uint64_t>(left);
    borrow = left >> 64 != 0;
  }
  return borrow != 0;
}

// The numbers with as many words as the longest needs.
OwnedTable trimmed(OwnedTable table, const Workers& workers) {
  const std::size_t size = table.words.size() / table.width;
  std::atomic<std::size_t> longest{1};
  parallel_for(workers, size, kGrain, [&](std::size_t begin, std::size_t end) {
    std::size_t most = 1;
    for (std::size_t at = begin; at < end; ++at)
      most = std::max(most, length(table.words.data() + at * table.width, table.width));
    std::size_t known = longest.load();
    while (known < most && !longest.compare_exchange_weak(known, most)) {
    }
  });
  const std::size_t width = longest;
  if (width == table.width) return table;
  OwnedTable result{std::vector<std::uint64_t>(size * width), width};
  parallel_for(workers, size, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at)
      std::copy_n(table.words.data() + at * table.width, width, result.words.data() + at * width);
  });
  return result;
}

// Makes a table of one word per number by narrow(at, number), which returns whether a word was too short; if
// one was, a table of `width` words by wide(at, number), given zeros.
template <class Narrow, class Wider>
OwnedTable make(const Workers& workers, std::size_t size, bool try_narrow, std::size_t width, Narrow&& narrow,
                Wider&& wide) {
  if (try_narrow) {
    OwnedTable result{std::vector<std::uint64_t>(size), 1};
    std::atomic<bool> over{false};
    parallel_for(workers, size, kGrain, [&](std::size_t begin, std::size_t end) {
      bool passed = false;
      for (std::size_t at = begin; at < end; ++at) passed |= narrow(at, result.words[at]);
      if (passed) over.store(true, std::memory_order_relaxed);
    });
    if (!over) return result;
  }
  OwnedTable result{std::vector<std::uint64_t>(size * width, 0), width};
  parallel_for(workers, size, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) wide(at, result.words.data() + at * width);
  });
  return trimmed(std::move(result), workers);
}

template <class At>
OwnedTable spread(const Table& table, const view::Adjacency& rows, std::uint32_t vertices,
                  const Workers& workers, At&& at) {
  OwnedTable result{std::vector<std::uint64_t>(rows.offsets[vertices] * table.width), table.width};
  const std::span offsets(rows.offsets, std::size_t{vertices} + 1);
  parallel_rows(workers, offsets, kGrain, [&](std::size_t begin, std::size_t end) {
    workers.check();
    for (std::size_t row = begin; row < end; ++row) {
      for (std::uint64_t arc = rows.offsets[row]; arc != rows.offsets[row + 1]; ++arc)
        std::copy_n(table[at(row, arc)], table.width, result.words.data() + arc * table.width);
    }
  });
  return result;
}

}  // namespace

OwnedTable table_of(std::span<const Total> numbers, const Workers& workers) {
  return make(
      workers, numbers.size(), true, 2,
      [&](std::size_t at, std::uint64_t& number) {
        number = static_cast<std::uint64_t>(numbers[at]);
        return numbers[at] >> 64 != 0;
      },
      [&](std::size_t at, std::uint64_t* number) {
        number[0] = static_cast<std::uint64_t>(numbers[at]);
        number[1] = static_cast<std::uint64_t>(numbers[at] >> 64);
      });
}

OwnedTable product(const Table& a, const Table& b, const Workers& workers) {
  const std::size_t width = a.width + b.width;
  return make(
      workers, a.size(), a.width == 1 && b.width == 1, width,
      [&](std::size_t at, std::uint64_t& number) {
        return __builtin_mul_overflow(a.words[at], b.words[at], &number);
      },
      [&](std::size_t at, std::uint64_t* number) {
        add_product(number, width, a[at], a.width, b[at], b.width);
      });
}

OwnedTable minus(const Table& a, std::uint64_t times, const Table& b, const Workers& workers) {
  std::atomic<bool> negative{false};
  const std::size_t width = std::max(a.width, b.width + 1);
  const auto wide = [&](std::size_t at, std::uint64_t* number) {
    std::array<std::uint64_t, Wide::kWords> less{};
    add_product(less.data(), width, b[at], b.width, &times, 1);
    std::copy_n(a[at], a.width, number);
    if (take_away(number, less.data(), width)) negative.store(true, std::memory_order_relaxed);
  };
  if (width > Wide::kWords) throw std::overflow_error("a local count of too many words");
  OwnedTable result = make(
      workers, a.size(), a.width == 1 && b.width == 1, width,
      [&](std::size_t at, std::uint64_t& number) {
        std::uint64_t less = 0;
        bool passed = __builtin_mul_overflow(times, b.words[at], &less);
        passed |= __builtin_sub_overflow(a.words[at], less, &number);
        return passed;  // a negative number is detected this way below
      },
      wide);
  if (negative) throw std::logic_error("a local count is less than nothing");
  return result;
}

OwnedTable row_sums(std::span<const std::uint64_t> offsets, const Table& table, const Workers& workers) {
  const std::size_t width = table.width + 1;
  const std::uint64_t one = 1;
  return make(
      workers, offsets.size() - 1, table.width == 1, width,
      [&](std::size_t row, std::uint64_t& number) {
        bool passed = false;
        std::uint64_t sum = 0;
        for (std::uint64_t arc = offsets[row]; arc != offsets[row + 1]; ++arc)
          passed |= __builtin_add_overflow(sum, table.words[arc], &sum);
        number = sum;
        return passed;
      },
      [&](std::size_t row, std::uint64_t* number) {
        for (std::uint64_t arc = offsets[row]; arc != offsets[row + 1]; ++arc)
          add_product(number, width, table[arc], table.width, &one, 1);
      });
}

OwnedTable of_targets(const view::Adjacency& rows, std::uint32_t vertices, const Table& table,
                      const Workers& workers) {
  return spread(table, rows, vertices, workers,
                [&](std::size_t, std::uint64_t arc) { return rows.neighbors[arc]; });
}

OwnedTable of_sources(const view::Adjacency& rows, std::uint32_t vertices, const Table& table,
                      const Workers& workers) {
  return spread(table, rows, vertices, workers, [&](std::size_t row, std::uint64_t) { return row; });
}

Wide sum(const Table& table, const Workers& workers) {
  if (table.width >= Wide::kWords) throw std::overflow_error("a local count of too many words");
  Wide total;
  std::mutex mutex;
  parallel_for(workers, table.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<Total> columns(table.width, 0);  // of fewer than 2^64 words each: below 2^128
    for (std::size_t at = begin; at < end; ++at)
      for (std::size_t word = 0; word < table.width; ++word) columns[word] += table[at][word];
    const std::scoped_lock lock(mutex);
    for (std::size_t word = table.width; word-- > 0;) {
      Wide part(columns[word]);
      for (std::size_t shift = 0; shift < word; ++shift) part *= Wide(Total{1} << 64);
      total += part;
    }
  });
  return total;
}

}  // namespace motiflux::local_counts
