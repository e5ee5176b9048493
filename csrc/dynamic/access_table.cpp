#include "dynamic/access_table.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

#include "dynamic/threads.hpp"

namespace motiflux::dynamic {
namespace {

auto order(const AccessKey& key) {
  return std::tuple(key.name, key.vertex, key.level);
}

bool is_opened_more(const AccessedRow& a, const AccessedRow& b) {
  if (a.times != b.times) return a.times > b.times;
  return std::tie(a.name, a.vertex) < std::tie(b.name, b.vertex);
}

}  // namespace

void AccessTable::add(std::span<AccessSums> sums, Watch& watch) {
  std::size_t size = 0;
  for (const AccessSums& one : sums) size += one.size();
  const int threads = threads_for(size, static_cast<int>(sums.size()));
  std::vector<std::vector<std::vector<Entry>>> given(sums.size(), std::vector<std::vector<Entry>>(kParts));
  for_each_partition(static_cast<int>(sums.size()), threads, watch, [&](int number, Watch&) {
    const auto thread = static_cast<std::size_t>(number);
    sums[thread].for_each([&](const AccessKey& key, const Total& sum) {
      const AccessKey row{key.vertex, key.name, 0};
      given[thread][row.hash() >> 48 & (kParts - 1)].emplace_back(key, sum);
    });
    sums[thread].clear();
  });
  for_each_partition(static_cast<int>(kParts), threads, watch, [&](int number, Watch&) {
    const auto part = static_cast<std::size_t>(number);
    std::vector<Entry> all = std::move(parts_[part]);
    for (const auto& of_thread : given) all.insert(all.end(), of_thread[part].begin(), of_thread[part].end());
    std::ranges::sort(all, [](const Entry& a, const Entry& b) { return order(a.first) < order(b.first); });
    std::size_t kept = 0;
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (kept == 0 || !(all[kept - 1].first == all[at].first))
        all[kept++] = all[at];
      else if (Total& sum = all[kept - 1].second; __builtin_add_overflow(sum, all[at].second, &sum))
        sum = ~Total{0};
    }
    all.resize(kept);
    parts_[part] = std::move(all);
  });
}

std::vector<AccessedRow> AccessTable::rows_of_part(std::size_t part, const ValueOf& value_of) const {
  std::vector<AccessedRow> rows;
  for (const auto& [key, sum] : parts_[part]) {
    const double times = static_cast<double>(sum) * value_of(key.level);
    if (!rows.empty() && rows.back().name == key.name && rows.back().vertex == key.vertex)
      rows.back().times += times;
    else
      rows.push_back({key.name, key.vertex, times});
  }
  return rows;
}

std::vector<AccessedRow> AccessTable::rows(int threads, const ValueOf& value_of, Watch& watch) const {
  std::size_t size = 0;
  for (const auto& part : parts_) size += part.size();
  const int useful = threads_for(size, threads);
  std::vector<std::vector<AccessedRow>> parts(kParts);
  for_each_partition(static_cast<int>(kParts), useful, watch, [&](int number, Watch&) {
    const auto part = static_cast<std::size_t>(number);
    parts[part] = rows_of_part(part, value_of);
    std::ranges::sort(parts[part], is_opened_more);
  });
  for (std::size_t together = 1; together < kParts; together *= 2) {
    const std::size_t pairs = kParts / (2 * together);
    for_each_partition(static_cast<int>(pairs), useful, watch, [&](int number, Watch&) {
      std::vector<AccessedRow>& first = parts[2 * together * static_cast<std::size_t>(number)];
      std::vector<AccessedRow>& second = parts[2 * together * static_cast<std::size_t>(number) + together];
      std::vector<AccessedRow> both(first.size() + second.size());
      std::ranges::merge(first, second, both.begin(), is_opened_more);
      first = std::move(both);
      second = {};
    });
  }
  return std::move(parts[0]);
}

double AccessTable::times_of_rank(std::size_t rank, const ValueOf& value_of) const {
  std::vector<double> times;
  for (std::size_t part = 0; part < kParts; ++part)
    for (const AccessedRow& row : rows_of_part(part, value_of)) times.push_back(row.times);
  if (rank == 0 || rank > times.size()) return *std::ranges::min_element(times);
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::ranges::nth_element(times, at, std::ranges::greater());
  return *at;
}

bool AccessTable::is_empty() const {
  return std::ranges::all_of(parts_, [](const auto& part) { return part.empty(); });
}

}  // namespace motiflux::dynamic
