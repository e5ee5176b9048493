// Counts by image: how many embeddings map given levels to each data vertex, or to each arc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "common/wide.hpp"
#include "search/control.hpp"
#include "search/native_plan.hpp"
#include "search/pool.hpp"

namespace motiflux::search {

// Numbers of any size: a word each, and a table of those that passed 2^64.
class ImageCounts {
 public:
  // With `shared`, several threads may add at the same time.
  ImageCounts(std::size_t size, bool shared) : words_(size, 0), shared_(shared) {}
  // For a search on `threads` threads: shared if numbers of their own would take too much memory.
  static ImageCounts of_search(std::size_t size, int threads);

  void add(std::size_t at, std::uint64_t more);
  void add(std::size_t at, Total more);
  void add(std::size_t at, const Wide& more);
  void add(const ImageCounts& other);

  std::size_t size() const { return words_.size(); }
  bool shared() const { return shared_; }
  // The numbers modulo 2^64, and what is missing, a multiple of 2^64.
  std::vector<std::uint64_t>& words() { return words_; }
  const std::unordered_map<std::size_t, Wide>& above() const { return above_; }

 private:
  std::vector<std::uint64_t> words_;
  const bool shared_;
  std::mutex mutex_;
  std::unordered_map<std::size_t, Wide> above_;
};

// A level whose images are counted, and the first number of its data vertices, or of the arcs of rows: then
// the images of two levels together are counted, and the other end of an arc is that of `target`.
struct CountedLevel {
  int level;
  int target;              // -1 if vertices are counted
  std::size_t first;       // of the numbers
  view::Adjacency arcs{};  // if arcs are counted: the rows whose arcs have numbers
};

struct CountedLevels {
  std::vector<CountedLevel> levels;
  std::size_t size = 0;  // of all numbers
};

// The first level that a count does not enumerate: counted levels must be before it.
int first_counted_as_a_set(const NativePlan& native_plan);

// Adds to `counts` the embeddings at the images of each counted level, or those found before the search
// stopped. With `listing`, all levels are enumerated, and any level may be counted. `portion`: as for
// count().
void count_images(const NativePlan& native_plan, Control& control, int threads, const CountedLevels& counted,
                  bool listing, ImageCounts& counts, Pool* portion = nullptr);

}  // namespace motiflux::search
