// Rows of a batch that another engine matched may be written after its matches were returned.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "check.hpp"
#include "dynamic/monitor.hpp"

namespace {

// What happens to the memory that threads other than the first ask for.
enum class Others { kGet, kWait, kFail };
std::atomic<Others> others{Others::kGet};
const std::thread::id first_thread = std::this_thread::get_id();

void* given(std::size_t bytes) {
  if (std::this_thread::get_id() != first_thread) {
    others.wait(Others::kWait);
    if (others == Others::kFail) throw std::bad_alloc();
  }
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
using dynamic::Edge;
using dynamic::Vertex;
using dynamic::Way;
using Edges = std::set<std::tuple<Vertex, Vertex, dynamic::Label>>;

constexpr Vertex kVertices = 2000;

struct Always : dynamic::Watch {
  bool keep_going() override { return true; }
};

void let(Others now) {
  others = now;
  others.notify_all();
}

// Has rows written while it works, by threads that get memory or not, and finds nothing.
class Blind : public dynamic::RunMatcher {
 public:
  Blind(Others then, std::function<void()> meanwhile) : then_(then), meanwhile_(std::move(meanwhile)) {}
  void match(const std::shared_ptr<const dynamic::Run>& run, dynamic::Watch&,
             const std::function<void()>& write,
             const std::function<void(const dynamic::RunMatches&)>& use) override {
    let(then_);
    write();
    meanwhile_();
    const std::vector<std::uint64_t> totals(2 * run->roots.size());
    use({totals, {}, {}, 1});
  }

 private:
  Others then_;
  std::function<void()> meanwhile_;
};

dynamic::Plan edges_of_paths(dynamic::Graph& graph) {
  const auto relation = graph.relations().relation({{}, false});
  dynamic::Plan plan;
  plan.pair = {{Way::kEither, relation}};
  plan.steps.resize(3);
  plan.steps[2].sources = {{1, Way::kEither, graph.relations().target(relation, {}), relation, false}};
  plan.steps[2].anchor = 1;
  plan.tail.start = 3;
  plan.tail.blocks.emplace_back();
  plan.images = {{0, 1, 2}};
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

Edges edges_of(const dynamic::Graph& graph) {
  Edges all;
  graph.for_each_edge([&](const Edge& edge) { all.emplace(edge.source, edge.target, edge.label); });
  CHECK(all.size() == graph.edges());
  for (const auto& [source, target, label] : all) CHECK(graph.has({source, target, label}));
  return all;
}

// A monitor with edges, whose next batch another engine matches; and that batch.
struct Case {
  explicit Case(Others then = Others::kGet, std::function<void()> meanwhile = [] {}) {
    for (Vertex vertex = 0; vertex < kVertices; ++vertex) monitor.graph().add_vertex(vertex % 3);
    monitor.add_pattern(0, {edges_of_paths(monitor.graph())}, false);
    apply(updates(1, 30'000));
    before = edges_of(monitor.graph());
    after = before;
    for (const auto& [edge, inserts] : batch) {
      const std::tuple one(edge.source, edge.target, edge.label);
      if (inserts)
        after.insert(one);
      else
        after.erase(one);
    }
    monitor.match_elsewhere(std::make_unique<Blind>(then, std::move(meanwhile)));
  }
  void apply(const std::vector<dynamic::Update>& some) {
    dynamic::Found found;
    Always watch;
    monitor.apply_batch(some, 3, {dynamic::AtOnce::kAuto, false}, found, watch, SIZE_MAX, [] {});
  }

  dynamic::Monitor monitor{false, false};
  std::vector<dynamic::Update> batch = updates(2, 30'000);
  Edges before, after;
};

void a_batch_is_matched_before_its_rows_are_written() {
  Case some(Others::kWait);
  some.apply(some.batch);
  CHECK(some.monitor.is_writing());
  let(Others::kGet);
  CHECK(edges_of(some.monitor.graph()) == some.after);
  CHECK(!some.monitor.is_writing());
}

void what_stays_as_it_is_can_be_read_meanwhile() {
  Case some(Others::kWait);
  some.apply(some.batch);
  CHECK(some.monitor.vertices() > 0 && !some.monitor.directed());
  CHECK(!some.monitor.relations().classes().empty());
  CHECK(some.monitor.is_writing());
  let(Others::kGet);
}

void the_next_batch_waits_for_the_rows_of_the_last_one() {
  Case some;
  some.apply(some.batch);
  std::vector<dynamic::Update> turned = some.batch;
  for (dynamic::Update& one : turned) one.inserts = !one.inserts;
  some.apply(turned);
  some.apply(some.batch);
  CHECK(edges_of(some.monitor.graph()) == some.after);
}

void a_batch_is_taken_back_while_its_rows_are_written() {
  Case some;
  some.apply(some.batch);
  some.monitor.take_back();
  CHECK(edges_of(some.monitor.graph()) == some.before);
}

void an_engine_that_fails_leaves_the_graph_as_it_was() {
  Case some(Others::kGet, [] { throw std::runtime_error("the device is gone"); });
  bool failed = false;
  try {
    some.apply(some.batch);
  } catch (const std::runtime_error&) {
    failed = true;
  }
  CHECK(failed);
  CHECK(edges_of(some.monitor.graph()) == some.before);
}

// The writing fails before the matches are there.
void rows_that_cannot_be_written_fail_the_batch() {
  Case some(Others::kFail, [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); });
  bool failed = false;
  try {
    some.apply(some.batch);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  let(Others::kGet);
  CHECK(failed);
  CHECK(edges_of(some.monitor.graph()) == some.before);
}

// The writing fails afterwards.
void rows_that_are_lost_are_told_of_until_the_batch_is_taken_back() {
  Case some(Others::kWait);
  some.apply(some.batch);
  let(Others::kFail);
  for (int turn = 0; turn < 3; ++turn) {
    bool lost = false;
    try {
      if (turn == 0)
        some.apply({});
      else
        some.monitor.graph();
    } catch (const dynamic::RowsLost&) {
      lost = true;
    }
    CHECK(lost);
  }
  let(Others::kGet);
  some.monitor.take_back();
  CHECK(edges_of(some.monitor.graph()) == some.before);
}

// Prepares a batch while the one before is matched; `then` follows.
struct Preparing {
  explicit Preparing(
      std::function<void()> then = [] {}, Others others = Others::kGet)
      : some(others, [this, then] {
          if (!std::exchange(is_first, false)) return;
          call = some.monitor.begin_next();
          CHECK(call > 0 && !some.monitor.is_writing());
          some.monitor.prepare_batch(next, kHow, prepared, watch);
          then();
        }) {
    after_next = some.after;
    for (const auto& [edge, inserts] : next) {
      const std::tuple one(edge.source, edge.target, edge.label);
      if (inserts)
        after_next.insert(one);
      else
        after_next.erase(one);
    }
    first = some.monitor.begin();
  }
  void apply_next() {
    dynamic::Found found;
    some.monitor.apply_prepared(prepared, kHow, found, watch, SIZE_MAX, [] {});
  }
  Edges edges() { return edges_of(some.monitor.graph()); }

  static constexpr dynamic::How kHow{true, 3, {dynamic::AtOnce::kAuto, false}};
  Always watch;
  bool is_first = true;
  std::uint64_t first = 0, call = 0;
  dynamic::PreparedBatch prepared;
  std::vector<dynamic::Update> next = updates(3, 20'000);
  Edges after_next;
  Case some;
};

void a_batch_is_prepared_while_the_one_before_is_matched() {
  Preparing two;
  two.some.apply(two.some.batch);
  CHECK(two.edges() == two.some.after);
  two.apply_next();
  CHECK(two.edges() == two.after_next);
}

void two_batches_are_taken_back_one_by_one_or_together() {
  for (const bool together : {false, true})
    for (const bool applies : {false, true}) {
      Preparing two;
      two.some.apply(two.some.batch);
      if (applies) two.apply_next();
      if (!together) {
        two.some.monitor.take_back(two.call);
        two.some.monitor.take_back(two.call);  // changes nothing
        CHECK(two.edges() == two.some.after);
      }
      two.some.monitor.take_back(two.first);
      CHECK(two.edges() == two.some.before);
    }
}

bool is_refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const dynamic::NotOpen&) {
    return true;
  }
  return false;
}

void a_batch_that_is_settled_is_not_taken_back() {
  Preparing two;
  two.some.apply(two.some.batch);
  dynamic::Monitor& monitor = two.some.monitor;
  CHECK(is_refused([&] { monitor.settle(two.call); }));  // the first one comes first
  monitor.settle(two.first);
  monitor.settle(two.first);  // changes nothing
  CHECK(monitor.final_call() == two.first);
  two.apply_next();
  CHECK(is_refused([&] { monitor.take_back(two.first); }));
  CHECK(two.edges() == two.after_next);
  monitor.take_back(two.call);
  CHECK(is_refused([&] { monitor.take_back(two.first); }));
  CHECK(two.edges() == two.some.after);
}

void no_call_is_begun_while_two_can_be_taken_back() {
  Preparing two;
  two.some.apply(two.some.batch);
  dynamic::Monitor& monitor = two.some.monitor;
  const std::vector<std::function<void()>> calls{
      [&] { monitor.begin(); }, [&] { monitor.begin_after(); }, [&] { two.some.apply(two.next); },
      [&] { monitor.write_put_off(); }, [&] { monitor.write_some_put_off(); }};
  for (std::size_t number = 0; number < calls.size(); ++number) {
    if (number == 2) two.apply_next();  // before, the call of the next batch is there to be used
    bool refused = false;
    try {
      calls[number]();
    } catch (const dynamic::CallsOverlap&) {
      refused = true;
    }
    CHECK(refused);
    CHECK(monitor.last_call() == two.call);
  }
  CHECK(two.edges() == two.after_next);
  CHECK(monitor.final_edges() == two.some.before.size());
  monitor.settle(two.first);
  CHECK(monitor.final_edges() == two.some.after.size());
  monitor.settle(two.call);
  CHECK(monitor.final_edges() == two.after_next.size());
}

void a_batch_is_applied_in_the_call_in_which_it_was_prepared() {
  Preparing two;
  two.some.apply(two.some.batch);
  two.some.monitor.take_back(two.call);
  CHECK(is_refused([&] { two.apply_next(); }));
  CHECK(two.edges() == two.some.after);
}

void a_prepared_batch_is_matched_here_if_there_is_no_engine_any_more() {
  Preparing two;
  two.some.apply(two.some.batch);
  two.some.monitor.match_elsewhere(nullptr);
  two.apply_next();
  CHECK(two.edges() == two.after_next);
}

void an_engine_may_be_taken_away_while_it_matches() {
  std::unique_ptr<Case> some;
  some = std::make_unique<Case>(Others::kGet, [&] { some->monitor.match_elsewhere(nullptr); });
  some->apply(some->batch);
  CHECK(edges_of(some->monitor.graph()) == some->after);
}

void a_batch_that_fails_takes_the_prepared_one_with_it() {
  Preparing two([] { throw std::runtime_error("the device is gone"); });
  bool failed = false;
  try {
    two.some.apply(two.some.batch);
  } catch (const std::runtime_error&) {
    failed = true;
  }
  CHECK(failed);
  CHECK(two.edges() == two.some.before);
  two.some.apply(two.some.batch);
  CHECK(two.edges() == two.some.after);
}

// The rows of the first batch cannot be written, which the preparation waits for.
void nothing_is_prepared_after_rows_that_cannot_be_written() {
  Preparing two([] {}, Others::kFail);
  bool failed = false;
  try {
    two.some.apply(two.some.batch);
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  let(Others::kGet);
  CHECK(failed && two.call == 0);
  CHECK(two.edges() == two.some.before);
}

void a_batch_is_prepared_only_while_another_is_matched() {
  Case some;
  CHECK(some.monitor.begin_next() == 0);
  some.apply(some.batch);
  CHECK(some.monitor.begin_next() == 0);
}

void a_monitor_ends_while_its_rows_are_written() {
  Case some;
  some.apply(some.batch);
}

void a_forked_child_has_all_rows() {
#if !defined(__SANITIZE_THREAD__)  // which does not follow threads that a child starts
  Case some(Others::kWait);
  some.apply(some.batch);
  std::thread opening([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    let(Others::kGet);
  });
  const pid_t child = fork();
  if (child == 0) {
    const bool same = edges_of(some.monitor.graph()) == some.after;
    some.monitor.match_elsewhere(nullptr);
    some.apply(some.batch);  // on threads of its own
    _exit(same && edges_of(some.monitor.graph()) == some.after ? 0 : 1);
  }
  opening.join();
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(edges_of(some.monitor.graph()) == some.after);
#endif
}

}  // namespace

int main() {
  a_batch_is_matched_before_its_rows_are_written();
  what_stays_as_it_is_can_be_read_meanwhile();
  the_next_batch_waits_for_the_rows_of_the_last_one();
  a_batch_is_taken_back_while_its_rows_are_written();
  an_engine_that_fails_leaves_the_graph_as_it_was();
  rows_that_cannot_be_written_fail_the_batch();
  rows_that_are_lost_are_told_of_until_the_batch_is_taken_back();
  a_batch_is_prepared_while_the_one_before_is_matched();
  two_batches_are_taken_back_one_by_one_or_together();
  a_batch_that_is_settled_is_not_taken_back();
  no_call_is_begun_while_two_can_be_taken_back();
  a_batch_is_applied_in_the_call_in_which_it_was_prepared();
  a_prepared_batch_is_matched_here_if_there_is_no_engine_any_more();
  an_engine_may_be_taken_away_while_it_matches();
  a_batch_that_fails_takes_the_prepared_one_with_it();
  nothing_is_prepared_after_rows_that_cannot_be_written();
  a_batch_is_prepared_only_while_another_is_matched();
  a_monitor_ends_while_its_rows_are_written();
  a_forked_child_has_all_rows();
}
