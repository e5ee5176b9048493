// Rows in memory that is only read, until they are changed: here it is protected, so that a write ends the
// program.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "check.hpp"
#include "dynamic/rows.hpp"

namespace {

using namespace motiflux;
using dynamic::Arena;
using dynamic::Class;
using dynamic::RowReader;
using dynamic::Rows;
using dynamic::Vertex;

using Model = std::vector<std::set<Vertex>>;

constexpr Vertex kRows = 40, kNeighbors = 30'000;

// Rows of no, few and many neighbours in protected pages; the last one takes a block of its own.
class Lender {
 public:
  explicit Lender(std::mt19937& draw) : model(kRows) {
    for (Vertex row = 0; row < kRows; ++row) {
      const std::size_t size = row == kRows - 1 ? 20'000 : row < 3 ? 0 : draw() % (row < 20 ? 4 : 60);
      while (model[row].size() < size) model[row].insert(draw() % kNeighbors);
      neighbors_.insert(neighbors_.end(), model[row].begin(), model[row].end());
      offsets.push_back(neighbors_.size());
    }
    bytes_ = (4 * neighbors_.size() + 4095) / 4096 * 4096;
    pages_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages_ != MAP_FAILED);
    std::memcpy(pages_, neighbors_.data(), 4 * neighbors_.size());
    CHECK(mprotect(pages_, bytes_, PROT_READ) == 0);
  }
  ~Lender() { munmap(pages_, bytes_); }
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

  std::span<const Vertex> neighbors() const {
    return {static_cast<const Vertex*>(pages_), neighbors_.size()};
  }
  std::shared_ptr<const Arena> arena() const {
    return std::make_shared<const Arena>(static_cast<const std::uint32_t*>(pages_), bytes_);
  }
  bool has(const Vertex* row) const {
    return row >= neighbors().data() && row < neighbors().data() + neighbors().size();
  }

  Model model;
  std::vector<std::uint64_t> offsets{0};

 private:
  std::vector<Vertex> neighbors_;
  void* pages_;
  std::size_t bytes_;
};

void check_same(const Rows& rows, const Model& model) {
  CHECK(rows.vertices() == model.size());
  for (Vertex row = 0; row < rows.vertices(); ++row) {
    CHECK(rows.degree(row) == model[row].size());
    CHECK(std::equal(model[row].begin(), model[row].end(), rows.all(row).begin()));
  }
}

void change_one(Rows& rows, Model& model, Vertex row, Vertex neighbor) {
  const std::size_t at = rows.place(row, 0, neighbor);
  if (rows.is_at(row, at, 0, neighbor)) {
    CHECK(model[row].erase(neighbor) == 1);
    rows.erase_at(row, at, 0);
  } else {
    CHECK(model[row].insert(neighbor).second);
    rows.insert(row, at, 0, neighbor);
  }
}

// Deletes the neighbours of a row for which `goes`, and inserts some.
template <class Goes>
void change_many(Rows& rows, Model& model, Vertex row, std::size_t comes, std::mt19937& draw, Goes&& goes) {
  std::set<Vertex> named;
  for (const Vertex neighbor : model[row])
    if (goes()) named.insert(neighbor);
  for (std::size_t more = 0; more < comes; ++more) named.insert(draw() % kNeighbors);
  std::vector<Rows::Change> changes;
  for (const Vertex neighbor : named) {
    const std::size_t at = rows.place(row, 0, neighbor);
    const bool there = rows.is_at(row, at, 0, neighbor);
    changes.push_back({0, neighbor, !there, at});
    if (there)
      model[row].erase(neighbor);
    else
      model[row].insert(neighbor);
  }
  if (!changes.empty()) rows.change(row, changes);
}

