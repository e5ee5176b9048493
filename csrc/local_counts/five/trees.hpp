// Maps of the trees of five vertices, of each vertex.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/parallel.hpp"
#include "local_counts/search_all.hpp"
#include "motiflux/view/adjacency.hpp"

namespace motiflux::local_counts::five {

// Number is a word, modulo its size, or double.
template <class Number>
class Trees {
 public:
  Trees(const view::Adjacency& rows, std::uint32_t vertices, const Workers& workers) : rows_(rows) {
    const auto summed = [&](std::vector<Number>& into, auto&& of) {
      into.resize(vertices);
      const std::span offsets(rows.offsets, std::size_t{vertices} + 1);
      parallel_rows(workers, offsets, kRowArcs, [&](std::size_t begin, std::size_t end) {
        for (std::size_t v = begin; v < end; ++v) {
          workers.check();
          Number sum = 0;
          const auto vertex = static_cast<std::uint32_t>(v);
          for (const std::uint32_t* u = rows.begin(vertex); u != rows.end(vertex); ++u) sum += of(*u);
          into[v] = sum;
        }
      });
    };
    summed(ends, [&](std::uint32_t u) { return degree(u); });
    summed(squares, [&](std::uint32_t u) { return degree(u) * degree(u); });
    summed(cubes_, [&](std::uint32_t u) { return degree(u) * degree(u) * degree(u); });
    summed(seconds, [&](std::uint32_t u) { return ends[u]; });
    summed(thirds_, [&](std::uint32_t u) { return seconds[u]; });
    summed(forks_, [&](std::uint32_t u) { return squares[u]; });
    summed(sides_, [&](std::uint32_t u) { return degree(u) * ends[u]; });
  }

  std::vector<Number> ends;     // over neighbours, their degrees
  std::vector<Number> squares;  // over neighbours, the squares of their degrees
  std::vector<Number> seconds;  // over neighbours, their ends

  // In the order of the orbits 15 to 23.
  std::array<Number, 9> of(std::uint32_t v) const {
    const Number own = degree(v);
    return {thirds_[v],          own * seconds[v], ends[v] * ends[v],
            forks_[v],           sides_[v],        own * squares[v],
            own * own * ends[v], cubes_[v],        own * own * own * own};
  }

 private:
  Number degree(std::uint32_t v) const { return static_cast<Number>(rows_.degree(v)); }

  const view::Adjacency rows_;
  std::vector<Number> cubes_, thirds_, forks_, sides_;
};

// A bound of the number of connected subgraphs of five vertices that contain any one vertex: each has a tree.
inline double greatest_number_of_trees(const view::Adjacency& rows, std::uint32_t vertices,
                                       const Workers& workers) {
  const Trees<double> trees(rows, vertices, workers);
  double most = 0;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    double sum = 0;
    for (const double number : trees.of(v)) sum += number;
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace motiflux::local_counts::five
