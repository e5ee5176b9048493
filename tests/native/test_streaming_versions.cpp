// Rows of several versions with a thread for each role: an updater, a collector, and readers that find what a
// model says, each at the moment of its update. Readers that wait help to copy rows in strips.
#include <atomic>
#include <cstdint>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "check.hpp"
#include "one_lane.hpp"

// What a GPU has built in, and backing off is made of.
inline void __nanosleep(unsigned) {
  std::this_thread::yield();
}

#define MOTIFLUX_CHECKS_VERSIONS
#include "motiflux/streaming/updater.hpp"

namespace {

namespace streaming = motiflux::streaming;
namespace view = motiflux::view;
using motiflux::device::device_wide;
using motiflux::device::Order;

struct OneThread {
  static std::uint32_t thread() { return 0; }
  static std::uint32_t threads() { return 1; }
  static void sync() {}
  static std::uint32_t sums_before(std::uint32_t value, std::uint32_t& total) {
    total = value;
    return 0;
  }
};

using Neighbors = std::set<std::uint32_t>;

struct World {
  static constexpr std::uint32_t kSlots = 256;

  // `star`: all edges are those of vertex 0.
  World(std::uint32_t vertex_count, std::uint32_t update_count, std::uint64_t units, std::uint32_t seed,
        bool star)
      : vertices(vertex_count),
        bytes(units * streaming::kUnitBytes),
        marks(units / 64 + 1),
        heads(vertex_count),
        slots(kSlots) {
    std::mt19937 random(seed);
    std::vector<Neighbors> now(vertices);
    for (std::uint32_t number = 0; number < update_count; ++number) {
      const auto source = static_cast<std::uint32_t>(star ? 0 : random() % vertices);
      const std::uint64_t step = 1 + random() % (star ? vertices - 1 : 3);
      const auto target = static_cast<std::uint32_t>((source + step) % vertices);
      const streaming::Update update{source, target, 0, random() % 5 < 3};
      std::vector<Neighbors> after = now;
      for (const auto& [one, other] : {std::pair{source, target}, std::pair{target, source}}) {
        if (update.inserts != 0)
          after[one].insert(other);
        else
          after[one].erase(other);
      }
      updates.push_back(update);
      history.push_back(update.inserts != 0 ? after : now);
      now = after;
    }
    graph = {{heads.data(), bytes.data()},
             {bytes.data(), &counts, marks.data(), units},
             {&progress, slots.data(), kSlots, 0},
             classes,
             places,
             seed % 2 == 0 ? view::kFarthestEnd : 7,
             0,
             &copied,
             seed % 4,
             0};
  }

  std::uint64_t end() const { return updates.size(); }

  std::uint32_t vertices;
  std::vector<unsigned char> bytes;
  std::vector<std::uint64_t> marks;
  std::vector<view::RowHead> heads;
  std::vector<streaming::UpdateSlot> slots;
  std::vector<streaming::Update> updates;
  std::vector<std::vector<Neighbors>> history;  // by moment - 1, then by vertex
  streaming::PoolCounts counts{};
  streaming::Progress progress{};
  std::uint32_t classes[2] = {0, 2};
  streaming::Place places[2] = {{0, 0}, {0, 1}};
  streaming::CopiedRows copied{};
  streaming::StreamGraph graph{};
  streaming::Batch batch{};
};

void update(World& world, std::uint32_t seed, std::uint32_t most) {
  std::mt19937 random(seed);
  for (std::uint64_t next = 0; next < world.end();) {
    auto count = static_cast<std::uint32_t>(1 + random() % most);
    if (count > world.end() - next) count = static_cast<std::uint32_t>(world.end() - next);
    const auto written = streaming::write_updates(OneThread{}, OneLane{}, world.graph,
                                                  world.updates.data() + next, count, world.batch);
    CHECK(written == streaming::Written::kYes);
    next += count;
  }
}

void collect(World& world) {
  while (!streaming::is_all_collected(world.graph.stages, world.end()))
    if (!streaming::collect(OneLane{}, world.graph, 4)) std::this_thread::yield();
}

template <class Open>
void check_row(const Neighbors& expected, const Open& open) {
  const view::VersionedRow row = open();
  auto next = expected.begin();
  for (std::uint32_t entry = 0; entry < row.size; ++entry) {
    if (!row.is_clean() && !row.lives_at_moment(entry)) continue;
    CHECK(next != expected.end() && *next == row.neighbors[entry]);
    ++next;
  }
  CHECK(next == expected.end());
}

void read(World& world, std::uint32_t seed, std::uint64_t lag) {
  std::mt19937 random(seed);
  const streaming::Stages& stages = world.graph.stages;
  for (;;) {
    const std::uint64_t moment = device_wide(stages.progress->taken).fetch_add(1, Order::kRelaxed) + 1;
    if (moment > world.end()) return;
    const std::uint64_t awaited = moment + lag < world.end() ? moment + lag : world.end();
    while (streaming::published(stages) < awaited) {
      if (world.graph.strip != 0) streaming::help_to_copy<OneLane>(world.graph);
      std::this_thread::yield();
    }
    for (std::uint32_t turn = random() % 6; turn > 0; --turn) std::this_thread::yield();
    const streaming::Update& update = world.updates[moment - 1];
    const auto other = static_cast<std::uint32_t>(random() % world.vertices);
    for (const std::uint32_t row : {update.source, update.target, other}) {
      const Neighbors& expected = world.history[moment - 1][row];
      check_row(expected, [&] { return world.graph.versions.open(row, moment); });
      check_row(expected, [&] { return world.graph.versions.open(OneLane{}, row, moment); });
    }
    streaming::finish(stages, moment);
  }
}

// `lag`: so many further updates are published before one is read, for which a row needs several slabs.
void check_threads(std::uint32_t seed, std::uint32_t vertices, std::uint64_t units, std::uint64_t lag) {
  World world(vertices, 1500, units, seed, lag > 0);
  std::vector<std::thread> threads;
  threads.emplace_back([&] { update(world, seed, lag > 0 ? 2 : 16); });
  threads.emplace_back([&] { collect(world); });
  for (std::uint32_t number = 0; number < 3; ++number)
    threads.emplace_back([&, number] { read(world, 10 * seed + number, lag); });
  for (std::thread& thread : threads) thread.join();
  CHECK(world.progress.finished == world.end() && world.progress.collected == world.end());
  CHECK(world.progress.unlinked == 0 && world.progress.freed_versions > 0);
  CHECK(lag == 0 || world.counts.high_water > 4 * streaming::units_for(sizeof(view::Slab)));
  // Only newest versions are left.
  std::uint64_t bytes = 0;
  for (std::uint32_t row = 0; row < world.vertices; ++row) {
    CHECK(world.heads[row].slabs == 0);
    const std::uint32_t newest = streaming::newest_of(world.graph, row);
    if (newest != 0) bytes += view::bytes_of_version(world.graph.version(newest)->size);
    streaming::check_row(world.graph, row);
  }
  CHECK(world.counts.asked == bytes);
  CHECK((world.graph.strip != 0) == (world.copied.copied > 0));
  CHECK(world.copied.helped <= world.copied.copied);
  CHECK(world.graph.strip != 1 || lag == 0 || world.copied.helped > 0);
}

}  // namespace

int main() {
  for (std::uint32_t seed = 0; seed < 8; ++seed)
    check_threads(seed, 3 + seed % 6, seed % 4 == 3 ? 150 : 20'000, 0);
  for (std::uint32_t seed = 8; seed < 16; ++seed) check_threads(seed, 30, 40'000, 160 + 5 * (seed % 8));
}
