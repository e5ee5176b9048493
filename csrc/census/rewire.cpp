#include "census/rewire.hpp"

#include <algorithm>
#include <cmath>

#include "census/pair_set.hpp"
#include "motiflux/random/philox.hpp"

namespace motiflux::census {
namespace {

constexpr std::uint32_t kSeedStream = 40;
constexpr std::uint32_t kSwapStream = 41;
constexpr std::uint64_t kPilot = ~std::uint64_t{0};  // the number of the graph that overlaps() makes
constexpr std::uint64_t kCheckEvery = 1 << 14;

// Random numbers of one proposal.
struct Draw {
  std::uint64_t first, second;  // 64 bits each

  static std::size_t below(std::uint64_t bits, std::size_t most) {
    __extension__ using Wide128 = unsigned __int128;
    return static_cast<std::size_t>(Wide128{bits} * most >> 64);
  }
};

// A layer, or one of its two parts.
struct Part {
  std::size_t begin, end;  // of the edges
  bool arcs;               // else pairs without a direction
};

class Chain {
 public:
  // With `compares`, kept() may be called.
  Chain(const Wiring& wiring, std::uint64_t seed, std::uint64_t number, bool compares)
      : wiring_(wiring), compares_(compares), seed_(key_of(seed, number)) {
    std::size_t begin = 0;
    for (const std::uint64_t end : wiring.layers) {
      add_layer(begin, static_cast<std::size_t>(end));
      begin = static_cast<std::size_t>(end);
    }
  }

  // `proposals` for each edge of each layer.
  void run(double proposals, const Workers& workers) {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      const auto size = static_cast<double>(layers_[layer].size);
      const auto most = static_cast<std::uint64_t>(std::ceil(proposals * size));
      for (std::uint64_t at = 0; at < most; ++at) {
        if (at % kCheckEvery == 0) workers.check();
        propose(layers_[layer]);
      }
    }
  }

  Rewired result() const {
    Rewired result{{}, {}, swaps_};
    for (const Layer& layer : layers_) {
      for (const Part& part : layer.parts) {
        for (std::size_t at = part.begin; at < part.end; ++at) {
          result.sources.push_back(sources_[at]);
          result.targets.push_back(targets_[at]);
          if (part.arcs || !wiring_.directed) continue;
          result.sources.push_back(targets_[at]);
          result.targets.push_back(sources_[at]);
        }
      }
    }
    return result;
  }

  // The edges that were in the layers before all swaps.
  std::uint64_t kept() const {
    std::uint64_t kept = 0;
    for (const Layer& layer : layers_)
      for (const Part& part : layer.parts)
        for (std::size_t at = part.begin; at < part.end; ++at)
          kept +=
              layer.first.contains(sources_[at], targets_[at]) * (part.arcs || !wiring_.directed ? 1u : 2u);
    return kept;
  }
  std::uint64_t swaps() const { return swaps_; }

 private:
  struct Layer {
    std::vector<Part> parts;
    std::size_t size = 0;  // edges and pairs of all parts
    PairSet present;       // arcs; of pairs without a direction, both
    PairSet first;         // at the start; empty unless the chain compares
  };

  static std::uint64_t key_of(std::uint64_t seed, std::uint64_t number) {
    const random::Words words = random::draw(seed, kSeedStream, number);
    return random::joined(words.word[0], words.word[1]);
  }

  void add_layer(std::size_t begin, std::size_t end) {
    const std::size_t most = (wiring_.directed ? 1 : 2) * (end - begin);
    Layer layer{{},
                0,
                PairSet(wiring_.vertices, most),
                PairSet(compares_ ? wiring_.vertices : 0, compares_ ? most : 0)};
    const auto add = [&](std::uint32_t u, std::uint32_t v) {
      layer.present.insert(u, v);
      if (compares_) layer.first.insert(u, v);
    };
    for (std::size_t at = begin; at < end; ++at) {
      add(wiring_.sources[at], wiring_.targets[at]);
      if (!wiring_.directed) add(wiring_.targets[at], wiring_.sources[at]);
    }
    const auto add_part = [&](bool arcs, auto&& belongs) {
      const std::size_t start = sources_.size();
      for (std::size_t at = begin; at < end; ++at) {
        if (!belongs(wiring_.sources[at], wiring_.targets[at])) continue;
        sources_.push_back(wiring_.sources[at]);
        targets_.push_back(wiring_.targets[at]);
      }
      layer.parts.push_back({start, sources_.size(), arcs});
      layer.size += sources_.size() - start;
    };
    if (!wiring_.directed || !wiring_.keeps_mutual) {
      add_part(wiring_.directed, [](std::uint32_t, std::uint32_t) { return true; });
    } else {
      add_part(true, [&](std::uint32_t u, std::uint32_t v) { return !layer.present.contains(v, u); });
      add_part(false,
               [&](std::uint32_t u, std::uint32_t v) { return u < v && layer.present.contains(v, u); });
    }
    layers_.push_back(std::move(layer));
  }

