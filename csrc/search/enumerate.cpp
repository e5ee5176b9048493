#include "search/enumerate.hpp"

#include <algorithm>
#include <utility>

#include "search/copy_walker.hpp"
#include "search/walker.hpp"
#include "search/wedge_walker.hpp"

namespace motiflux::search {
namespace {

// Rare matches reach the consumer after this time, before a block is full.
constexpr std::chrono::milliseconds kFlushPeriod{50};
constexpr std::size_t kSpareBlocks = 2;

// Vertices for which a block reserves memory; a longer block grows.
constexpr std::size_t kReserved = 1 << 20;

}  // namespace

// Fills one block on behalf of one thread.
class Enumeration::Producer final : public Visitor, public RowSink {
 public:
  Producer(Enumeration& owner, DelayedStart* delayed_start) : owner_(owner), delayed_start_(delayed_start) {
    capacity_ = owner.options_.block_rows;
    // One row more than the limit shows whether the result is cut.
    if (owner.options_.limit && *owner.options_.limit < capacity_)
      capacity_ = static_cast<std::size_t>(*owner.options_.limit) + 1;
    capacity_ *= owner.columns();
    block_.reserve(std::min(capacity_, kReserved));
  }

  void rows(const std::uint32_t* prefix, sets::Span last) override {
    while (open_ && last.size() > 0) {
      const std::size_t room = (capacity_ - block_.size()) / owner_.columns();
      const sets::Span fits{last.first, last.first + std::min(room, last.size())};
      found_ += fits.size();
      writer_.append(block_, prefix, fits);
      last.first = fits.last;
      if (block_.size() == capacity_) flush();
    }
  }

  void row(const std::uint32_t* vertices) override {
    if (!open_) return;
    ++found_;
    block_.insert(block_.end(), vertices, vertices + owner_.columns());
    if (block_.size() == capacity_) flush();
  }

  void count(Total) override {}
  void count_wide(const Wide&) override {}

  bool keep_going() override {
    if (delayed_start_) delayed_start_->check();
    if (!block_.empty() && Clock::now() - last_flush_ > kFlushPeriod) flush();
    if (most_rows_ && found_ >= *most_rows_) owner_.pool_.hand_back();
    return open_ && owner_.control_.keep_going();
  }

  void flush() {
    if (!block_.empty()) {
      open_ = owner_.deliver(std::exchange(block_, {})) && open_;
      block_.reserve(std::min(capacity_, kReserved));
    }
    last_flush_ = Clock::now();
  }

