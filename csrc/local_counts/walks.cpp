#include "local_counts/walks.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <type_traits>

namespace motiflux::local_counts {
namespace {

// Costs, in entries of rows read.
constexpr double kRow = 6;
constexpr double kReached = 10;  // a newly reached vertex, including its reset
constexpr double kStep = 30;

constexpr double kMostOfRoot = 8;  // times the work after which no further vertex is tried

constexpr std::size_t kWalkArcs = 1 << 9;  // arcs of the roots per work item: each may read all arcs

// Arithmetic in 64 bits that are known to suffice, or in 128 bits with overflow checks.
template <class T>
void add(T& to, T more) {
  if constexpr (std::is_same_v<T, Total>) {
    add_checked(to, more);
  } else {
    to += more;
  }
}

template <class T>
T times(T a, T b) {
  if constexpr (std::is_same_v<T, Total>) {
    T product = 0;
    if (__builtin_mul_overflow(a, b, &product)) throw std::overflow_error("a local count exceeds 2^128 - 1");
    return product;
  } else {
    return a * b;
  }
}

template <class T>
T raised(T base, int power) {
  T result = base;
  for (int at = 1; at < power; ++at) result = times(result, base);
  return result;
}

// Values that are zero at first. The system clears a page at the first access: walks from few roots reach few
// of them.
template <class T>
class Zeros {
 public:
  explicit Zeros(std::size_t count)
      : values_(static_cast<T*>(std::calloc(std::max<std::size_t>(count, 1), sizeof(T)))) {
    if (!values_) throw std::bad_alloc();
  }
  T& operator[](std::size_t at) { return values_.get()[at]; }
  const T& operator[](std::size_t at) const { return values_.get()[at]; }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T[], Free> values_;
};

template <class T>
class Walker {
 public:
  // A walk is left after `most` work from a root: then work() is an estimate, and no other result is valid.
  Walker(const Walk& walk, const Workers& workers, double most = std::numeric_limits<double>::infinity())
      : walk_(walk), workers_(workers), most_(most) {
    registers_.reserve(walk.registers);
    for (std::size_t at = 0; at < walk.registers; ++at) registers_.push_back({Zeros<T>(walk.vertices), {}});
  }

  // Fills the registers from `root`; clear() must follow.
  void go(std::uint32_t root) {
    limit_ = work_ + most_;
    left_ = false;
    for (const Step& step : walk_.steps) {
      workers_.check();  // a step reads no arc twice
      work_ += kStep;
      if (!left_)
        take(step, root);
      else if (step.move == Move::kPush || step.move == Move::kPull)
        add_step_left_out(step.rows);
    }
  }

  // The work of sum_of_edges().
  void add_sum_of_edges() {
    if (left_)
      add_step_left_out(walk_.rows);
    else
      sum_of_edges();
  }

  void clear() {
    for (Register& one : registers_) {
      for (const std::uint32_t vertex : one.reached) one.value[vertex] = T{0};
      one.reached.clear();
    }
  }

  Total sum() {
    Total total = 0;
    const Register& last = result();
    for (const std::uint32_t vertex : last.reached) add_checked(total, Total{last.value[vertex]});
    return total;
  }

  // Sums over both arcs of each edge.
  Total sum_of_edges() {
    Total total = 0;
    const Register& last = result();
    const double before = work_;
    for (std::size_t at = 0; at < last.reached.size(); ++at) {
      if (work_ > limit_) {
        leave(walk_.rows, last.reached, at, before);
        break;
      }
      const std::uint32_t vertex = last.reached[at];
      const std::uint32_t* const begin = walk_.rows.begin(vertex);
      const std::uint32_t* const end = std::lower_bound(begin, walk_.rows.end(vertex), vertex);
      const Total product = times(Total{last.value[vertex]}, Total{gathered(last, begin, end)});
      add_checked(total, product);
    }
    add_checked(total, Total{total});
    return total;
  }

  T at(std::uint32_t vertex) { return result().value[vertex]; }
  double work() const { return work_; }

 private:
  struct Register {
    Zeros<T> value;
    std::vector<std::uint32_t> reached;
  };

  Register& result() { return registers_[walk_.steps.back().into]; }

  const std::uint32_t* end_of(const Step& step, std::uint32_t row, std::uint32_t root) {
    const std::uint32_t* const end = step.rows.end(row);
    return step.below ? std::lower_bound(step.rows.begin(row), end, root) : end;
  }

  T gathered(const Register& from, const std::uint32_t* begin, const std::uint32_t* end) {
    work_ += static_cast<double>(end - begin) + kRow;
    T sum = 0;
    for (; begin != end; ++begin) add(sum, from.value[*begin]);
    return sum;
  }