void changes_move_rows() {
  std::mt19937 draw(1);
  for (int round = 0; round < 40; ++round) {
    Lender lender(draw);
    Model model = lender.model;
    Rows rows;
    rows.make_lent(lender.offsets, 0, lender.neighbors(), lender.arena());
    check_same(rows, model);
    CHECK(rows.arenas().size() == 1 && rows.arenas()[0]->is_lent());
    CHECK(rows.bytes() < 4096);
    const Vertex untouched = 20 + draw() % 10;
    for (int step = 0; step < 200; ++step) {
      const Vertex row = draw() % kRows;
      if (row == untouched || row == kRows - 1) continue;
      switch (draw() % 4) {
        case 0:
          change_many(rows, model, row, 0, draw, [] { return true; });
          break;
        case 1:
          change_many(rows, model, row, draw() % 6, draw, [&] { return draw() % 2 == 0; });
          break;
        default:
          change_one(rows, model, row,
                     model[row].empty() || draw() % 2 ? draw() % kNeighbors : *model[row].begin());
      }
    }
    change_many(rows, model, kRows - 1, 3, draw, [&] { return draw() % 100 == 0; });
    check_same(rows, model);
    CHECK(!lender.has(rows.all(kRows - 1).begin()));
    CHECK(lender.model[untouched].empty() || lender.has(rows.all(untouched).begin()));
    rows.add_vertices(2);
    rows.keep_vertices(kRows);
    if (round % 2 == 0) {
      rows.take_over_lent({2, nullptr});
      CHECK(!rows.has_lent());
    } else {
      rows.admit(5);  // all rows move
    }
    check_same(rows, model);
    for (Vertex row = 0; row < kRows; ++row)
      CHECK(rows.degree(row) == 0 || !lender.has(rows.all(row).begin()));
    for (const auto& arena : rows.arenas()) CHECK(!arena->is_lent());
  }
}

// The blocks of rows that are changed are in few arenas, each of which a device is given by a call.
void arenas_are_few() {
  constexpr std::size_t kMany = 100'000, kSize = 60;
  std::vector<Vertex> neighbors(kMany * kSize);
  std::vector<std::uint64_t> offsets(kMany + 1);
  for (std::size_t at = 0; at < neighbors.size(); ++at) neighbors[at] = static_cast<Vertex>(at % kSize);
  for (std::size_t row = 0; row <= kMany; ++row) offsets[row] = row * kSize;
  Rows rows;
  rows.make_lent(offsets, 0, neighbors,
                 std::make_shared<const Arena>(neighbors.data(), 4 * neighbors.size()));
  for (Vertex row = 0; row < kMany; ++row) rows.erase_at(row, 0, 0);
  CHECK(rows.arenas().size() <= 80);
  CHECK(rows.all(kMany - 1).size() == kSize - 1 && *rows.all(kMany - 1).begin() == 1);
}

// A device that reads a lent row reads it as it was, and is told that it has changed.
void readers_read_what_is_lent() {
  std::mt19937 draw(2);
  Lender lender(draw);
  Model model = lender.model;
  Rows rows;
  rows.make_lent(lender.offsets, 0, lender.neighbors(), lender.arena());
  RowReader reader(rows.vertices());
  rows.add_reader(reader);
  reader.forget();
  reader.set_reads(true);
  std::vector<sets::Span> told;
  for (Vertex row = 0; row < kRows; ++row) told.push_back(rows.all(row));
  std::vector<Vertex> changed;
  for (Vertex row = 3; row < kRows; row += 2) {
    if (model[row].empty()) continue;
    change_one(rows, model, row, row % 4 == 3 ? *model[row].begin() : kNeighbors + row);
    changed.push_back(row);
  }
  for (Vertex row = 0; row < kRows; ++row)
    CHECK(std::equal(lender.model[row].begin(), lender.model[row].end(), told[row].begin()));
  CHECK(reader.noted(kRows) == changed);
  check_same(rows, model);
  reader.set_reads(false);
  reader.forget();
  rows.take_over_lent({1, nullptr});
  CHECK(reader.noted(kRows).size() == kRows);
  check_same(rows, model);
  rows.remove_reader(reader);
}

using Classed = std::vector<std::set<std::pair<std::uint32_t, Vertex>>>;  // (order of the class, neighbour)

void check_classes(const Rows& rows, const Classed& model) {
  for (Vertex row = 0; row < rows.vertices(); ++row) {
    Classed::value_type found;
    rows.for_each_class(row, [&](Class of, sets::Span run) {
      for (const Vertex neighbor : run) CHECK(found.insert({Rows::order(of), neighbor}).second);
      const sets::Span alone = rows.of_class(row, of);
      CHECK(alone.begin() == run.begin() && alone.size() == run.size());
    });
    CHECK(found == model[row]);
    CHECK(rows.degree(row) == model[row].size());
  }
}