 private:
  Enumeration& owner_;
  DelayedStart* delayed_start_;                              // null for all threads but the first
  RowWriter writer_{owner_.native_plan_, owner_.position_};  // not for rows of a projection
  const std::optional<std::uint64_t> most_rows_ =
      owner_.options_.portion ? owner_.options_.portion->rows : std::nullopt;
  std::uint64_t found_ = 0;
  std::size_t capacity_;
  Block block_;
  bool open_ = true;
  Clock::time_point last_flush_ = Clock::now();
};

Enumeration::Enumeration(const NativePlan& native_plan, std::vector<std::uint32_t> position,
                         const EnumerationOptions& options)
    : Enumeration(native_plan, std::move(position), std::nullopt, options) {}

Enumeration::Enumeration(const NativePlan& native_plan, ProjectionPlan projection,
                         const EnumerationOptions& options)
    : Enumeration(native_plan, {}, std::optional(std::move(projection)), options) {}

Enumeration::Enumeration(const NativePlan& native_plan, std::vector<std::uint32_t> position,
                         std::optional<ProjectionPlan> projection, const EnumerationOptions& options)
    : native_plan_(native_plan),
      position_(std::move(position)),
      projection_(std::move(projection)),
      options_(options),
      threads_(projection_ ? projection_->threads(options.threads) : options.threads),
      control_(options.portion ? 0 : native_plan.units(), threads_, options.timeout),
      pool_(options.portion ? Pool(control_, *options.portion) : Pool(control_)) {
  thread_ = std::thread([this] { run(); });
}

Enumeration::~Enumeration() {
  close();
}

void Enumeration::produce(DelayedStart* delayed_start) {
  try {
    Producer producer(*this, delayed_start);
    if (projection_) {
      Projector projector(native_plan_, *projection_, producer);
      Walker walker(native_plan_, projector, false);
      walker.project(projector);
      search(producer, walker);
      if (control_.reason() == Stop::kNone) projector.end_search();
    } else if (native_plan_.copy_walk && native_plan_.copy_walk->by_wedges) {
      WedgeWalker walker(native_plan_, producer, false);
      search(producer, walker);
    } else if (native_plan_.copy_walk) {
      CopyWalker walker(native_plan_, producer, false);
      search(producer, walker);
    } else {
      Walker walker(native_plan_, producer, false);
      search(producer, walker);
    }
    producer.flush();
  } catch (...) {
    control_.stop(Stop::kCancelled);
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    has_room_.notify_all();
  }
}

// Searches items until none is left, or the search is to stop.
template <class Searcher>
void Enumeration::search(Producer& producer, Searcher& walker) {
  if (threads_ > 1 || pool_.is_portion()) walker.share(pool_);
  Pool::Worker worker(pool_);
  for (;;) {
    auto item = worker.take();
    if (!item) {
      producer.flush();  // its next row may take long
      item = worker.wait();
    }
    if (!item || !producer.keep_going() || !walker.search(*item)) break;
    control_.finished(walker.arcs_done());
  }
}

// The first thread, which lets the others be started and waits for them.
void Enumeration::run() {
  Team team(threads_, [this](int index) { produce(index == 0 ? &*delayed_start_ : nullptr); });
  delayed_start_.emplace(team);
  team.run();
  std::lock_guard lock(mutex_);
  running_ = false;
  has_block_.notify_all();
}

bool Enumeration::deliver(Block block) {
  control_.keep_going();
  std::unique_lock lock(mutex_);
  auto has_room = [&] {
    return queue_.size() < static_cast<std::size_t>(threads_) + kSpareBlocks ||
           control_.reason() != Stop::kNone;
  };
  if (const auto deadline = control_.deadline()) {
    // A block that is ready when time runs out is delivered: at most one per thread.
    if (!has_room_.wait_until(lock, *deadline, has_room)) control_.stop(Stop::kTimeout);
  } else {
    has_room_.wait(lock, has_room);
  }
  if (control_.reason() == Stop::kCancelled) return false;
  std::uint64_t rows = block.size() / columns();
  if (options_.limit && rows > *options_.limit - delivered_) {
    rows = *options_.limit - delivered_;
    block.resize(rows * columns());
    control_.stop(Stop::kLimit);
    has_room_.notify_all();
  }
  delivered_ += rows;
  control_.found.store(delivered_, std::memory_order_relaxed);
  if (rows > 0) {
    queue_.push_back(std::move(block));
    has_block_.notify_one();
  }
  return control_.reason() == Stop::kNone;
}

std::optional<Block> Enumeration::next(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  has_block_.wait_for(lock, wait, [&] { return !queue_.empty() || !running_; });
  if (error_) std::rethrow_exception(error_);
  if (queue_.empty()) return std::nullopt;
  Block block = std::move(queue_.front());
  queue_.pop_front();
  has_room_.notify_one();
  return block;
}

bool Enumeration::finished() {
  std::lock_guard lock(mutex_);
  return !running_ && queue_.empty();
}

void Enumeration::cancel() {
  std::lock_guard lock(mutex_);
  control_.stop(Stop::kCancelled);
  has_room_.notify_all();
}

void Enumeration::close() {
  std::lock_guard closing(close_mutex_);
  cancel();
  if (thread_.joinable()) thread_.join();
  std::lock_guard lock(mutex_);
  queue_.clear();
}

}  // namespace motiflux::search
