#include "graph/part_division.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace motiflux::graph {
namespace {

constexpr std::size_t kMostVertices = 32;
constexpr double kBytesOfEntry = 4, kBytesOfRow = 8;
constexpr double kPartsAgain = 4;    // what to find other candidates takes, in parts
constexpr double kMostParts = 1e18;  // of a box: more are no more than a guess
constexpr double kStep = 1.2;        // by which a number of blocks grows in the search for the best

using Blocks = std::array<double, kMostVertices>;  // into how many each query vertex is divided

struct Box {
  std::array<std::uint32_t, kMostVertices> begin{};
  std::array<std::uint32_t, kMostVertices> end{};
};

// Sums of the cells of an arc over rectangles.
class Sums {
 public:
  Sums() = default;
  Sums(const PartWeights& weights, const PartWeights::Arc& arc)
      : source_(arc.source), target_(arc.target), width_(weights.buckets(arc.target) + 1) {
    const std::size_t rows = weights.buckets(source_), columns = width_ - 1;
    if (arc.cells.size() != rows * columns)
      throw std::invalid_argument("a cell for each two buckets expected");
    sums_.resize((rows + 1) * width_);
    for (std::size_t row = 0; row < rows; ++row) {
      std::uint64_t of_row = 0;
      for (std::size_t column = 0; column < columns; ++column) {
        of_row += arc.cells[row * columns + column];
        sums_[(row + 1) * width_ + column + 1] = sums_[row * width_ + column + 1] + of_row;
      }
    }
  }

  std::uint32_t source() const { return source_; }
  std::uint32_t target() const { return target_; }

  double of(const Box& box) const {
    const bool one = target_ != PartWeights::kAllTargets;
    const std::uint32_t begin = one ? box.begin[target_] : 0, end = one ? box.end[target_] : 1;
    return static_cast<double>(at(box.end[source_], end) - at(box.begin[source_], end) -
                               at(box.end[source_], begin) + at(box.begin[source_], begin));
  }

 private:
  std::uint64_t at(std::size_t row, std::size_t column) const { return sums_[row * width_ + column]; }

  std::uint32_t source_ = 0, target_ = 0;
  std::size_t width_ = 0;
  std::vector<std::uint64_t> sums_;
};

class Divider {
 public:
  Divider(const PartWeights& weights, const PartCosts& costs)
      : weights_(weights), costs_(costs), vertices_(weights.bounds.size()) {
    if (vertices_ > kMostVertices) throw std::invalid_argument("at most 32 query vertices expected");
    for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex)
      if (weights.buckets(vertex) > UINT8_MAX) throw std::invalid_argument("at most 255 buckets expected");
    sums_.resize(weights.arcs.size());
    std::vector<bool> summed(sums_.size());
    const auto sum = [&](std::uint32_t arc) {
      if (arc >= sums_.size()) throw std::invalid_argument("arcs that have weights expected");
      if (!summed[arc]) sums_[arc] = Sums(weights, weights.arcs[arc]);
      summed[arc] = true;
    };
    std::for_each(costs.arcs.begin(), costs.arcs.end(), sum);
    std::for_each(costs.needed.begin(), costs.needed.end(), sum);
    for (const auto& [less, greater] : costs.less)
      if (std::max(less, greater) >= vertices_) throw std::invalid_argument("no such query vertex");
    std::uint32_t with_rows = 0;
    for (const auto& sources : costs.sources)
      for (const std::uint32_t vertex : sources) {
        if (vertex >= vertices_) throw std::invalid_argument("no such query vertex");
        with_rows |= std::uint32_t{1} << vertex;
      }
    exponent_ = std::popcount(with_rows);
  }