  void propose(Layer& layer) {
    const random::Words words = random::draw(seed_, kSwapStream, drawn_++);
    const std::uint64_t first = random::joined(words.word[0], words.word[1]);
    const std::uint64_t second = random::joined(words.word[2], words.word[3]);
    std::size_t at = Draw::below(first, layer.size);
    for (const Part& part : layer.parts) {
      const std::size_t size = part.end - part.begin;
      if (at >= size) {
        at -= size;
        continue;
      }
      // The low bits of a number decide what is proposed, its high bits the other edge.
      const bool other_way = (first & 16) != 0, cycle = part.arcs && (first & 15) == 0;
      const std::size_t i = part.begin + at, j = part.begin + Draw::below(second, size);
      const bool done =
          cycle ? reverse_cycle(layer, part, i, second) : swap_ends(layer, part, i, j, other_way);
      swaps_ += done;
      return;
    }
  }

  bool swap_ends(Layer& layer, const Part& part, std::size_t i, std::size_t j, bool other_way) {
    const std::uint32_t a = sources_[i], b = targets_[i];
    std::uint32_t c = sources_[j], d = targets_[j];
    if (!part.arcs && other_way) std::swap(c, d);
    if (a == c || b == d || a == d || b == c) return false;
    PairSet& present = layer.present;
    if (present.contains(a, d) || present.contains(c, b)) return false;
    if (wiring_.keeps_mutual && (present.contains(d, a) || present.contains(b, c))) return false;
    if (!wiring_.labels.empty() && wiring_.labels[a] != wiring_.labels[c] &&
        wiring_.labels[b] != wiring_.labels[d])
      return false;
    replace(present, part, a, b, a, d);
    replace(present, part, c, d, c, b);
    sources_[j] = c;
    targets_[i] = d;
    targets_[j] = b;
    return true;
  }

  static void replace(PairSet& present, const Part& part, std::uint32_t u, std::uint32_t v,
                      std::uint32_t to_u, std::uint32_t to_v) {
    present.erase(u, v);
    present.insert(to_u, to_v);
    if (part.arcs) return;
    present.erase(v, u);
    present.insert(to_v, to_u);
  }

  // Edge i and a random arc from its target; a vertex keeps its number of arcs, so each cycle is as likely as
  // its reverse.
  bool reverse_cycle(Layer& layer, const Part& part, std::size_t i, std::uint64_t bits) {
    PairSet& present = layer.present;
    const std::uint32_t a = sources_[i], b = targets_[i];
    const auto [from_b, to_b] = arcs_of(part, b);
    if (from_b == to_b) return false;
    const std::size_t j = from_b + Draw::below(bits, to_b - from_b);
    const std::uint32_t c = targets_[j];
    if (c == a || !present.contains(c, a)) return false;
    if (present.contains(b, a) || present.contains(c, b) || present.contains(a, c)) return false;
    if (!wiring_.labels.empty() && wiring_.labels[a] != wiring_.labels[b] &&
        wiring_.labels[b] != wiring_.labels[c] && wiring_.labels[c] != wiring_.labels[a])
      return false;
    const auto [from_c, to_c] = arcs_of(part, c);
    std::size_t k = from_c;
    while (k < to_c && targets_[k] != a) ++k;
    if (k == to_c) return false;  // c -> a is an arc of the other part: one of a mutual pair
    replace(present, part, a, b, a, c);
    replace(present, part, b, c, b, a);
    replace(present, part, c, a, c, b);
    targets_[i] = c;
    targets_[j] = a;
    targets_[k] = b;
    return true;
  }

  // The arcs of a part from v: sources are never changed.
  std::pair<std::size_t, std::size_t> arcs_of(const Part& part, std::uint32_t v) const {
    const auto begin = sources_.begin() + static_cast<std::ptrdiff_t>(part.begin);
    const auto end = sources_.begin() + static_cast<std::ptrdiff_t>(part.end);
    const auto [first, last] = std::equal_range(begin, end, v);
    return {static_cast<std::size_t>(first - sources_.begin()),
            static_cast<std::size_t>(last - sources_.begin())};
  }

  const Wiring& wiring_;
  const bool compares_;
  const std::uint64_t seed_;
  std::uint64_t drawn_ = 0, swaps_ = 0;
  std::vector<std::uint32_t> sources_, targets_;
  std::vector<Layer> layers_;
};

}  // namespace

Rewired rewired(const Wiring& wiring, double proposals, std::uint64_t seed, std::uint64_t number,
                const Workers& workers) {
  Chain chain(wiring, seed, number, false);
  chain.run(proposals, workers);
  return chain.result();
}

Overlaps overlaps(const Wiring& wiring, std::uint64_t rounds, std::uint64_t seed, const Workers& workers) {
  Chain chain(wiring, seed, kPilot, true);
  Overlaps result;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    chain.run(1, workers);
    result.kept.push_back(chain.kept());
    result.swaps.push_back(chain.swaps());
  }
  return result;
}

}  // namespace motiflux::census
