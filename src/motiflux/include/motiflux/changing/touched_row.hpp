// The rows that a run touches, and what changes in them (write_rows.cuh).
#pragma once

#include "motiflux/view/changing.hpp"

namespace motiflux::changing {

struct Change {
  std::uint32_t neighbor;
  std::uint32_t first, last;
  std::uint32_t fresh_before;  // earlier changes of the row whose lifetime began in the run
  std::uint32_t dead_before;   // ... whose lifetime ended in it
};

struct TouchedRow {
  const std::uint32_t* old;
  std::uint32_t* neighbors;  // all entries of the run
  view::Life* lives;
  std::uint32_t* after;  // the entries that stay; null: the monitor writes them
  const Change* changes;
  // Of these changes: ChangingRow::moments. If `brought` is not 0, they are followed by the number of
  // neighbours before that of each change which the run has brought to the old row.
  const std::uint32_t* moments;
  std::uint32_t* positions;  // of the changes, among all entries
  std::uint32_t vertex;
  std::uint32_t old_size;
  std::uint32_t change_count;
  std::uint32_t size;
  std::uint32_t after_size;
  std::uint32_t brought;  // entries of the old row that the run has brought
};

}  // namespace motiflux::changing