  PartBoxes boxes() {
    Box box;
    for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex)
      box.end[vertex] = static_cast<std::uint32_t>(weights_.buckets(vertex));
    divide(box);
    return std::move(found_);
  }

 private:
  // What rows between two query vertices take, undivided.
  struct Term {
    std::uint32_t source = 0;
    std::uint32_t target = 0;
    double bytes = 0;
  };
  // A box as if all entries in it were evenly spread.
  struct Even {
    std::vector<Term> terms;
    double of_vertices = 0;
  };

  bool may_divide(std::uint32_t vertex) const { return (costs_.divisible >> vertex & 1) != 0; }
  static std::uint32_t length(const Box& box, std::uint32_t vertex) {
    return box.end[vertex] - box.begin[vertex];
  }

  // Whether there may be embeddings in a box.
  bool may_have(const Box& box) const {
    for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex)
      if (candidates(box, vertex) == 0) return false;
    for (const auto& [less, greater] : costs_.less)
      if (weights_.bounds[less][box.begin[less]] >= weights_.bounds[greater][box.end[greater]] - 1)
        return false;
    return std::all_of(costs_.needed.begin(), costs_.needed.end(),
                       [&](std::uint32_t arc) { return sums_[arc].of(box) > 0; });
  }

  double candidates(const Box& box, std::uint32_t vertex) const {
    const auto& before = weights_.candidates[vertex];
    return static_cast<double>(before[box.end[vertex]] - before[box.begin[vertex]]);
  }

  // How many of some vertices have an entry, if entries meet them by chance.
  static double met(double vertices, double entries) {
    return vertices > 0 ? vertices * -std::expm1(-entries / vertices) : 0;
  }

  // About the bytes of the vertices of a part: for each key from the first vertex on that has rows.
  double bytes_of_vertices(const Box& box) const {
    std::array<std::pair<std::uint64_t, std::uint64_t>, kMostVertices> spans;
    Blocks entries{}, of_rows{};  // of arcs at each query vertex, and of its rows
    double all_targets = 0;
    for (const std::uint32_t arc : costs_.arcs) {
      const Sums& one = sums_[arc];
      const double number = one.of(box);
      entries[one.source()] += number;
      of_rows[one.source()] += number;
      if (one.target() == PartWeights::kAllTargets)
        all_targets += number;
      else
        entries[one.target()] += number;
    }
    double each = 0;
    for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex) {
      const auto& numbers = weights_.numbers[vertex];
      spans[vertex] = {numbers[box.begin[vertex]], numbers[box.end[vertex]]};
      each += met(candidates(box, vertex), entries[vertex] + all_targets);
    }
    std::sort(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(vertices_));
    const auto from = [&](std::uint64_t first) {
      std::uint64_t together = 0;
      for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex) {
        const auto [begin, end] = spans[vertex];
        if (end > first) together += end - std::max(begin, first);
        first = std::max(first, end);
      }
      return std::min(each, static_cast<double>(together)) + 1;
    };
    double found = costs_.beside > 0 ? costs_.beside * from(0) : 0, largest = 0;
    for (const auto& sources : costs_.sources) {
      std::uint64_t first = UINT64_MAX;
      for (const std::uint32_t vertex : sources)
        first = std::min(first, weights_.numbers[vertex][box.begin[vertex]]);
      found += kBytesOfRow * from(first);
      double rows = 0;  // that are listed before they have numbers
      for (const std::uint32_t vertex : sources) rows += met(candidates(box, vertex), of_rows[vertex]);
      largest = std::max(largest, kBytesOfRow * rows);
    }
    return found + largest;
  }

  double bytes(const Box& box) const {
    double entries = 0;
    for (const std::uint32_t arc : costs_.arcs) entries += sums_[arc].of(box);
    return kBytesOfEntry * entries + bytes_of_vertices(box);
  }

  Even even(const Box& box) const {
    Even made;
    for (const std::uint32_t arc : costs_.arcs)
      made.terms.push_back({sums_[arc].source(), sums_[arc].target(), kBytesOfEntry * sums_[arc].of(box)});
    made.of_vertices = bytes_of_vertices(box);
    return made;
  }

  double bytes(const Even& box, const Blocks& blocks) const {
    double entries = 0;
    for (const Term& term : box.terms)
      entries += term.bytes /
                 (blocks[term.source] * (term.target == PartWeights::kAllTargets ? 1 : blocks[term.target]));
    double share = 0;  // of the vertices
    for (const auto& sources : costs_.sources) {
      double most = 0;
      for (const std::uint32_t vertex : sources) most = std::max(most, 1 / blocks[vertex]);
      share += most;
    }
    return entries +
           box.of_vertices * share / std::max<double>(1, static_cast<double>(costs_.sources.size()));
  }

  // About the least numbers of blocks, not whole ones, that make parts fit.
  Blocks least_blocks(const Box& box, const Even& given) const {
    Blocks blocks;
    blocks.fill(1);
    double now = bytes(given, blocks);
    while (now > costs_.room) {
      double best = 0, then = now;
      std::uint32_t chosen = 0;
      for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex) {
        const double most = length(box, vertex);
        if (!may_divide(vertex) || blocks[vertex] >= most) continue;
        Blocks more = blocks;
        more[vertex] = std::min(most, kStep * blocks[vertex]);
        const double less = bytes(given, more);
        const double gain = std::log(now / less) / std::log(more[vertex] / blocks[vertex]);
        if (gain > best || chosen == 0) best = gain, chosen = vertex + 1, then = less;
      }
      if (chosen == 0) break;
      double& own = blocks[chosen - 1];
      own = std::min<double>(length(box, chosen - 1), kStep * own);
      now = then;
    }
    return blocks;
  }

  // How many blocks of one query vertex make parts fit, if those of others are given; infinity: none do.
  double last_blocks(const Box& box, const Even& given, Blocks blocks, std::uint32_t vertex) const {
    double low = 1, high = length(box, vertex);
    blocks[vertex] = high;
    if (bytes(given, blocks) > costs_.room) return std::numeric_limits<double>::infinity();
    for (int step = 0; step < 12 && high - low > 0.01 * low; ++step) {
      blocks[vertex] = (low + high) / 2;
      (bytes(given, blocks) > costs_.room ? low : high) = blocks[vertex];
    }
    return high;
  }

  // Whole numbers of blocks of all query vertices but the last one that is divided, whose blocks are as large
  // as they may be: the fewest parts.
  std::pair<Blocks, std::uint32_t> whole_blocks(const Box& box) const {
    const Even given = even(box);
    const Blocks about = least_blocks(box, given);
    std::vector<std::uint32_t> divided;
    for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex)
      if (about[vertex] > 1) divided.push_back(vertex);
    Blocks best = about;
    std::uint32_t last = 0;
    while (!may_divide(last) || length(box, last) < 2) ++last;
    double fewest = std::numeric_limits<double>::infinity();
    const std::size_t choices = std::size_t{1} << std::min<std::size_t>(divided.size(), 6);
    for (const std::uint32_t vertex : divided)
      for (std::size_t choice = 0; choice < choices; ++choice) {
        Blocks blocks = about;
        double parts = 1;
        for (std::size_t at = 0; at < divided.size(); ++at) {
          double& own = blocks[divided[at]];
          own = (choice >> std::min<std::size_t>(at, 5) & 1) != 0 ? std::ceil(own) : std::floor(own);
          if (divided[at] != vertex) parts *= own;
        }
        blocks[vertex] = last_blocks(box, given, blocks, vertex);
        parts *= blocks[vertex];
        if (parts < fewest) fewest = parts, best = blocks, last = vertex;
      }
    if (std::isinf(fewest))
      for (const std::uint32_t vertex : divided) best[vertex] = std::ceil(about[vertex]);
    return {best, last};
  }

  // The bytes of a box that depend on one bucket of a query vertex.
  double of_bucket(Box box, std::uint32_t vertex, std::uint32_t bucket) const {
    box.begin[vertex] = bucket;
    box.end[vertex] = bucket + 1;
    double entries = 0;
    for (const std::uint32_t arc : costs_.arcs)
      if (sums_[arc].source() == vertex || sums_[arc].target() == vertex) entries += sums_[arc].of(box);
    return kBytesOfEntry * entries + (costs_.beside + kBytesOfRow) * candidates(box, vertex);
  }

  void divide(const Box& box) {
    if (!may_have(box)) return;
    const double share = bytes(box) / costs_.room;
    const bool fits = share <= 1;
    bool can = false;
    for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex)
      can |= may_divide(vertex) && length(box, vertex) > 1;
    if (fits || !can || found_.parts.size() >= costs_.most) {
      for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex) {
        found_.buckets.push_back(static_cast<std::uint8_t>(box.begin[vertex]));
        found_.buckets.push_back(static_cast<std::uint8_t>(box.end[vertex]));
      }
      found_.parts.push_back(
          static_cast<float>(fits ? 1 : std::min(kMostParts, kPartsAgain + std::pow(share, exponent_))));
      return;
    }
    const auto [blocks, last] = whole_blocks(box);
    std::uint32_t widest = last;
    for (std::uint32_t vertex = 0; vertex < vertices_; ++vertex)
      if (vertex != last && blocks[vertex] > 1 && (widest == last || blocks[vertex] > blocks[widest]))
        widest = vertex;
    if (widest == last || length(box, widest) < 2)
      fill_blocks(box, last);
    else
      cut(box, widest, static_cast<std::uint32_t>(blocks[widest]));
  }

  // Divides one query vertex into a number of blocks that take about as much.
  void cut(const Box& box, std::uint32_t vertex, std::uint32_t number) {
    std::vector<double> before{0};
    for (std::uint32_t bucket = box.begin[vertex]; bucket < box.end[vertex]; ++bucket)
      before.push_back(before.back() + of_bucket(box, vertex, bucket));
    Box block = box;
    for (std::uint32_t at = 1; block.begin[vertex] < box.end[vertex]; ++at) {
      const double until = before.back() * at / number;
      block.end[vertex] = block.begin[vertex] + 1;
      while (block.end[vertex] < box.end[vertex] &&
             (at >= number || before[block.end[vertex] + 1 - box.begin[vertex]] <= until * (1 + 1e-9)))
        ++block.end[vertex];
      divide(block);
      block.begin[vertex] = block.end[vertex];
    }
  }

  // Divides one query vertex into blocks as large as they may be.
  void fill_blocks(const Box& box, std::uint32_t vertex) {
    Box block = box;
    while (block.begin[vertex] < box.end[vertex]) {
      block.end[vertex] = block.begin[vertex] + 1;
      while (block.end[vertex] < box.end[vertex]) {
        ++block.end[vertex];
        if (bytes(block) <= costs_.room) continue;
        --block.end[vertex];
        break;
      }
      divide(block);
      block.begin[vertex] = block.end[vertex];
    }
  }

  const PartWeights& weights_;
  const PartCosts& costs_;
  std::uint32_t vertices_;
  std::vector<Sums> sums_;  // of the arcs that costs name
  int exponent_ = 0;        // query vertices that have rows
  PartBoxes found_;
};

}  // namespace

PartBoxes divide_part(const PartWeights& weights, const PartCosts& costs) {
  return Divider(weights, costs).boxes();
}

}  // namespace motiflux::graph