  T gathered(const Step& step, const Register& from, const std::uint32_t* begin, const std::uint32_t* end) {
    if (step.weights.empty()) return gathered(from, begin, end);
    work_ += static_cast<double>(end - begin) + kRow;
    const std::uint64_t* weight = step.weights.data() + (begin - step.rows.neighbors);
    T sum = 0;
    for (; begin != end; ++begin, ++weight) add(sum, times(T{*weight}, from.value[*begin]));
    return sum;
  }

  void take(const Step& step, std::uint32_t root) {
    Register& into = registers_[step.into];
    switch (step.move) {
      case Move::kSeed:
        return seed(step, into, root);
      case Move::kPush:
        return push(step, into, registers_[step.from], root);
      case Move::kPull:
        return pull(step, into, registers_[step.from], root);
      case Move::kEnds:
        for (const std::uint32_t vertex : into.reached) {
          const auto ends = end_of(step, vertex, root) - step.rows.begin(vertex);
          into.value[vertex] = times(into.value[vertex], raised(static_cast<T>(ends), step.power));
        }
        return;
      case Move::kTimes:
        for (const std::uint32_t vertex : into.reached) {
          const T other = raised(registers_[step.from].value[vertex], step.power);
          into.value[vertex] = times(into.value[vertex], other);
        }
        return;
      case Move::kScale:
        for (const std::uint32_t vertex : into.reached)
          into.value[vertex] = times(into.value[vertex], T{step.weights[vertex]});
        return;
      case Move::kPower:
        for (const std::uint32_t vertex : into.reached)
          into.value[vertex] = raised(into.value[vertex], step.power);
        return;
    }
  }

  void seed(const Step& step, Register& into, std::uint32_t root) {
    const std::uint32_t* const end = end_of(step, root, root);
    work_ += static_cast<double>(end - step.rows.begin(root)) + kRow;
    for (const std::uint32_t* to = step.rows.begin(root); to != end; ++to) {
      const T weight = step.weights.empty() ? T{1} : T{step.weights[to - step.rows.neighbors]};
      if (weight == 0) continue;
      into.value[*to] = weight;
      into.reached.push_back(*to);
    }
  }

  void push(const Step& step, Register& into, const Register& from, std::uint32_t root) {
    const double before = work_;
    for (std::size_t at = 0; at < from.reached.size(); ++at) {
      if (work_ > limit_) {
        leave(step.rows, from.reached, at, before);
        break;
      }
      const std::uint32_t vertex = from.reached[at];
      const T value = from.value[vertex];
      if (value == 0) continue;
      const std::uint32_t* const end = end_of(step, vertex, root);
      work_ += static_cast<double>(end - step.rows.begin(vertex)) + kRow;
      for (const std::uint32_t* to = step.rows.begin(vertex); to != end; ++to) {
        T more = value;
        if (!step.weights.empty()) {
          more = times(more, T{step.weights[to - step.rows.neighbors]});
          if (more == 0) continue;
        }
        if (into.value[*to] == 0) into.reached.push_back(*to);
        add(into.value[*to], more);
      }
    }
    work_ += kReached * static_cast<double>(into.reached.size());
    if (walk_.apart) into.value[root] = T{0};
  }

  void pull(const Step& step, Register& into, const Register& from, std::uint32_t root) {
    const double before = work_;
    for (std::size_t at = 0; at < into.reached.size(); ++at) {
      if (work_ > limit_) return leave(step.rows, into.reached, at, before);
      const std::uint32_t vertex = into.reached[at];
      if (into.value[vertex] == 0) continue;
      const T sum = gathered(step, from, step.rows.begin(vertex), end_of(step, vertex, root));
      into.value[vertex] = times(into.value[vertex], raised(sum, step.power));
    }
  }

  // Leaves a walk in a step that has not read the rows of vertices from `at` on.
  void leave(const view::Adjacency& rows, const std::vector<std::uint32_t>& reached, std::size_t at,
             double before) {
    for (; at < reached.size(); ++at) work_ += static_cast<double>(rows.degree(reached[at])) + kRow;
    left_ = true;
    entries_ = work_ - before;
  }

  // Adds the work of a step behind one that was left: it reads the rows of the reached vertices, at most
  // all rows.
  void add_step_left_out(const view::Adjacency& rows) {
    work_ += std::min(entries_, static_cast<double>(rows.offsets[walk_.vertices]));
  }

  const Walk& walk_;
  const Workers& workers_;
  const double most_;
  std::vector<Register> registers_;
  double work_ = 0, limit_ = 0;
  bool left_ = false;
  double entries_ = 0;  // of the step in which the walk was left
};

// A pool of walkers, one per working thread; clear while no thread uses them.
template <class T>
class Walkers {
 public:
  Walkers(const Walk& walk, const Workers& workers) : walk_(walk), workers_(workers) {}

