// The 4-cycles of neighbours of a hub: wheels of five vertices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "local_counts/five/hub.hpp"

namespace motiflux::local_counts::five {

// As Cycles of a graph (orbits.cpp): each cycle from its greatest member x, by a histogram of wedges.
template <class Word>
class HubCycles {
 public:
  // Adds to `at`, of each member, its 4-cycles; returns the number of all. Calls add_edge(entry, number) for
  // entries of hub.others: those of an edge in both directions together have its 4-cycles.
  template <class AddEdge>
  Word add(const Hub& hub, std::vector<Word>& at, const Workers& workers, AddEdge&& add_edge) {
    if (wedges_.size() < hub.size()) wedges_.resize(hub.size(), 0);
    Word all = 0;
    for (std::size_t x = 0; x < hub.size(); ++x) {
      if (hub.starts[x + 1] - hub.starts[x] < 2) continue;
      workers.check();
      for_each_wedge(hub, x, [&](std::size_t, std::size_t second) { ++wedges_[hub.others[second]]; });
      for_each_wedge(hub, x, [&](std::size_t first, std::size_t second) {
        const std::uint64_t number = wedges_[hub.others[second]] - 1;
        at[hub.others[first]] += number;
        add_edge(first, number);
        add_edge(second, number);
      });
      Word own = 0;
      for_each_wedge(hub, x, [&](std::size_t, std::size_t second) {
        const std::uint32_t z = hub.others[second];
        const std::uint64_t number = wedges_[z];
        wedges_[z] = 0;
        if (number < 2) return;
        const std::uint64_t pairs = number * (number - 1) / 2;
        own += pairs;
        at[z] += pairs;
      });
      at[x] += own;
      all += own;
    }
    return all;
  }

 private:
  template <class Use>
  static void for_each_wedge(const Hub& hub, std::size_t x, Use&& use) {
    for (std::size_t first = hub.starts[x]; first != hub.starts[x + 1]; ++first) {
      const std::uint32_t middle = hub.others[first];
      if (middle > x) return;
      for (std::size_t second = hub.starts[middle]; second != hub.starts[middle + 1]; ++second) {
        if (hub.others[second] >= x) break;
        use(first, second);
      }
    }
  }

  std::vector<std::uint32_t> wedges_;  // from x to each member; all zero between searches
};

}  // namespace motiflux::local_counts::five
