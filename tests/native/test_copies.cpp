// Choices of copies against all products, and ranges that narrow level by level against choices.
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "check.hpp"
#include "copies/build.hpp"
#include "copies/choices.hpp"
#include "copies/ranges.hpp"
#include "copies/reach.hpp"

namespace {

using namespace motiflux::copies;

struct Drawn {
  std::vector<std::vector<std::int64_t>> columns;  // two for each variable
  Network network;
  std::vector<Range> ranges;
};

Comparison draw_comparison(int variables, std::mt19937_64& random) {
  Comparison one;
  one.left = static_cast<int>(random() % static_cast<unsigned>(variables));
  one.right = static_cast<int>(random() % static_cast<unsigned>(variables));
  one.left_column = static_cast<int>(random() % 3 / 2);
  one.right_column = static_cast<int>(random() % 3 / 2);
  one.op = static_cast<Operator>(random() % 6);
  one.plain = random() % 2 == 0;
  if (!one.plain) {
    one.m = static_cast<std::int64_t>(1 + random() % 3);
    one.n = random() % 2 == 0 ? 2 : -1;
    one.c = static_cast<int>(random() % 5) - 2;
  }
  return one;
}

void draw(Drawn& drawn, std::mt19937_64& random) {
  const int variables = static_cast<int>(1 + random() % 4);
  drawn.columns.reserve(2 * static_cast<std::size_t>(variables));
  for (int v = 0; v < variables; ++v) {
    const std::size_t copies = 1 + random() % 6;
    Variable variable;
    for (int column = 0; column < 2; ++column) {
      std::vector<std::int64_t> values;
      for (std::size_t at = 0; at < copies; ++at)
        values.push_back(static_cast<std::int64_t>(random() % 9) - 3);
      if (column == 0) std::sort(values.begin(), values.end());
      drawn.columns.push_back(std::move(values));
      variable.columns.push_back(drawn.columns.back().data());
    }
    drawn.network.variables.push_back(std::move(variable));
    drawn.ranges.push_back({0, copies});
  }
  for (std::size_t c = random() % 5; c > 0; --c)
    drawn.network.comparisons.push_back(draw_comparison(variables, random));
  if (random() % 2 == 0) {
    drawn.network.span.there = true;
    drawn.network.span.span = static_cast<int>(random() % 6);
  }
}

bool satisfies(const Network& network, const std::vector<Place>& choice) {
  for (const Comparison& one : network.comparisons)
    if (!network.holds(one, choice[static_cast<std::size_t>(one.left)],
                       choice[static_cast<std::size_t>(one.right)]))
      return false;
  std::int64_t least = INT64_MAX, most = INT64_MIN;
  for (std::size_t v = 0; v < choice.size(); ++v) {
    least = std::min(least, network.variables[v].value(0, choice[v]));
    most = std::max(most, network.variables[v].value(0, choice[v]));
  }
  return !network.span.there || network.span.reaches(least, most);
}

std::set<std::vector<Place>> all_choices(const Network& network, const std::vector<Range>& ranges) {
  std::set<std::vector<Place>> found;
  std::vector<Place> choice(ranges.size(), 0);
  for (;;) {
    if (satisfies(network, choice)) found.insert(choice);
    std::size_t v = 0;
    while (v < ranges.size() && ++choice[v] == ranges[v].last) choice[v++] = 0;
    if (v == ranges.size()) return found;
  }
}

// Each copy of a choice is within the bounds that any other copy of it leaves.
void check_reach(const Network& network, const std::set<std::vector<Place>>& choices) {
  const Reach reach(network);
  for (const std::vector<Place>& choice : choices)
    for (int target = 0; target < static_cast<int>(choice.size()); ++target)
      for (int source = 0; source < static_cast<int>(choice.size()); ++source) {
        if (source == target) continue;
        std::int64_t own[2], other[2];
        Interval intervals[2];
        for (int column = 0; column < 2; ++column) {
          const auto at = [&](int variable) {
            const auto v = static_cast<std::size_t>(variable);
            return network.variables[v].value(column, choice[v]);
          };
          own[column] = at(target);
          other[column] = at(source);
          intervals[column] = reach.all(target, column);
        }
        reach.narrow(target, source, other, intervals);
        for (int column = 0; column < 2; ++column)
          CHECK(intervals[column].low <= own[column] && own[column] <= intervals[column].high);
      }
}

void check_choices(std::mt19937_64& random) {
  Drawn drawn;
  draw(drawn, random);
  const auto expected = all_choices(drawn.network, drawn.ranges);
  Choices choices(drawn.network);
  CHECK(choices.exists(drawn.ranges) == !expected.empty());
  CHECK(choices.count(drawn.ranges) == expected.size());
  std::set<std::vector<Place>> listed;
  ChoiceList list(choices, drawn.ranges);
  while (list.next()) CHECK(listed.emplace(list.chosen().begin(), list.chosen().end()).second);
  CHECK(listed == expected);
  std::set<std::vector<Place>> tried;
  const bool whole = choices.try_all(drawn.ranges, random() % 200, [&](std::span<const Place> one) {
    return tried.emplace(one.begin(), one.end()).second;
  });
  CHECK(whole ? tried == expected
              : std::includes(expected.begin(), expected.end(), tried.begin(), tried.end()));
  check_reach(drawn.network, expected);
}

// A path of three edges over vertices 0, 1, 2, 3: edge e is between levels e and e + 1.
void check_ranges(std::mt19937_64& random) {
  Drawn drawn;
  do {
    drawn = Drawn();
    draw(drawn, random);
  } while (drawn.ranges.size() != 3);
  std::vector<CopyRows> indexes(3);
  Compared compared;
  compared.network = drawn.network;
  for (std::size_t edge = 0; edge < 3; ++edge) {
    std::vector<std::uint64_t> offsets(5, 0);
    std::fill(offsets.begin() + static_cast<std::ptrdiff_t>(edge) + 1, offsets.end(), 1);
    const std::vector<std::uint32_t> neighbors{static_cast<std::uint32_t>(edge + 1)};
    const std::vector<std::int64_t> starts{0};
    CopySource source;
    source.offsets = offsets;
    source.neighbors = neighbors;
    source.starts = starts;
    source.copies = drawn.ranges[edge].last;
    source.columns = {drawn.columns[2 * edge], drawn.columns[2 * edge + 1]};
    source.by_value = true;
    indexes[edge] = build_copies(source);
    CHECK(indexes[edge].rows.size() == drawn.ranges[edge].last);
    Compared::Ends ends;
    ends.from = static_cast<int>(edge);
    ends.to = static_cast<int>(edge + 1);
    ends.index.offsets = indexes[edge].offsets.data();
    ends.index.neighbors = indexes[edge].neighbors.data();
    ends.index.starts = indexes[edge].starts.data();
    for (const auto& column : indexes[edge].by_value.columns) ends.index.row_columns.push_back(column.data());
    ends.index.row_others = indexes[edge].by_value.others.data();
    compared.ends.push_back(ends);
    for (std::size_t column = 0; column < 2; ++column)
      compared.network.variables[edge].columns[column] = indexes[edge].columns[column].data();
  }
  compared.prepare(4);
  Ranges ranges(compared, 4);
  const std::vector<std::uint32_t> values{0, 1, 2, 3};
  const auto expected = all_choices(compared.network, drawn.ranges);
  bool possible = ranges.enter(0, values.data());
  for (int level = 1; level < 4 && possible; ++level) {
    const Ranges::Window window = ranges.window(level - 1, level, values.data());
    std::vector<std::uint32_t> others;
    ranges.others(window, level, others);
    possible = ranges.enter(level, values.data(), random() % 3);
    CHECK(!possible || others == std::vector<std::uint32_t>{static_cast<std::uint32_t>(level)} ||
          expected.empty());
    ranges.prefetch(std::min(level, 3), values.data(), 0);
  }
  CHECK(possible || expected.empty());
  if (!possible) return;
  CHECK(ranges.has_choice(3) == !expected.empty());
  CHECK(ranges.choices(3) == expected.size());
}

}  // namespace

