// Estimates of the rows that searches open: the same on any number of threads, before and while a batch is
// written, and clean if they are stopped or memory fails.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "dynamic/accesses.hpp"
#include "dynamic/monitor.hpp"

namespace {

// Requests for memory until one fails; negative: none does.
std::atomic<std::int64_t> left{-1};

void* given(std::size_t bytes) {
  if (left.load() >= 0 && left.fetch_sub(1) == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return given(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return given(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

namespace dynamic = motiflux::dynamic;
using dynamic::Accesses;
using dynamic::AccessMethod;
using dynamic::AccessOptions;
using dynamic::Vertex;
using dynamic::Way;

constexpr Vertex kVertices = 600;

struct Always : dynamic::Watch {
  bool keep_going() override { return true; }
};

// Stops the work after some looks.
struct Briefly : dynamic::Watch {
  explicit Briefly(int looks) : looks(looks) {}
  bool keep_going() override { return --looks > 0; }
  int looks;
};

// Squares, listed: an edge, a neighbour of one end, and a vertex that is joined to it and to the other end.
// `labels`: of the vertex at level 2, by which its rows are of one class or merged from several.
dynamic::Plan squares(dynamic::Graph& graph, const dynamic::LabelSet& labels) {
  const auto relation = graph.relations().relation({{}, false});
  const auto some = graph.relations().target(relation, labels), any = graph.relations().target(relation, {});
  dynamic::Plan plan;
  plan.pair = {{Way::kEither, relation}};
  plan.steps.resize(4);
  plan.steps[2].sources = {{1, Way::kEither, some, relation, false}};
  plan.steps[2].anchor = 1;
  plan.steps[2].distinct = 1;
  plan.steps[3].sources = {{2, Way::kEither, any, relation, false}, {0, Way::kEither, any, relation, false}};
  plan.steps[3].anchor = 2;
  plan.steps[3].distinct = 2;
  plan.tail.start = 4;
  plan.tail.blocks.emplace_back();
  plan.images = {{0, 1, 2, 3}};
  return plan;
}

std::vector<dynamic::Update> updates(unsigned seed, int size) {
  std::mt19937 draw(seed);
  std::vector<dynamic::Update> all;
  while (static_cast<int>(all.size()) < size) {
    const Vertex a = draw() % kVertices, b = draw() % 8 == 0 ? 7 : draw() % kVertices;
    if (a != b) all.push_back({{std::min(a, b), std::max(a, b), 0}, draw() % 3 > 0});
  }
  return all;
}

std::vector<dynamic::RowName> names_of(const dynamic::Monitor& monitor) {
  std::vector<dynamic::RowName> names;
  for (const dynamic::Plan& plan : monitor.plans())
    for (const dynamic::Step& step : plan.steps)
      for (const dynamic::Source& source : step.sources)
        if (const dynamic::RowName name{source.target, source.way};
            std::ranges::find(names, name) == names.end())
          names.push_back(name);
  return names;
}

bool same(const Accesses& a, const Accesses& b) {
  const auto equal = [](const dynamic::AccessedRow& one, const dynamic::AccessedRow& other) {
    return one.name == other.name && one.vertex == other.vertex && one.times == other.times;
  };
  return a.walks == b.walks && a.rounds == b.rounds && std::ranges::equal(a.rows, b.rows, equal);
}

using Look = std::function<void(const dynamic::Run&, const std::function<void()>& write)>;

// Has a function look at each run, and finds nothing.
class Looking : public dynamic::RunMatcher {
 public:
  explicit Looking(Look look) : look_(std::move(look)) {}
  void match(const std::shared_ptr<const dynamic::Run>& run, dynamic::Watch&,
             const std::function<void()>& write,
             const std::function<void(const dynamic::RunMatches&)>& use) override {
    look_(*run, write);
    use({{}, {}, {}, 1});
  }

 private:
  Look look_;
};

// A monitor whose next batches a function sees.
struct Case {
  explicit Case(const dynamic::LabelSet& labels) {
    for (Vertex vertex = 0; vertex < kVertices; ++vertex) monitor.graph().add_vertex(vertex % 3);
    monitor.add_pattern(0, {squares(monitor.graph(), labels)}, true);
    apply(updates(1, 5'000));
  }
  void apply(const std::vector<dynamic::Update>& some) {
    dynamic::Found found;
    Always watch;
    monitor.apply_batch(some, 3, {dynamic::AtOnce::kAuto, false}, found, watch, SIZE_MAX, [] {});
  }
  void look_at(const std::vector<dynamic::Update>& some, Look look) {
    bool seen = false;
    monitor.match_elsewhere(std::make_unique<Looking>([&](const dynamic::Run& run, const auto& write) {
      seen = true;
      look(run, write);
    }));
    apply(some);
    CHECK(seen);
  }
  Accesses estimate(const dynamic::Run& run, const AccessOptions& options, dynamic::Watch& watch) {
    return estimator.estimate(monitor, run, names_of(monitor), options, watch);
  }
  Accesses estimate(const dynamic::Run& run, const AccessOptions& options) {
    Always watch;
    return estimate(run, options, watch);
  }

  dynamic::Monitor monitor{false, false};
  dynamic::AccessEstimator estimator;
};

AccessOptions options_of(AccessMethod method, int threads) {
  AccessOptions options;
  options.method = method;
  options.walks = 500;
  options.most_walks = 4000;
  options.threads = threads;
  return options;
}

constexpr AccessMethod kAll[] = {AccessMethod::kWeighted, AccessMethod::kPaper, AccessMethod::kExact};

// The graph is read again while other threads write it: the estimate waits for these.
void threads_find_what_one_thread_finds(const dynamic::LabelSet& labels, int size) {
  Case some(labels);
  some.look_at(updates(2, size), [&](const dynamic::Run& run, const std::function<void()>& write) {
    const Accesses exact = some.estimate(run, options_of(AccessMethod::kExact, 1));
    CHECK(exact.rows.size() > 100);
    for (const AccessMethod method : kAll)
      CHECK(same(some.estimate(run, options_of(method, 1)), some.estimate(run, options_of(method, 4))));
    write();
    CHECK(same(exact, some.estimate(run, options_of(AccessMethod::kExact, 4))));
  });
}

void an_estimate_can_be_stopped() {
  Case some({});
  some.look_at(updates(2, 2'000), [&](const dynamic::Run& run, const auto&) {
    for (const AccessMethod method : kAll) {
      Briefly watch(3);
      bool stopped = false;
      try {
        AccessOptions options = options_of(method, 3);
        options.most_walks = std::uint64_t{1} << 40;
        some.estimate(run, options, watch);
      } catch (const dynamic::Stopped&) {
        stopped = true;
      }
      CHECK(stopped);
    }
  });
}

void memory_that_fails_leaves_the_estimator_as_it_was() {
  Case some({{{0, 1}}});
  some.look_at(updates(2, 300), [&](const dynamic::Run& run, const auto&) {
    for (const AccessMethod method : kAll) {
      const Accesses expected = some.estimate(run, options_of(method, 2));
      int failed = 0;
      for (std::int64_t number = 0; number < 100'000; number += 1 + number / 8) {
        left = number;
        try {
          some.estimator = {};
          some.estimate(run, options_of(method, 2));
          left = -1;
          break;
        } catch (const std::bad_alloc&) {
          ++failed;
        }
        left = -1;
        CHECK(same(some.estimate(run, options_of(method, 2)), expected));
      }
      CHECK(failed > 20);
    }
  });
}

}  // namespace

int main() {
  const dynamic::LabelSet one{{{1}}}, two{{{0, 2}}};
  threads_find_what_one_thread_finds(one, 300);
  threads_find_what_one_thread_finds(two, 300);
  threads_find_what_one_thread_finds({}, 6'000);
  an_estimate_can_be_stopped();
  memory_that_fails_leaves_the_estimator_as_it_was();
}
