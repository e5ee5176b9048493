#include <algorithm>
#include <cmath>

#include "generate/generate.hpp"
#include "motiflux/generate/pairs.hpp"

namespace motiflux::generate {
namespace {

constexpr std::uint32_t kOrderStream = 2;
constexpr std::uint32_t kSkipStream = 3;
// Items between two checks for a stop.
constexpr std::size_t kGrain = 1 << 16;

template <class Draw>
void draw_all(Ends out, const Workers& workers, Draw&& draw_one) {
  parallel_for(workers, out.sources.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Edge edge = draw_one(i);
      out.sources[i] = edge.source;
      out.targets[i] = edge.target;
    }
  });
}

std::uint32_t skewed(const Skew& skew, std::uint64_t bits) {
  const double place = static_cast<double>(skew.vertices) * std::pow(random::unit(bits), skew.power);
  const auto vertex = std::min(static_cast<std::uint64_t>(place), skew.vertices - 1);
  return static_cast<std::uint32_t>(skew.permutes ? random::permuted(skew.ids, vertex) : vertex);
}

void skip_block(std::uint64_t seed, std::uint64_t vertices, bool directed, double probability,
                std::uint64_t begin, std::uint64_t end, std::uint64_t number, Edges& found) {
  const double scale = 1 / std::log1p(-probability);
  std::uint64_t at = begin;
  for (std::uint32_t part = 0;; ++part) {
    const random::Words words = random::draw(seed, kSkipStream, number, part);
    for (int i = 0; i < 4; i += 2) {
      // 1 - u is in (0, 1]: its logarithm is finite.
      const double u = random::unit(random::joined(words.word[i], words.word[i + 1]));
      const double skipped = std::floor(std::log1p(-u) * scale);
      if (!(skipped < static_cast<double>(end - at))) return;
      at += static_cast<std::uint64_t>(skipped);
      if (at >= end) return;
      const Edge edge = pair_of(at, vertices, directed);
      found.sources.push_back(edge.source);
      found.targets.push_back(edge.target);
      if (++at >= end) return;
    }
  }
}

}  // namespace

void draw_rmat(const Rmat& rmat, std::uint64_t first, Ends out, const Workers& workers) {
  draw_all(out, workers, [&](std::size_t i) { return rmat_edge(rmat, first + i); });
}

void draw_pairs(std::uint64_t seed, std::uint64_t vertices, bool directed, std::uint64_t first, Ends out,
                const Workers& workers) {
  const auto order = random::make_permutation(seed, kOrderStream, count_pairs(vertices, directed));
  draw_all(out, workers,
           [&](std::size_t i) { return pair_of(random::permuted(order, first + i), vertices, directed); });
}

Edges skip_pairs(std::uint64_t seed, std::uint64_t vertices, bool directed, double probability,
                 std::uint64_t block, std::uint64_t first, std::uint64_t last, const Workers& workers) {
  const std::uint64_t pairs = count_pairs(vertices, directed);
  std::vector<Edges> chunks(last - first);
  parallel_for(workers, chunks.size(), 1, [&](std::size_t i, std::size_t) {
    const std::uint64_t begin = (first + i) * block;
    skip_block(seed, vertices, directed, probability, begin, begin + std::min(block, pairs - begin),
               first + i, chunks[i]);
  });
  Edges found;
  std::size_t size = 0;
  for (const Edges& chunk : chunks) size += chunk.sources.size();
  found.sources.reserve(size);
  found.targets.reserve(size);
  for (Edges& chunk : chunks) {
    workers.check();
    found.sources.insert(found.sources.end(), chunk.sources.begin(), chunk.sources.end());
    found.targets.insert(found.targets.end(), chunk.targets.begin(), chunk.targets.end());
    chunk = {};
  }
  return found;
}

void draw_skewed(std::uint64_t seed, std::uint32_t stream, const Skew& source, const Skew& target,
                 bool directed, const Numbers& numbers, Ends out, const Workers& workers) {
  draw_all(out, workers, [&](std::size_t i) {
    Edge edge;
    std::uint32_t part = 0;
    do {
      const random::Words words = random::draw(seed, stream, numbers[i], part++);
      edge = {skewed(source, random::joined(words.word[0], words.word[1])),
              skewed(target, random::joined(words.word[2], words.word[3]))};
    } while (edge.source == edge.target);
    if (!directed && edge.source > edge.target) std::swap(edge.source, edge.target);
    return edge;
  });
}

void draw_units(std::uint64_t seed, std::uint32_t stream, const Numbers& numbers, std::span<double> out,
                const Workers& workers) {
  parallel_for(workers, out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const random::Words words = random::draw(seed, stream, numbers[i]);
      out[i] = random::unit(random::joined(words.word[0], words.word[1]));
    }
  });
}

void draw_codes(std::uint64_t seed, std::uint32_t stream, std::span<const std::uint32_t> ends,
                const Numbers& numbers, std::span<std::uint32_t> out, const Workers& workers) {
  const auto last = ends.empty() ? ends.end() : ends.end() - 1;
  parallel_for(workers, out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t drawn = random::draw(seed, stream, numbers[i]).word[0];
      out[i] = static_cast<std::uint32_t>(std::upper_bound(ends.begin(), last, drawn) - ends.begin());
    }
  });
}

}  // namespace motiflux::generate