void change_class(Rows& rows, Classed& model, Vertex row, Class of, Vertex neighbor, bool alone) {
  const std::size_t at = rows.place(row, of, neighbor);
  const bool there = rows.is_at(row, at, of, neighbor);
  CHECK(there == model[row].contains({Rows::order(of), neighbor}));
  if (!alone) {
    const Rows::Change change{of, neighbor, !there, at};
    rows.change(row, {&change, 1});
  } else if (there) {
    rows.erase_at(row, at, of);
  } else {
    rows.insert(row, at, of, neighbor);
  }
  if (there)
    model[row].erase({Rows::order(of), neighbor});
  else
    model[row].insert({Rows::order(of), neighbor});
}

// Rows of several classes, sorted by class, with the starts of runs and, of many classes, the classes.
void rows_of_classes(Class most, std::mt19937& draw) {
  Classed model(kRows);
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::vector<Class>> classes(kRows);
  for (Vertex row = 0; row < kRows; ++row) {
    const std::size_t size = row == kRows - 1 ? 70'000 : row < 3 ? 0 : draw() % (row < 20 ? 4 : 200);
    while (model[row].size() < size) model[row].insert({Rows::order(draw() % (most + 1)), draw() % 100'000});
    offsets.push_back(offsets.back() + size);
  }
  std::vector<std::uint32_t> blocks(Rows::lent_words(offsets, most));
  {
    Rows written;
    written.make_lent(offsets, most, blocks, nullptr);
    for (Vertex row = 0; row < kRows; ++row) {
      Vertex* next = written.neighbors(row);
      for (const auto& [order, neighbor] : model[row]) {
        *next++ = neighbor;
        classes[row].push_back(Rows::class_at(order));
      }
      if (!model[row].empty()) written.set_classes(row, classes[row]);
    }
  }
  const std::size_t bytes = (4 * blocks.size() + 4095) / 4096 * 4096;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  const auto* lent = static_cast<const std::uint32_t*>(pages);
  std::memcpy(pages, blocks.data(), 4 * blocks.size());
  CHECK(mprotect(pages, bytes, PROT_READ) == 0);
  for (const bool takes_over : {true, false}) {
    Classed now = model;
    Rows rows;
    rows.make_lent(offsets, most, {lent, blocks.size()}, std::make_shared<const Arena>(lent, bytes));
    std::vector<std::uint32_t> scratch;
    for (Vertex row = 0; row < kRows; ++row) {
      scratch.assign(model[row].size(), 0);
      std::ranges::transform(model[row], scratch.begin(), [](const auto& one) { return one.second; });
      CHECK(rows.lends(row, scratch, classes[row]));
      if (model[row].empty()) continue;
      ++scratch[0];
      CHECK(!rows.lends(row, scratch, classes[row]));
    }
    check_classes(rows, now);
    for (int step = 0; step < 400; ++step)
      change_class(rows, now, draw() % kRows, draw() % (most + 1), draw() % 100'000, step % 2 == 0);
    for (Vertex row = 3; row < kRows; ++row)
      while (row % 3 == 0 && !now[row].empty() && row != kRows - 1) {
        const auto [order, neighbor] = *now[row].begin();
        change_class(rows, now, row, Rows::class_at(order), neighbor, row % 2 == 0);
      }
    check_classes(rows, now);
    if (takes_over)
      rows.take_over_lent({2, nullptr});
    else
      rows.admit(1000);  // moves rows if there were few classes
    CHECK(rows.has_lent() == (!takes_over && most >= Rows::kRuns));
    check_classes(rows, now);
  }
  munmap(pages, bytes);
}

}  // namespace

int main() {
  changes_move_rows();
  arenas_are_few();
  readers_read_what_is_lent();
  std::mt19937 draw(3);
  for (const Class most : {1u, 5u, 63u, 64u, 300u}) rows_of_classes(most, draw);
}
