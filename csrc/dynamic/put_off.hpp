// Updates that concern no plan, which are written later.
//
// No search reads such an edge: it is in no match, and so a candidate in no row. It is written when something
// asks for the whole graph, when plans are added, or when many such updates have come: then row by row, each
// row once (dynamic/bulk.hpp). An edge that came and went in the meantime is never written.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dynamic/bulk.hpp"
#include "dynamic/matcher.hpp"

namespace motiflux::dynamic {

// The no-ops of a call, or of several, among the updates that were put off.
struct PutOffNoops {
  std::uint64_t count = 0;        // for other threads: only if it is known
  std::atomic<bool> known{true};  // false until these updates are written
};

class PutOff {
 public:
  // As many are written at once, in large graphs more, up to an eighth of the edges: the more, the fewer rows
  // are read for each. With 8 million edges, writing a million takes 95 ns each, four times a quarter 120 ns.
  static constexpr std::size_t kMany = std::size_t{1} << 18, kMost = std::size_t{1} << 22, kShare = 8;

  PutOff(Graph& graph, bool count_copies)
      : graph_(graph), count_copies_(count_copies), writing_(graph, count_copies) {}

  // From here on, updates are of a new call. Its no-ops are counted with those of the call before if these
  // are `joined` and not known yet: a call of one update needs no number of its own then.
  void begin(const std::shared_ptr<PutOffNoops>& joined = nullptr);
  // Room for so many more, as a hint: growing step by step would touch fresh memory twice.
  void reserve(std::size_t more) {
    const std::size_t size = updates_.size() + std::min(more, many());
    if (size > updates_.capacity()) updates_.reserve(std::max(size, 2 * updates_.capacity()));
  }
  // Forgets the updates of the call that were not written.
  void take_back();
  // The current call, so that updates of another one can follow and be taken back first. Until reopen(), or
  // until the call is not taken back any more, nothing may be written but by write_before().
  struct Call {
    std::size_t earlier = 0;
    std::shared_ptr<PutOffNoops> noops;
    bool opened = false;
  };
  Call current() const { return {earlier_, call_, opened_}; }
  void reopen(Call call) {
    earlier_ = call.earlier;
    call_ = std::move(call.noops);
    opened_ = call.opened;
  }
  // `to` and `from`: the classes of the edge, seen from its source and from its target.
  void add(const Edge& edge, Class to, Class from, bool inserts) {
    if (call_ == nullptr || call_->known) open_call();
    most_ = std::max({most_, to, from});
    updates_.push_back({edge.source, edge.target, to | (inserts ? Entry::kComes : 0), calls()});
  }

  // Updates of one call to be added, collected by one thread.
  struct Part {
    Entries entries;
    Class most = 0;  // as most_

    void add(const Edge& edge, Class to, Class from, bool inserts) {
      most = std::max({most, to, inserts ? from : to});
      entries.push_back({edge.source, edge.target, to | (inserts ? Entry::kComes : 0), 0});
    }
    void clear() {
      if (entries.capacity() > kMany) Entries().swap(entries);
      entries.clear();
      most = 0;
    }
  };
  // Adds updates of a part from number `first` on, until it is full; returns the number of the next one.
  std::size_t add(const Part& part, std::size_t first);

  bool is_full(std::size_t more = 0) const { return updates_.size() - written_ + more >= many(); }
  // Whether somebody holds no-ops that are not known yet.
  bool awaited() const;
  // Of the current call; null if none of its updates was put off, and no others are joined.
  const std::shared_ptr<PutOffNoops>& noops() const { return call_; }

  // Writes up to `most` updates of calls before the current one, each in its turn. Returns whether there were
  // any.
  bool write_few(std::size_t most);
  // Writes the updates of calls before the current one, then those of the current call; the changes of the
  // latter are appended to `done`. Each part is written as a whole or not at all, on up to `threads` threads.
  void write_earlier(int threads, Watch& watch);
  // The same for the updates of calls before one that current() returned and that is to be reopened.
  void write_before(Call& call, int threads, Watch& watch);
  void write_current(int threads, Watch& watch, std::vector<Done>& done);

  std::size_t bytes() const { return updates_.capacity() * sizeof(Entry); }

 private:
  // Entry::number is the number of the call in calls_, from 1.
  std::size_t many() const {
    return std::clamp(static_cast<std::size_t>(graph_.edges()) / kShare, kMany, kMost);
  }
  void open_call();
  std::uint32_t calls() const { return static_cast<std::uint32_t>(calls_.size()); }
  void write(std::size_t end, int threads, Watch& watch, std::vector<Done>* done);
  bool write_one(const Edge& edge, bool comes);
  void drop(std::size_t end);

  Graph& graph_;
  bool count_copies_;
  Bulk writing_;
  Entries updates_;
  Class most_ = 0;                                   // of these updates
  std::size_t written_ = 0;                          // updates at the beginning that are in the graph
  std::size_t earlier_ = 0;                          // updates of calls before the current one, and those
  std::vector<std::shared_ptr<PutOffNoops>> calls_;  // that have updates here, in order
  std::shared_ptr<PutOffNoops> call_;
  bool opened_ = false;  // the last of calls_ has updates of the current call only
};

}  // namespace motiflux::dynamic