int main() {
  std::mt19937_64 random(7);
  for (int round = 0; round < 3000; ++round) check_choices(random);
  for (int round = 0; round < 3000; ++round) check_ranges(random);
  const std::vector<std::uint64_t> offsets{0, 1, 3, 3};
  const std::vector<std::uint32_t> targets{1, 0, 1};
  const std::vector<std::uint32_t> by_target = arcs_by_target(offsets, targets);
  CHECK((by_target == std::vector<std::uint32_t>{1, 0, 2}));
  // 0->1 has two copies, 1->0 one, 1->1 three.
  const std::vector<std::uint64_t> starts{0, 2, 3, 6};
  const std::vector<std::int64_t> rows{3, 5, 0, 4, 1, 2}, times{10, 11, 12, 13, 14, 15};
  const CopyRows turned = turned_around({offsets, targets, starts, {times}, false}, rows);
  CHECK((turned.offsets == Values<std::uint64_t>{0, 1, 3, 3}));
  CHECK((turned.neighbors == Values<std::uint32_t>{1, 0, 1}));
  CHECK((turned.starts == Values<std::uint64_t>{0, 1, 3, 6}));
  CHECK((turned.rows == Values<std::int64_t>{0, 3, 5, 4, 1, 2}));
  CHECK((turned.columns[0] == Values<std::int64_t>{12, 10, 11, 13, 14, 15}));
}
