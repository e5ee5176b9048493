#include <algorithm>
#include <memory>

#include "generate/generate.hpp"

namespace motiflux::generate {
namespace {

constexpr std::size_t kLeastChunk = 1 << 16;
constexpr std::size_t kKeysOfBucket = 1 << 16;
constexpr std::size_t kMostBuckets = 1 << 12;
constexpr std::size_t kSamplesOfBucket = 32;

using Keys = std::vector<std::uint64_t>;

// Keys that split all others into buckets of similar size: taken at a stride from a sorted regular sample.
Keys splitters(std::span<const std::uint32_t> sources, std::span<const std::uint32_t> targets,
               std::size_t buckets) {
  const std::size_t samples = std::min(sources.size(), buckets * kSamplesOfBucket);
  Keys sample(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    const std::size_t at = sources.size() / samples * i;
    sample[i] = static_cast<std::uint64_t>(sources[at]) << 32 | targets[at];
  }
  std::sort(sample.begin(), sample.end());
  Keys chosen;
  for (std::size_t bucket = 1; bucket < buckets; ++bucket)
    chosen.push_back(sample[samples * bucket / buckets]);
  return chosen;
}

}  // namespace

std::size_t keep_distinct(Ends edges, const Workers& workers) {
  const auto [sources, targets] = edges;
  const std::size_t size = sources.size();
  const std::size_t buckets = std::clamp<std::size_t>(size / kKeysOfBucket, 1, kMostBuckets);
  const std::size_t chunk = std::max(kLeastChunk, (size + 63) / 64);
  const std::size_t chunks = (size + chunk - 1) / chunk;
  const Keys split = splitters(sources, targets, buckets);

  // The places of each chunk's keys in each bucket: counted first, then summed up, bucket by bucket. Memory
  // is not cleared first, which would take long on one thread.
  auto bucket_of = std::make_unique_for_overwrite<std::uint16_t[]>(size);
  std::vector<std::size_t> place(buckets * chunks + 1);
  auto visit_chunk = [&](std::size_t number, auto&& visit) {
    const std::size_t first = number * chunk, last = std::min(first + chunk, size);
    for (std::size_t begin = first; begin < last; begin += kLeastChunk) {
      workers.check();
      for (std::size_t i = begin; i < std::min(begin + kLeastChunk, last); ++i)
        visit(i, static_cast<std::uint64_t>(sources[i]) << 32 | targets[i]);
    }
  };
  parallel_for(workers, chunks, 1, [&](std::size_t number, std::size_t) {
    visit_chunk(number, [&](std::size_t i, std::uint64_t key) {
      const auto bucket = std::upper_bound(split.begin(), split.end(), key) - split.begin();
      bucket_of[i] = static_cast<std::uint16_t>(bucket);
      ++place[static_cast<std::size_t>(bucket) * chunks + number + 1];
    });
  });
  for (std::size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
  std::vector<std::size_t> start(buckets + 1);
  for (std::size_t bucket = 0; bucket <= buckets; ++bucket) start[bucket] = place[bucket * chunks];

  const auto keys = std::make_unique_for_overwrite<std::uint64_t[]>(size);
  parallel_for(workers, chunks, 1, [&](std::size_t number, std::size_t) {
    visit_chunk(number, [&](std::size_t i, std::uint64_t key) {
      keys[place[bucket_of[i] * chunks + number]++] = key;
    });
  });
  bucket_of.reset();

  std::vector<std::size_t> kept(buckets + 1);
  parallel_for(workers, buckets, 1, [&](std::size_t bucket, std::size_t) {
    std::uint64_t* const begin = keys.get() + start[bucket];
    std::uint64_t* const end = keys.get() + start[bucket + 1];
    std::sort(begin, end);
    kept[bucket + 1] = static_cast<std::size_t>(std::unique(begin, end) - begin);
  });
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) kept[bucket + 1] += kept[bucket];

  parallel_for(workers, buckets, 1, [&](std::size_t bucket, std::size_t) {
    for (std::size_t i = 0; i < kept[bucket + 1] - kept[bucket]; ++i) {
      const std::uint64_t key = keys[start[bucket] + i];
      sources[kept[bucket] + i] = static_cast<std::uint32_t>(key >> 32);
      targets[kept[bucket] + i] = static_cast<std::uint32_t>(key);
    }
  });
  return kept[buckets];
}

// On one thread: whether an edge is kept depends on those before it.
std::size_t keep_first_at_each(Ends edges, std::uint64_t vertices, std::uint32_t most,
                               const Workers& workers) {
  std::vector<std::uint32_t> degrees(vertices);
  std::size_t kept = 0;
  for (std::size_t at = 0; at < edges.sources.size(); ++at) {
    if (at % kLeastChunk == 0) workers.check();
    const std::uint32_t source = edges.sources[at], target = edges.targets[at];
    if (degrees[source] >= most || degrees[target] >= most) continue;
    ++degrees[source];
    ++degrees[target];
    edges.sources[kept] = source;
    edges.targets[kept++] = target;
  }
  return kept;
}

}  // namespace motiflux::generate
