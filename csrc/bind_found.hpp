// The results of updates, given to Python when they are asked for.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bind_watch.hpp"
#include "dynamic/monitor.hpp"

namespace motiflux {

namespace dynamic {
class ComparedMatcher;
}

// How updates are applied.
struct Terms {
  dynamic::How how;
  std::size_t most;  // words of rows, from which on they are given while the call runs
};

// Updates, and their positions among those that the caller has; empty: all are there.
struct Applied {
  dynamic::Updates updates;
  std::vector<std::int64_t> origins;
  std::uint64_t expired = 0;  // deletions by a window
};

// Matches by pattern; in batch mode they have no updates.
class PyFound {
 public:
  PyFound(dynamic::Found found, Applied applied, bool batch)
      : found_(std::move(found)), applied_(std::move(applied)), batch_(batch) {}
  PyFound(PyFound&&) = default;
  PyFound(const PyFound&) = delete;

  std::uint64_t noops() const { return found_.noops; }
  // Of updates that were put off; null if there are none.
  std::shared_ptr<dynamic::PutOffNoops> put_off() const { return found_.put_off; }
  // Whether any pattern has changes.
  bool any() const;
  // (positive, negative) of a pattern.
  nanobind::object counts(std::size_t pattern) const;
  // (updates, matches, signs) of a pattern.
  nanobind::object changes(std::size_t pattern) const;
  // (rows, and of their runs the updates, whether they appeared, and the ends) of a pattern, which are taken
  // out; None if there are none.
  nanobind::object rows(std::size_t pattern);
  // Counts at vertices that passed a threshold, which are taken out: (vertex, update, before, after), by
  // update and vertex.
  nanobind::object passings(std::size_t pattern);
  // The same as rows(), natively.
  dynamic::Found::OfPattern take_rows(std::size_t pattern);

  std::size_t self_loops = 0;
  // Updates, without deletions by a window, and these.
  std::size_t applied() const { return applied_.updates.size() - applied_.expired; }
  std::uint64_t expired() const { return applied_.expired; }

 private:
  friend nanobind::object apply_all(dynamic::Monitor&, Applied, const Terms&,
                                    const std::optional<nanobind::callable>&, SignalWatch&);
  friend nanobind::object prepare_all(dynamic::Monitor&, Applied, const Terms&, SignalWatch&);
  friend nanobind::object apply_prepared(dynamic::Monitor&, nanobind::handle, const Terms&,
                                         const std::optional<nanobind::callable>&, SignalWatch&);
  friend nanobind::object match_compared(dynamic::Monitor&, dynamic::ComparedMatcher&, nanobind::handle,
                                         const Terms&, const std::optional<nanobind::callable>&,
                                         SignalWatch&);
  std::uint64_t origin(std::uint64_t update) const {
    return applied_.origins.empty() || batch_ ? update : static_cast<std::uint64_t>(applied_.origins[update]);
  }

  dynamic::Found found_;
  Applied applied_;
  std::unique_ptr<dynamic::PreparedBatch> prepared_;  // until it is matched
  bool batch_;
};

// Adds the deletions by the window of Python's Monitor, if it has one, which is not one of time.
void add_expired(nanobind::handle monitor, Applied& applied);

// Applies updates and returns a PyFound, or None after the deadline of `watch`; nothing is applied then.
// `full` is called with the PyFound whenever there are many rows.
nanobind::object apply_all(dynamic::Monitor& monitor, Applied applied, const Terms& terms,
                           const std::optional<nanobind::callable>& full, SignalWatch& watch);

// Prepares a batch (Monitor::prepare_batch) and returns a PyFound for apply_prepared(), or None after the
// deadline. If it returns none, the call has to be taken back.
nanobind::object prepare_all(dynamic::Monitor& monitor, Applied applied, const Terms& terms,
                             SignalWatch& watch);
// Applies it; the rest is as for apply_all().
nanobind::object apply_prepared(dynamic::Monitor& monitor, nanobind::handle prepared, const Terms& terms,
                                const std::optional<nanobind::callable>& full, SignalWatch& watch);

// Adds the matches of patterns that compare attributes to a PyFound, which has the updates that stand for the
// changes of copies; returns it, or None after the deadline.
nanobind::object match_compared(dynamic::Monitor& monitor, dynamic::ComparedMatcher& matcher,
                                nanobind::handle found, const Terms& terms,
                                const std::optional<nanobind::callable>& full, SignalWatch& watch);

}  // namespace motiflux
