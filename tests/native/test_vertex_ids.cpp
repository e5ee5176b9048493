// Ids of vertices and their numbers, against a map.
#include "dynamic/vertex_ids.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

using motiflux::dynamic::IntegerIds;
using motiflux::dynamic::kUnknown;
using motiflux::dynamic::StringIds;
using motiflux::dynamic::Vertex;

template <class Ids, class Draw>
void check_random(Ids ids, std::size_t kept, Draw&& draw, int steps, std::mt19937_64& random) {
  using Owned = typename Ids::Owned;
  std::vector<Owned> order;
  std::map<Owned, Vertex> numbers;
  for (Vertex number = 0; number < kept; ++number) {
    order.emplace_back(ids.at(number));
    numbers[order.back()] = number;
  }
  for (int step = 0; step < steps; ++step) {
    if (random() % 500 == 0) {
      const std::size_t count = kept + random() % (order.size() - kept + 1);
      ids.keep(count);
      for (; order.size() > count; order.pop_back()) numbers.erase(order.back());
    }
    const Owned id = draw();
    const auto known = numbers.find(id);
    const Vertex found = ids.find(id);
    CHECK(found == (known == numbers.end() ? kUnknown : known->second));
    if (found == kUnknown) {
      CHECK(ids.add(id) == order.size());
      numbers[id] = static_cast<Vertex>(order.size());
      order.push_back(id);
    }
    CHECK(ids.size() == order.size());
  }
  for (Vertex number = 0; number < order.size(); ++number) CHECK(Owned(ids.at(number)) == order[number]);
}

void test_integers() {
  std::mt19937_64 random(1);
  for (const std::size_t fewest : {std::size_t{1}, std::size_t{1} << 10})
    for (const std::int64_t range : {50, 5000, 1 << 20}) {
      std::vector<std::int64_t> first;
      for (std::int64_t id = 0; id < 20; ++id) first.push_back(id < 10 ? id : id % 2 == 0 ? 7 * id : -id);
      IntegerIds ids(fewest);
      ids.load(first.data(), first.size());
      const auto draw = [&] {
        const auto id = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(range));
        return random() % 4 == 0 ? -id : random() % 16 == 0 ? id << 40 : id;
      };
      check_random(std::move(ids), first.size(), draw, 20000, random);
    }
}

void test_strings() {
  std::mt19937_64 random(2);
  for (const std::uint64_t range : {50, 100000}) {
    const auto draw = [&] { return std::string(random() % 3, 'x') + std::to_string(random() % range); };
    check_random(StringIds(), 0, draw, 20000, random);
  }
}

}  // namespace

int main() {
  test_integers();
  test_strings();
  return 0;
}
