// Rows touch no memory but their own: each of these has a block of its own, and fills it.
#include "dynamic/rows.hpp"

#include "check.hpp"

namespace {

using motiflux::dynamic::Class;
using motiflux::dynamic::Rows;
using motiflux::dynamic::Vertex;

// Capacities are powers of two and 1.5 times these; so long rows are allocated one by one.
constexpr Vertex kCapacity = 3 << 13;

// With one class, the neighbours are all that the block has; with more than 64, the classes end it.
void full_rows_lose_neighbors(Class classes) {
  for (const Vertex gone : {Vertex{0}, kCapacity / 2, kCapacity - 1}) {
    Rows rows;
    rows.add_vertices(1);
    rows.admit(classes - 1);
    for (Vertex neighbor = 0; neighbor < kCapacity; ++neighbor) {
      const Class of = classes - 1;
      rows.insert(0, rows.place(0, of, neighbor), of, neighbor);
    }
    CHECK(rows.erase(0, classes - 1, gone));
    CHECK(rows.degree(0) == kCapacity - 1);
    Vertex expected = 0;
    for (const Vertex found : rows.all(0)) {
      expected += expected == gone;
      CHECK(found == expected++);
    }
  }
}

}  // namespace

int main() {
  full_rows_lose_neighbors(1);
  full_rows_lose_neighbors(40);
  full_rows_lose_neighbors(100);
}
