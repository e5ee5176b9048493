// Updates of a feed that are applied without Python, as long as they are plain: integers, in a graph whose
// ids and labels they fit. All else is left to Python, and the graph is as before it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bind_numbering.hpp"
#include "bind_runs.hpp"
#include "common/arrays.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/numbering.hpp"
#include "feed_queue.hpp"

namespace motiflux {

class FeedTurn {
 public:
  using Clock = FeedQueue::Clock;
  // kOver: updates may wait; kLeft: the first ones are for Python; kUndone: they were matched elsewhere and
  // taken back, and are for Python.
  enum class End : int { kOver = 0, kLeft = 1, kUndone = 2 };

  // What Python knows of the monitor.
  struct Known {
    dynamic::Label unlabelled;                  // code of vertices without a label
    bool adds_vertices;                         // whether they may have none
    bool zero;                                  // whether edges may be without labels
    std::span<const std::int32_t> label_codes;  // by label; -1: unknown
  };

  // `slots`: what Python knows the patterns of the turn by.
  FeedTurn(FeedQueue& queue, PyVertexIds& ids, dynamic::Monitor& monitor, const Terms& terms,
           const Known& known, std::size_t most, std::uint64_t slots)
      : queue_(queue),
        ids_(ids),
        monitor_(monitor),
        terms_(terms),
        known_(known),
        most_(most),
        slots_(slots) {}

  // Applies what comes until `end`, or until nothing has come for `rest`. Called without the GIL.
  End run(Clock::time_point end, Clock::duration rest) {
    if (ids_.ids.integers.size() == 0) return End::kLeft;
    for (;;) {
      if (!queue_.wait_in_turn(std::min(end, Clock::now() + rest))) return End::kOver;
      const Clock::time_point start = Clock::now();
      FeedAnswers answer(1);
      FeedParts parts = queue_.take_parts(most_, true, true);
      if (parts.empty()) return End::kLeft;
      const std::optional<End> failed = apply(parts, answer.front());
      if (failed) {
        queue_.put_back(parts);
        return *failed;
      }
      answer.front().native->seconds = std::chrono::duration<double>(Clock::now() - start).count();
      updates_ += answer.front().updates;
      ++calls_;
      queue_.answer(answer, parts);
      if (start >= end) return End::kOver;
    }
  }

  // Updates and calls that were applied.
  std::uint64_t updates() const { return updates_; }
  std::uint64_t calls() const { return calls_; }

 private:
  struct Column {
    static constexpr bool kIsCheap = true;
    const std::vector<std::int64_t>& values;

    std::size_t size() const { return values.size(); }
    std::int64_t at(std::size_t row) const { return values[row]; }
    bool same(std::size_t row, const Column& other) const { return values[row] == other.values[row]; }
  };

  // Only the end of the process stops a call of a feed.
  class UntilStopped : public dynamic::Watch {
   public:
    explicit UntilStopped(const FeedQueue& queue) : queue_(queue) {}
    bool keep_going() override { return !queue_.is_stopped(); }

   private:
    const FeedQueue& queue_;
  };

  void gather(const FeedParts& parts) {
    inserts_.clear();
    sources_.clear();
    targets_.clear();
    labels_.clear();
    for (const FeedPart& part : parts) {
      inserts_.insert(inserts_.end(), part.inserts, part.inserts + part.size);
      sources_.insert(sources_.end(), part.sources, part.sources + part.size);
      targets_.insert(targets_.end(), part.targets, part.targets + part.size);
      if (part.labels != nullptr) labels_.insert(labels_.end(), part.labels, part.labels + part.size);
    }
  }

  // The code of an update's label; nothing if it has none yet.
  std::optional<dynamic::Label> label_of(std::size_t row) const {
    if (labels_.empty()) return known_.zero ? std::optional<dynamic::Label>(0) : std::nullopt;
    const auto label = static_cast<std::uint64_t>(labels_[row]);
    if (label >= known_.label_codes.size() || known_.label_codes[label] < 0) return std::nullopt;
    return static_cast<dynamic::Label>(known_.label_codes[label]);
  }

  // Numbers the updates and adds their vertices; false if they need more than that, and nothing is added.
  bool number(Applied& applied, std::size_t& self_loops) {
    for (std::size_t row = 0; row < sources_.size(); ++row)
      if (!label_of(row)) return false;
    const std::lock_guard lock(ids_.mutex);
    dynamic::Numbering<dynamic::IntegerIds> numbering(ids_.ids.integers, ids_.most, known_.unlabelled);
    numbering.number(Column{sources_}, Column{targets_}, {}, [] {});
    dynamic::Numbered numbers = numbering.take();
    if (numbers.added > 0 && !known_.adds_vertices) return false;
    for (std::size_t more = 0; more < numbers.added; ++more) monitor_.graph().add_vertex(known_.unlabelled);
    applied.updates.resize(numbers.sources.size());
    for (std::size_t at = 0; at < applied.updates.size(); ++at) {
      const std::size_t row = numbers.origins.empty() ? at : static_cast<std::size_t>(numbers.origins[at]);
      applied.updates[at] = {monitor_.graph().named(numbers.sources[at], numbers.targets[at], *label_of(row)),
                             inserts_[row] != 0};
    }
    applied.origins = std::move(numbers.origins);
    self_loops = numbers.self_loops;
    return true;
  }

  // Applies the parts as one call; what is the matter if it is undone.
  std::optional<End> apply(const FeedParts& parts, FeedAnswer& answer) {
    std::size_t before = 0;
    {
      const std::lock_guard lock(ids_.mutex);
      before = ids_.ids.size();
    }
    monitor_.begin();
    bool is_numbered = false;
    try {
      gather(parts);
      answer.first = parts.front().first;
      answer.updates = inserts_.size();
      FeedAnswer::Native& native = answer.native.emplace();
      native.in_batches = terms_.how.batch;
      native.slots = slots_;
      is_numbered = number(native.applied, native.self_loops);
      if (is_numbered) {
        dynamic::How how = terms_.how;
        how.origins = native.applied.origins;
        UntilStopped watch(queue_);
        const std::function<void()> full = [] {};
        monitor_.apply(native.applied.updates, how, native.found, watch, SIZE_MAX, full);
        return std::nullopt;
      }
    } catch (const std::exception&) {
      // Python applies them, and raises the error.
    } catch (const dynamic::Stopped&) {
    }
    const std::lock_guard lock(ids_.mutex);
    monitor_.take_back();
    ids_.ids.keep(before);
    if (monitor_.graph().vertices() > before) monitor_.keep_vertices(static_cast<std::uint32_t>(before));
    return is_numbered && monitor_.matches_elsewhere() ? End::kUndone : End::kLeft;
  }

  FeedQueue& queue_;
  PyVertexIds& ids_;
  dynamic::Monitor& monitor_;
  const Terms& terms_;
  const Known known_;
  const std::size_t most_;
  const std::uint64_t slots_;
  std::vector<std::uint8_t> inserts_;
  std::vector<std::int64_t> sources_, targets_, labels_;
  std::uint64_t updates_ = 0, calls_ = 0;
};

}  // namespace motiflux
