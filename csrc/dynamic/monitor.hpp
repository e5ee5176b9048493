// Patterns watched on one changing graph.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/total.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/lifetimes.hpp"
#include "dynamic/matcher.hpp"
#include "dynamic/plan.hpp"
#include "dynamic/update.hpp"

namespace motiflux::dynamic {

// What updates brought, by pattern.
struct Found {
  struct Changed {
    std::uint64_t update;
    Total matches;
  };
  struct OfPattern {
    Total positive = 0, negative = 0;
    std::vector<Changed> changes;         // updates with matches, in order; one of a batch is number 0
    std::vector<Vertex> rows;             // matches, if they are wanted: one row after the other
    std::vector<std::uint64_t> updates;   // of each row
    std::vector<std::uint8_t> positives;  // of each row

    void add(std::uint64_t update, bool positive, Total matches);
  };
  std::vector<OfPattern> patterns;
  std::uint64_t noops = 0;
};

// Whether several updates are matched at once: where each takes long enough, always, or never.
enum class AtOnce : int { kAuto = 0, kOn = 1, kOff = 2 };

class Monitor {
 public:
  Monitor(bool directed, bool count_copies) : graph_(directed), count_copies_(count_copies) {}

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }

  std::uint32_t add_list(std::vector<Vertex> ascending);
  void extend_list(std::uint32_t number, Vertex vertex);
  // No plan refers to it any more; its number is given again.
  void drop_list(std::uint32_t number);
  // Plans of a pattern that is not watched yet; the number it has from then on.
  void add_pattern(std::uint32_t pattern, std::vector<Plan> plans, bool listed);
  void drop_pattern(std::uint32_t pattern);
  // Takes the last vertices away again, which have no edges, so that there are `count`.
  void keep_vertices(std::uint32_t count);

  // Applies updates one after the other, each matched against the graph as it is then. If anything is thrown,
  // the graph is as before. `full` is called whenever there are more than `most` words of rows. With several
  // threads, updates may be matched at once, each against the graph of its moment; `full` is then called once
  // for many of them.
  void apply_sequence(std::span<const Update> updates, int threads, AtOnce at_once, Found& found,
                      Watch& watch, std::size_t most, const std::function<void()>& full);
  // Applies them as one change: only the difference between before and after is matched.
  void apply_batch(std::span<const Update> updates, Found& found, Watch& watch, std::size_t most,
                   const std::function<void()>& full);
  // The first update that would change nothing, or as many as there are: a copy is a change to nothing.
  std::size_t first_noop(std::span<const Update> updates) const;
  // Takes back what was applied since `begin`, once; the graph must be as that left it.
  void begin() { done_.clear(); }
  void take_back() { undo(); }

 private:
  struct Done {
    enum Kind : std::uint8_t { kInserted, kErased, kCopies } kind;
    Edge edge;
    std::uint64_t more = 0;  // further copies before
  };
  struct GateKey {
    Label first = 0;
    Class to = 0;
    bool operator==(const GateKey&) const = default;
    std::uint64_t hash() const { return mixed(std::uint64_t{first} << 32 | to); }
  };
  // What one call needs besides the graph.
  struct Pass {
    Found& found;
    Matcher<Now> matcher;
    std::size_t most;
    const std::function<void()>& full;
    std::size_t words = 0;
  };

  // What is left to match of an update that is applied already.
  struct Task {
    std::uint64_t update;
    Moment moment;
    bool positive;
    Edge edge;
    std::uint32_t gate;
  };
  // What one thread found.
  struct Share {
    struct Matched {
      std::uint32_t task, pattern;
      Total matches;
      std::size_t first_word, words;  // of rows[pattern]
    };
    std::vector<Matched> matched;
    std::vector<std::vector<Vertex>> rows;
  };

  std::uint32_t gate_of(const Edge& edge);
  const std::vector<std::uint32_t>& plans_for(const Edge& edge) { return gated_[gate_of(edge)]; }
  std::size_t run_at_once(std::span<const Update> updates, std::size_t first, int threads, Pass& pass,
                          Watch& watch);
  void one_by_one(std::span<const Update> updates, std::size_t first, std::size_t last, Pass& pass,
                  Watch& watch);
  std::size_t start_run(std::span<const Update> updates, std::size_t first, std::size_t tasks, Found& found,
                        Watch& watch);
  void match_run(int threads, Watch& watch, std::vector<Share>& shares);
  void match_task(std::uint32_t number, Matcher<AtMoment>& matcher, Share& share) const;
  void gather(std::vector<Share>& shares, Pass& pass);
  void find_needs();
  void match(const Edge& edge, std::uint64_t update, bool positive, Pass& pass);
  bool insert(const Edge& edge);
  bool erase(const Edge& edge);
  void set_more_copies(const Edge& edge, std::uint64_t more);
  void undo();
  template <class Work>
  void or_nothing(Work&& work);
  struct Net {
    Edge edge;
    std::uint64_t before, after;  // copies
  };
  std::vector<Net> net_changes(std::span<const Update> updates, std::uint64_t& noops) const;
  std::vector<Edge> stand_ins(std::span<const Net> net) const;
  std::vector<Edge> between(Vertex a, Vertex b) const;

  Graph graph_;
  bool count_copies_;
  std::vector<Plan> plans_;
  std::vector<bool> listed_;  // by pattern
  Allowed allowed_;
  std::vector<std::uint32_t> free_lists_;
  FlatMap<GateKey, std::uint32_t> gate_;
  std::vector<std::vector<std::uint32_t>> gated_;
  std::vector<Done> done_;
  std::size_t classes_seen_ = 0;
  Lifetimes lifetimes_{graph_};
  std::vector<Task> tasks_;
};

}  // namespace motiflux::dynamic