  std::unique_ptr<Walker<T>> take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Walker<T>> walker = std::move(free_.back());
        free_.pop_back();
        return walker;
      }
    }
    return std::make_unique<Walker<T>>(walk_, workers_);
  }

  void give(std::unique_ptr<Walker<T>>&& walker) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(walker));
  }

 private:
  const Walk& walk_;
  const Workers& workers_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Walker<T>>> free_;
};

long double greatest(std::span<const std::uint64_t> weights) {
  return weights.empty() ? 1.0L : static_cast<long double>(*std::ranges::max_element(weights));
}

// The greatest number of arcs that leave a vertex, or that reach one.
long double most_arcs(const view::Adjacency& rows, std::uint32_t vertices, bool reaching) {
  std::vector<std::uint32_t> arcs(vertices, 0);
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    if (!reaching) arcs[vertex] = static_cast<std::uint32_t>(rows.degree(vertex));
    if (reaching)
      for (const std::uint32_t* to = rows.begin(vertex); to != rows.end(vertex); ++to) ++arcs[*to];
  }
  return arcs.empty() ? 0.0L : static_cast<long double>(*std::ranges::max_element(arcs));
}

long double raised_bound(long double base, int power) {
  long double result = 1.0L;
  for (int at = 0; at < power; ++at) result *= base;
  return result;
}

// Whether 64 bits hold every possible value.
bool is_narrow(const Walk& walk, const Workers& workers) {
  std::vector<long double> most(walk.registers, 0.0L);
  long double highest = 0.0L;
  for (const Step& step : walk.steps) {
    workers.check();
    long double& into = most[step.into];
    const long double from = most[step.from];
    const long double weight = greatest(step.weights);
    switch (step.move) {
      case Move::kSeed:
        into = weight;
        break;
      case Move::kPush:
        into = from * weight * most_arcs(step.rows, walk.vertices, true);
        break;
      case Move::kPull: {
        const long double sum = from * weight * most_arcs(step.rows, walk.vertices, false);
        into *= std::max(1.0L, raised_bound(sum, step.power));
        break;
      }
      case Move::kEnds:
        into *= std::max(1.0L, raised_bound(most_arcs(step.rows, walk.vertices, false), step.power));
        break;
      case Move::kTimes:
        into *= std::max(1.0L, raised_bound(from, step.power));
        break;
      case Move::kScale:
        into *= std::max(1.0L, weight);
        break;
      case Move::kPower:
        into = std::max(1.0L, raised_bound(into, step.power));
        break;
    }
    highest = std::max(highest, into);
  }
  if (walk.finish == Finish::kEdges)
    highest = std::max(highest, highest * most_arcs(walk.rows, walk.vertices, false));
  return highest < 0x1p63L;
}

template <class T>
std::vector<Total> counts_of(const Walk& walk, const Workers& workers) {
  const bool of_arcs = walk.finish == Finish::kArcs;
  std::vector<Total> counts(of_arcs ? walk.rows.offsets[walk.vertices] : walk.vertices, 0);
  Walkers<T> walkers(walk, workers);
  const view::Adjacency& seeds = walk.steps.front().rows;
  const std::span offsets(seeds.offsets, std::size_t{walk.vertices} + 1);
  parallel_rows(workers, offsets, kWalkArcs, [&](std::size_t begin, std::size_t end) {
    std::unique_ptr<Walker<T>> walker = walkers.take();
    for (std::size_t at = begin; at < end; ++at) {
      const auto root = static_cast<std::uint32_t>(at);
      if (seeds.degree(root) == 0) continue;
      if (of_arcs && walk.rows.degree(root) == 0) continue;
      walker->go(root);
      if (of_arcs) {
        for (std::uint64_t arc = walk.rows.offsets[root]; arc != walk.rows.offsets[root + 1]; ++arc)
          counts[arc] = walker->at(walk.rows.neighbors[arc]);
      } else {
        counts[root] = walk.finish == Finish::kEdges ? walker->sum_of_edges() : walker->sum();
      }
      walker->clear();
    }
    walkers.give(std::move(walker));
  });
  return counts;
}

}  // namespace

OwnedTable walk_counts(const Walk& walk, const Workers& workers) {
  const std::vector<Total> counts =
      is_narrow(walk, workers) ? counts_of<std::uint64_t>(walk, workers) : counts_of<Total>(walk, workers);
  return table_of(counts, workers);
}

std::vector<double> walk_work(const Walk& walk, std::span<const std::uint32_t> roots, double most) {
  const Workers alone;
  Walker<std::uint64_t> walker(walk, alone, kMostOfRoot * most);
  std::vector<double> work;
  while (work.size() < roots.size() && walker.work() < most) {
    const double before = walker.work();
    walker.go(roots[work.size()]);
    if (walk.finish == Finish::kEdges) walker.add_sum_of_edges();
    walker.clear();
    work.push_back(walker.work() - before);
  }
  return work;
}

}  // namespace motiflux::local_counts
