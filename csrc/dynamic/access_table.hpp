// What was counted of accesses, by row.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "dynamic/access_walks.hpp"

namespace motiflux::dynamic {

struct AccessedRow {
  std::uint32_t name;
  Vertex vertex;
  double times;
};

class AccessTable {
 public:
  // What one of a sum stands for, by AccessKey::level.
  using ValueOf = std::function<double(std::uint16_t)>;

  // Adds the sums of some threads, and clears them.
  void add(std::span<AccessSums> sums, Watch& watch);
  // The rows, the most often opened first.
  std::vector<AccessedRow> rows(int threads, const ValueOf& value_of, Watch& watch) const;
  // How often the row of a rank is opened (1: the most often opened), or, with 0 or too high a rank, the
  // last. There are rows.
  double times_of_rank(std::size_t rank, const ValueOf& value_of) const;
  bool is_empty() const;

 private:
  using Entry = std::pair<AccessKey, Total>;
  static constexpr std::size_t kParts = 64;

  std::vector<AccessedRow> rows_of_part(std::size_t part, const ValueOf& value_of) const;

  std::vector<std::vector<Entry>> parts_ = std::vector<std::vector<Entry>>(kParts);  // by row; each ascending
};

}  // namespace motiflux::dynamic
