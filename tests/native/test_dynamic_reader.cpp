// A device that reads rows where they are: these stay as they are while it reads, whatever the host changes.
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "check.hpp"
#include "dynamic/rows.hpp"

namespace {

using namespace motiflux;
using dynamic::Class;
using dynamic::RowReader;
using dynamic::Rows;
using dynamic::Vertex;

constexpr Vertex kNeighbors = 60;

// Where the device was told that rows are, and what it reads there.
struct Told {
  std::vector<sets::Span> rows;
  std::vector<std::vector<Vertex>> entries;
  dynamic::Arenas arenas;

  explicit Told(const Rows& of) : arenas(of.arenas()) {
    for (Vertex vertex = 0; vertex < of.vertices(); ++vertex) {
      rows.push_back(of.all(vertex));
      entries.emplace_back(rows.back().first, rows.back().last);
    }
  }
  bool is_true_of(Vertex vertex) const {
    return std::ranges::equal(std::vector<Vertex>(rows[vertex].first, rows[vertex].last), entries[vertex]);
  }
};

void change(Rows& rows, Vertex vertex, Class of, Vertex neighbor) {
  const std::size_t at = rows.place(vertex, of, neighbor);
  if (rows.is_at(vertex, at, of, neighbor))
    rows.erase_at(vertex, at, of);
  else
    rows.insert(vertex, at, of, neighbor);
}

// The classes of the first rounds are few, so that all rows move while the device reads.
void rows_stay_while_they_are_read(Class classes) {
  constexpr int kRounds = 300;
  std::mt19937 draw(classes);
  Rows rows;
  rows.add_vertices(30);
  RowReader reader(rows.vertices()), other(rows.vertices());
  rows.add_reader(reader);
  rows.add_reader(other);
  std::size_t written = 0, in_place = 0;  // rows that stay where they are, though they are changed
  for (int round = 0; round < kRounds; ++round) {
    const Class known = round < kRounds / 2 ? 1 : classes;
    if (round % 3 == 0) rows.add_vertices(1);
    if (round % 10 == 0) rows.keep_vertices(rows.vertices() - 1);  // its row is empty
    const Told told(rows);
    const auto expected = [&] {
      std::set<Vertex> all;
      for (const Vertex vertex : reader.noted(rows.vertices())) all.insert(vertex);
      return all;
    };
    CHECK(expected().empty());
    reader.set_reads(true);
    const Vertex left = draw() % 30;  // the device has a copy
    reader.note(left);
    std::set<Vertex> changed{left};
    const bool all_move = rows.admit(known - 1);
    if (all_move)
      for (Vertex vertex = 0; vertex < rows.vertices(); ++vertex) changed.insert(vertex);
    for (int turn = 0; turn < 40; ++turn) {
      const Vertex vertex = draw() % 30;
      const Vertex* const before = rows.all(vertex).first;
      change(rows, vertex, draw() % known, draw() % kNeighbors);
      if (before != nullptr)
        (changed.contains(vertex) ? in_place : written) += rows.all(vertex).first == before;
      changed.insert(vertex);
    }
    for (Vertex vertex = 0; vertex < told.rows.size(); ++vertex)
      CHECK(vertex == left || told.is_true_of(vertex));
    CHECK(expected() == changed);
    reader.set_reads(false);
    rows.reuse_retired();
    reader.forget();
  }
  CHECK(written == 0);  // the device may read these
  CHECK(in_place > 0);  // and not these
  const std::size_t bytes = rows.bytes();
  for (int turn = 0; turn < 1000; ++turn) change(rows, draw() % 30, 0, draw() % kNeighbors);
  CHECK(rows.bytes() == bytes);  // blocks that were read are used again
  rows.remove_reader(reader);
  rows.remove_reader(other);
}

// Long rows have memory of their own, which is freed when they move on: the device holds it.
void long_rows_stay_while_they_are_read() {
  Rows rows;
  rows.add_vertices(1);
  for (Vertex neighbor = 0; neighbor < 20'000; ++neighbor) rows.insert(0, neighbor, 0, neighbor);
  RowReader reader(1);
  rows.add_reader(reader);
  reader.set_reads(true);
  const Told told(rows);
  for (Vertex neighbor = 20'000; neighbor < 60'000; ++neighbor) rows.insert(0, neighbor, 0, neighbor);
  CHECK(told.is_true_of(0));
  CHECK(rows.bytes() > 4 * (24'576 + 65'536));
  reader.set_reads(false);
  rows.reuse_retired();
  CHECK(rows.bytes() < 4 * 80'000 + (std::size_t{1} << 19));
  rows.remove_reader(reader);
}

// Threads write rows of their own; the device stops reading meanwhile.
void threads_write_while_rows_are_read() {
  constexpr Vertex kThreads = 4, kRows = 64;
  Rows rows;
  rows.add_vertices(kRows);
  for (Vertex vertex = 0; vertex < kRows; ++vertex)
    for (Vertex neighbor = 0; neighbor < kNeighbors; neighbor += 2) change(rows, vertex, 0, neighbor);
  RowReader reader(kRows);
  rows.add_reader(reader);
  const Told told(rows);
  reader.set_reads(true);
  std::vector<std::thread> threads;
  for (Vertex thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      for (Vertex turn = 0; turn < 20; ++turn)
        for (Vertex vertex = thread; vertex < kRows; vertex += kThreads)
          change(rows, vertex, 0, (turn * 7 + vertex) % kNeighbors);
    });
  for (Vertex vertex = 0; vertex < kRows; ++vertex) CHECK(told.is_true_of(vertex));
  reader.set_reads(false);
  rows.reuse_retired();
  for (std::thread& thread : threads) thread.join();
  CHECK(reader.noted(kRows).size() == kRows);
  for (Vertex vertex = 0; vertex < kRows; ++vertex) CHECK(std::ranges::is_sorted(rows.all(vertex)));
  rows.remove_reader(reader);
}

}  // namespace

int main() {
  for (const Class classes : {1, 40, 100}) rows_stay_while_they_are_read(classes);
  long_rows_stay_while_they_are_read();
  threads_write_while_rows_are_read();
}
