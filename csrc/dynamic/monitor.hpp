// Patterns watched on one changing graph.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/column.hpp"
#include "common/total.hpp"
#include "dynamic/bulk.hpp"
#include "dynamic/candidate_columns.hpp"
#include "dynamic/gate.hpp"
#include "dynamic/graph.hpp"
#include "dynamic/label_changes.hpp"
#include "dynamic/lifetimes.hpp"
#include "dynamic/matcher.hpp"
#include "dynamic/naming.hpp"
#include "dynamic/open_calls.hpp"
#include "dynamic/plan.hpp"
#include "dynamic/probe.hpp"
#include "dynamic/put_off.hpp"
#include "dynamic/rows_at_moment.hpp"
#include "dynamic/rows_writing.hpp"
#include "dynamic/run_matcher.hpp"
#include "dynamic/update.hpp"
#include "dynamic/vertex_tallies.hpp"

namespace motiflux::dynamic {

class NetChanges;

// A batch until it is matched.
struct PreparedBatch {
  Column<Update> net;          // its changes: edges that vanish, then edges that appear
  std::vector<Edge> standing;  // edges that stand in for others
  std::uint64_t noops = 0, plans_version = 0;
  std::uint64_t call = 0;                  // in which it was prepared
  bool is_run = false;                     // an engine can have it before it is written:
  std::shared_ptr<Run> run;                // the changes that concern plans,
  std::shared_ptr<Unwritten<RunEnd>> all;  // and all, if there are others
};

// The results of updates, by pattern.
struct Found {
  struct Changed {
    std::uint64_t update;
    Total matches;
    bool positive;
  };
  // Rows of one update, all of which appear or vanish.
  struct Run {
    std::uint64_t update, rows;
    bool positive;
    bool operator==(const Run&) const = default;
  };
  struct OfPattern {
    Total positive = 0, negative = 0;
    // Updates with matches, in order, those that appear and those that vanish; a batch has number 0.
    std::vector<Changed> changes;
    Column<Vertex> rows;    // matches, if requested, row after row
    std::vector<Run> runs;  // of these rows, in order
    // Counts at vertices that passed a threshold, by the user's update.
    std::vector<Passing> passings;

    void add(std::uint64_t update, bool positive, Total matches);
    // Notes that the next `count` rows are of an update.
    void add_rows(std::uint64_t update, bool positive, std::uint64_t count) {
      if (runs.empty() || runs.back().update != update || runs.back().positive != positive)
        runs.push_back({update, 0, positive});
      runs.back().rows += count;
    }
  };
  std::vector<OfPattern> patterns;
  std::uint64_t noops = 0;
  std::shared_ptr<PutOffNoops> put_off;  // further ones; null if there are none
};

// Whether several updates are matched at once: if each takes long enough, always, or never.
enum class AtOnce : int { kAuto = 0, kOn = 1, kOff = 2 };

struct Switches {
  AtOnce at_once = AtOnce::kAuto;
  // Whether updates that no plan can match are written later (dynamic/put_off.hpp).
  bool put_off = true;
};

// How updates are applied.
struct How {
  bool batch = false;  // as one change
  int threads = 1;
  Switches switches;
  // What update of the user each one is of, for thresholds; empty: each is one.
  std::span<const std::int64_t> origins = {};
};

class Monitor {
 public:
  Monitor(bool directed, bool count_copies) : graph_(directed), count_copies_(count_copies) {}

  // Without the updates that were put off; write_put_off() writes these.
  Graph& graph() {
    finish_writing();
    return graph_;
  }
  const Graph& graph() const {
    finish_writing();
    return graph_;
  }
  // Whether rows of the last batch may still be written, by other threads. All that reads or changes the
  // graph waits for them.
  bool is_writing() const { return writing_.is_begun(); }
  void finish_writing() const { writing_.finish(); }
  void wait_for_rows() const { writing_.wait(); }
  // Returns a function that waits for the rows that are being written now. Any thread may call it.
  std::function<void()> waiting_for_rows() const { return writing_.waiting(); }
  // What stays as it is while rows are written: any thread may read it meanwhile.
  const Relations& relations() const { return graph_.relations(); }
  std::uint32_t vertices() const { return graph_.vertices(); }
  bool directed() const { return graph_.directed(); }
  void write_put_off(int threads = 1);
  // Writes a few of these updates, in some 20 us; the call before cannot be taken back any more. Returns
  // whether there were any.
  bool write_some_put_off();
  // Whether so many updates might have all of them written, in 30 ms or more.
  bool may_write_put_off(std::size_t updates) const {
    finish_writing();  // it depends on the number of edges
    return put_off_.is_full(updates);
  }
  bool noops_awaited() const { return put_off_.awaited(); }
  std::size_t put_off_bytes() const { return put_off_.bytes(); }

  // By what vertices are filtered; `bits`: of the candidate table, for the neighbours of a kind.
  void filter_by(Filter filter, std::uint32_t bits);

  // Has growing relations accept a label that no edge ever had.
  void accept(Label label, std::span<const std::uint32_t> relations);
  std::uint32_t add_list(std::vector<Vertex> ascending);
  void extend_list(std::uint32_t number, Vertex vertex);
  // Frees a list that no plan refers to any more; its number is reused.
  void drop_list(std::uint32_t number);
  // Adds the plans of a new pattern with the number `pattern`.
  void add_pattern(std::uint32_t pattern, std::vector<Plan> plans, bool listed);
  void drop_pattern(std::uint32_t pattern);
  // The counts at vertices of patterns that have them, which add_pattern() does not make.
  VertexTallies& tallies() { return tallies_; }
  const VertexTallies& tallies() const { return tallies_; }
  // Adds what was found since `tallies().open()` to the counts, and what passed a threshold to `found`.
  void settle_tallies(Found& found);
  // Replaces the plans of a pattern, all or none, by others that start from the same pairs. `probed`: what
  // probes know of the pattern's places still holds.
  void replace_plans(std::uint32_t pattern, std::vector<Plan> plans, bool probed = false);
  // Probes look at the searches from now on, and race alternatives with the plans of a place.
  Probe& probe() { return probe_; }
  void race(Probe::Place place, std::vector<PlacePlans> alternatives);
  // Does now what the next call would do first: a tenth of a millisecond for a pattern of seven vertices.
  void prepare() {
    finish_writing();
    if (classes_seen_ == 0 || classes_seen_ != graph_.relations().classes().size()) see_classes();
  }
  // Removes the last vertices, which have no edges, so that `count` remain.
  void keep_vertices(std::uint32_t count);

  // Applies updates by apply_batch() or apply_sequence().
  void apply(std::span<const Update> updates, const How& how, Found& found, Watch& watch, std::size_t most,
             const std::function<void()>& full) {
    tallies_.open(how.batch, how.origins);
    if (how.batch)
      apply_batch(updates, how.threads, how.switches, found, watch, most, full);
    else
      apply_sequence(updates, how.threads, how.switches, found, watch, most, full);
  }
  // From now on, has every run matched by this; null: here.
  void match_elsewhere(std::shared_ptr<RunMatcher> matcher) { run_matcher_ = std::move(matcher); }
  // Has no run of more updates from now on, in batches too: what matches elsewhere lacks memory for more.
  void limit_runs(std::size_t updates) { most_run_ = updates; }
  bool matches_elsewhere() const { return run_matcher_ != nullptr; }
  const RunMatcher* run_matcher() const { return run_matcher_.get(); }
  // Plans by number; the version changes whenever numbers stand for other plans.
  std::span<const Plan> plans() const { return plans_; }
  bool listed(const Plan& plan) const { return listed_[plan.pattern]; }
  std::uint64_t plans_version() const { return plans_version_; }
  // Lists of vertices by number, and the version of all of them.
  const Allowed& lists() const { return allowed_; }
  std::uint64_t lists_version() const { return lists_version_; }

  // Applies updates one after another, each matched against the graph of its moment. After an exception the
  // graph is unchanged. `full` is called whenever `most` words of rows are reached. With several threads,
  // updates may be matched at once; `full` is then called once for many of them.
  void apply_sequence(std::span<const Update> updates, int threads, Switches switches, Found& found,
                      Watch& watch, std::size_t most, const std::function<void()>& full);
  // Applies updates as one change: only the difference between before and after is matched.
  void apply_batch(std::span<const Update> updates, int threads, Switches switches, Found& found,
                   Watch& watch, std::size_t most, const std::function<void()>& full);
  // The first update that would change nothing, or updates.size() if there is none; another copy of an edge
  // is no change.
  std::size_t first_noop(std::span<const Update> updates) const;
  // Begins a call and returns its number: numbers ascend. The changes of the call before are final. The
  // no-ops of `joined`, those put off by the call before, may count those of this call too. Throws
  // CallsOverlap, and does nothing, while two calls can be taken back.
  std::uint64_t begin(const std::shared_ptr<PutOffNoops>& joined = nullptr);
  // Takes back the changes of the last call, and of those before it down to this number; the graph must not
  // have been changed otherwise. May be repeated. Throws NotOpen, and does nothing, if the call is final.
  void take_back(std::uint64_t call);
  void take_back() { take_back(log_.call); }
  // The number of the last call, or of the one before if the last one was taken back.
  std::uint64_t last_call() const { return log_.call; }
  // Calls up to this number are final: they are not taken back any more.
  std::uint64_t final_call() const { return final_call_; }

  // Two calls that can be taken back (dynamic/next_batch.cpp). begin_after() begins a call, and that before
  // it can be taken back still, until it is settled. No updates that were put off may be written meanwhile:
  // this throws CallsOverlap.
  std::uint64_t begin_after();
  // The same while an engine matches a batch, so that the next one can be prepared; it waits until the rows
  // of the batch are written. Returns 0, and does nothing, if it is not matched before they are.
  std::uint64_t begin_next();
  // Makes the changes of a call final, of the earlier one if two can be taken back; it may be repeated.
  // Throws NotOpen for any other call. If memory fails, nothing is done.
  void settle(std::uint64_t call);
  // Waits until the rows of a call are written. Throws RowsLost if they could not be, until it is taken back.
  void finish_call(std::uint64_t call) const {
    if (log_.call == call) finish_writing();
  }
  // The number of edges before the calls that can be taken back, which are those after final_call(). Updates
  // that were put off before them are written.
  std::uint64_t final_edges();
  // Finds the net changes of a batch, and what an engine gets of them, after begin_next(). If it throws, the
  // call has to be taken back.
  void prepare_batch(std::span<const Update> updates, const How& how, PreparedBatch& batch, Watch& watch);
  // Does the rest of apply(), once the call before has returned.
  void apply_prepared(PreparedBatch& batch, const How& how, Found& found, Watch& watch, std::size_t most,
                      const std::function<void()>& full);
  // How far the last call came, for its caller, which adds the seconds of searches by pattern.
  struct Progress {
    std::size_t update = 0;  // of a sequence: the one that was matched last, or the first of those that were
    std::optional<std::uint64_t> origin;  // the same as the caller numbers updates, if the call was stopped
    std::vector<double> searched;
  };
  Progress& progress() { return progress_; }
  // Of the edges that came and went until begin(), and may be in matches; others may be missing.
  LabelChanges& label_changes() { return label_changes_; }

 private:
  // The state of one call.
  struct Pass {
    Found& found;
    Watch& watch;
    Matcher<Now> matcher;
    std::size_t most;
    const std::function<void()>& full;
    int threads;
    bool one_change = false;               // all updates are one change, which has number 0
    bool counts_only = false;              // no pattern is listed
    std::size_t words = 0, run_words = 0;  // words of rows since the last flush; in the last run

    std::uint64_t number(std::uint64_t update) const { return one_change ? 0 : update; }

    void count_words(std::size_t more) {
      words += more;
      if (words < most) return;
      full();
      words = 0;
    }
  };
  // The matches of a run that one thread found.
  struct Share {
    // A search to split: its update, the position of the first plan among those of the gate, and the plans of
    // the forest that share level 2.
    struct PutOff {
      Moment task;
      std::uint32_t ordinal;
      PlanBits plans;
    };
    // The order of results: by update, plan of its gate, and block of candidates of level 2.
    struct Key {
      Moment task;
      std::uint32_t ordinal, block = 0;
    };
    struct Matched {
      Key key;
      std::uint32_t pattern;
      Total matches;
      std::size_t first_word, words;  // of rows[pattern]
      bool inverse;                   // of the plan
    };
    std::vector<Matched> matched;
    // By pattern: matches that vanish and that appear. Only of one change, whose counts have no order.
    std::vector<std::array<Total, 2>> sums;
    std::vector<Column<Vertex>> rows;
    std::vector<PutOff> put_off;
    // What comes at a vertex, by pattern: of the task, and of those before if they are told apart; else of
    // all tasks.
    struct Moved {
      Moment task;
      std::uint32_t pattern;
      Vertex vertex;
      Amount amount;
    };
    std::vector<VertexSums> moving;
    std::vector<Moved> moved;

    void start(std::size_t patterns, bool one_change) {
      moving.resize(patterns);
      for (VertexSums& one : moving) one.clear();
      moved.clear();
      matched.clear();
      sums.assign(one_change ? patterns : 0, {});
      rows.resize(patterns);
      for (Column<Vertex>& one : rows) one.clear();
      put_off.clear();
    }
    void count(const Plan& plan, Key key, Effect effect, Total matches) {
      if (matches == 0) return;
      if (sums.empty())
        matched.push_back({key, plan.pattern, matches, 0, 0, plan.inverse});
      else
        add_checked(sums[plan.pattern][(effect == Effect::kAppear) != plan.inverse], matches);
    }
    // Ends a task whose sums are told apart from those of others.
    void end_task(Moment task) {
      for (std::uint32_t pattern = 0; pattern < moving.size(); ++pattern)
        moving[pattern].take(
            [&](Vertex vertex, Amount amount) { moved.push_back({task, pattern, vertex, amount}); });
    }
    // The rows of the plan from `first_word` on.
    void list(const Plan& plan, Key key, Total matches, std::size_t first_word) {
      if (matches > 0)
        matched.push_back(
            {key, plan.pattern, matches, first_word, rows[plan.pattern].size() - first_word, plan.inverse});
    }
  };
  // What a thread that matches runs has to itself. Its cache lines are no other thread's (some processors
  // fetch them in pairs).
  struct alignas(128) Worker {
    explicit Worker(const Lifetimes& lifetimes) : rows(lifetimes), marked(lifetimes) {}

    Memory memory;
    RowsAtMoment rows;
    MarkedRows marked;
    Share share;
    Watch* watch = nullptr;    // of the thread, while it matches
    Probe* probe = nullptr;    // of one of the workers
    bool has_started = false;  // the run: what it kept of rows is of this one

    template <class View>
    void start() {
      if (std::exchange(has_started, true)) return;
      if constexpr (View::kHoles)
        marked.start();
      else
        rows.start();
    }
  };
  // The destination of matches.
  struct Place {
    Share::Key key;
    const Share* share;
    const Share::Matched* matched;
    bool positive = false;
    std::size_t first_word = 0;
  };
  struct Split;
  // An update of a run, and the end by which threads take it.
  struct Task {
    Vertex row;
    Moment number;
  };
  // An update with its position; the classes of its edge, seen from the source and from the target; its gate.
  struct Classified {
    Moment number;
    const Update& update;
    Class to, from;
    std::uint32_t gate;
  };
  using AddToSlice = std::function<void(int slice, const Classified&)>;
  struct Sequential;
  struct AtOnceFound;

  std::uint32_t gate_of(const Edge& edge) {
    return gate_of(edge, graph_.relations().class_of(edge.label, graph_.label(edge.target)));
  }
  std::uint32_t gate_of(const Edge& edge, Class to) {
    const Label first = graph_.label(edge.source);
    if (classes_seen_ != graph_.relations().classes().size()) see_classes();
    const std::uint32_t known = known_gate(first, to);
    return known != kUnknown ? known : find_gate(first, to);
  }
  std::uint32_t known_gate(Label first, Class to) const {
    if (first >= gate_rows_.size() || to >= gate_columns_.size()) [[unlikely]]
      return kUnknown;
    return gate_table_[gate_rows_[first]][gate_columns_[to]];
  }
  std::uint32_t find_gate(Label first, Class to);
  void extend_gates(Label first);
  std::vector<bool> asked_labels(LabelSet Plan::* at, std::size_t end) const;
  std::uint32_t gate_for(Label first, Class to);
  void forget_gates();
  static bool watched(std::uint32_t gate) { return gate != 0; }

  // Applies the updates [first, last) one by one.
  void one_by_one(std::span<const Update> updates, std::size_t first, std::size_t last, bool put_off,
                  Pass& pass);
  void apply_one(const Update& update, std::uint64_t number, Pass& pass);
  void note_for_later(const Edge& edge, Class to, bool inserts);
  void write_put_off(int threads, Watch& watch);
  void apply_in_order(std::span<const Update> updates, int threads, Switches switches, Pass& pass);
  bool in_runs_by_row(std::size_t updates, const Pass& pass) const;
  void forget_runs();
  void apply_runs(std::span<const Update> updates, int threads, bool puts_off, Pass& pass);
  // Applies and matches the updates of a run at once, on `threads` threads (dynamic/run.cpp, match_run.cpp).
  void run_at_once(std::span<const Update> run, std::size_t first, int threads, bool puts_off, Pass& pass);
  void write_run(std::span<const Update> run, int threads, bool puts_off, Pass& pass);
  void set_workers(int threads, const Pass& pass);
  void match_run(std::span<const Update> run, int threads, Pass& pass);
  void match_elsewhere(std::span<const Update> run, int threads, Pass& pass);
  CandidateChanges candidate_changes();
  Pass pass_of_batch(Found& found, Watch& watch, int threads, std::size_t most,
                     const std::function<void()>& full);
  void prepare(std::span<const Update> updates, const How& how, PreparedBatch& batch, Pass& pass);
  void prepare_run(PreparedBatch& batch, int threads, Pass& pass);
  void match_batch(PreparedBatch& batch, const How& how, Pass& pass);
  void match_before_writing(PreparedBatch& batch, int threads, Pass& pass);
  struct Gates {
    bool all_watched;
    Class most;  // of what is inserted
  };
  Gates find_gates(std::span<const Update> net, int threads, Pass& pass);
  bool reads_rows_for_roots() const;
  bool serves_in_run(Vertex vertex, const Needs& needs, std::span<const RunEnd> ends) const;
  bool may_match(const Plan& plan, const Edge& edge, std::span<const RunEnd> ends) const;
  void find_net_roots(std::span<const Update> net, Run& given, Pass& pass) const;
  Unwritten<RunEnd> ends_of_net(std::span<const Update> net, int threads, bool only_watched,
                                Watch& watch) const;
  void write_net(std::span<const RunEnd> ends, std::uint64_t more, int threads, Watch& watch);
  Unwritten<RunEnd> ends_of_run(std::span<const Update> run, int threads, Pass& pass) const;
  void find_roots(std::span<const Update> run, Run& given, Pass& pass);
  void add_roots(const Edge& edge, Moment number, Matcher<WithHoles>& matcher,
                 std::vector<Root>& roots) const;
  void take_matches(const Run& run, const RunMatches& matches, Pass& pass);
  void take_rows(std::span<const Root> roots, const RunMatches& matches, int threads);
  PlanBits chosen(const Forest& forest, PlanBits plans, const Edge& edge) const;
  // Has the searches for an update measured; `matcher` has matched it.
  template <class View>
  void look_again(const Gate& gate, const View& view, const Edge& edge, Matcher<View>& matcher, Probe& probe,
                  Watch& watch) const {
    for (const Forest& forest : gate.forests) {
      const PlanBits rest = matcher.divide(forest, matcher.concerned(forest, forest.all())).searched;
      probe.note(forest, chosen(forest, rest, edge));
    }
    probe.look(view, edge, plans_, plans_version_, listed_, naming_.sets(), watch);
  }
  bool reads_rows_once() const;
  Unwritten<Task> tasks_by_row(std::span<const Update> run, int threads, Watch& watch) const;
  // Whether an update of the run may have matches.
  bool is_task(std::size_t number) const {
    return watched(run_gates_[number]) && bulk_.effect(static_cast<Moment>(number)) != Effect::kNone;
  }
  bool appears_at(Moment moment) const { return bulk_.effect(moment) == Effect::kAppear; }
  bool negates() const { return std::ranges::any_of(plans_, &Plan::negates); }
  WithHoles view_at(Moment moment, Worker& worker, WithHoles*) const {
    return {graph_, lifetimes_, moment, &worker.marked, one_change_, appears_at(moment)};
  }
  AtMoment view_at(Moment moment, Worker& worker, AtMoment*) const {
    return {graph_, lifetimes_, worker.rows, run_start_, moment, one_change_, appears_at(moment)};
  }
  template <class View>
  void match_run_in(std::span<const Update> run, int threads, Pass& pass);
  template <class View>
  void match_tasks(std::span<const Update> run, std::span<const Task> tasks, Matcher<View>& matcher,
                   Worker& worker) const;
  template <class View>
  void match_task(const Edge& edge, Moment number, Matcher<View>& matcher, Worker& worker) const;
  bool may_be_long(const Plan& plan, const Edge& edge) const;
  PlanBits put_off_with(const Forest& forest, PlanBits plans, std::size_t number) const;
  template <class View>
  void match_splits(std::span<const Update> run, int threads, Pass& pass);
  template <class View>
  void match_blocks(Split& split, const Edge& edge, Matcher<View>& matcher, Worker& worker) const;
  template <class View>
  void count_part(const Plan& plan, const Edge& edge, Share::Key key, std::size_t first, std::size_t last,
                  Matcher<View>& matcher, Share& share) const;
  std::size_t next_length(std::size_t size, double each, const Pass& pass) const;
  std::vector<Place> places_of_run(std::size_t first, std::span<const Update> net, Pass& pass) const;
  void gather(std::size_t first, std::span<const Update> net, int threads, Pass& pass);
  void gather_tallies(std::size_t first, std::span<const Place> places, Pass& pass);
  bool add_slice(std::span<const Update> updates, int slice, int slices, PutOff::Part* later,
                 const AddToSlice& add, Watch& watch) const;
  void add_in_slices(std::span<const Update> updates, int slices, bool puts_off, Pass& pass,
                     const std::function<void()>& start, const AddToSlice& add);
  void note_bulk();
  void see_classes();
  bool concerns_plans(Class of) const;
  void prepare_plans();
  void match(const Edge& edge, std::uint64_t update, bool positive, Pass& pass);
  void reserve_done();
  bool insert(const Edge& edge);
  bool erase(const Edge& edge);
  void set_more_copies(const Edge& edge, std::uint64_t more);
  void undo();
  void open_log(const std::shared_ptr<PutOffNoops>& joined);
  std::uint64_t keep_log();
  void check_log() const;
  void all_or_none(const std::function<void()>& work);
  Column<Update> net_changes(std::span<const Update> updates, int threads, bool put_off, Pass& pass);
  bool may_replace(std::span<const Update> net) const;
  std::vector<Edge> stand_ins(std::span<const Update> net) const;
  std::vector<Edge> between(Vertex a, Vertex b) const;

  Graph graph_;
  bool count_copies_;
  std::vector<Plan> plans_;
  std::vector<bool> listed_;  // by pattern
  std::uint64_t plans_version_ = 0, lists_version_ = 0;
  Allowed allowed_;
  Memory memory_;
  Naming naming_{graph_};
  Filter filter_ = Filter::kMask;
  std::uint32_t filter_bits_ = 2;
  Probe probe_{graph_, allowed_};
  std::vector<std::uint32_t> free_lists_;
  // The gate of an edge, by the label of its source and its class. Most of these are in no plan: they all
  // have row 0, or column 0, of the table, and so gate 0, which has no plans.
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  std::vector<std::uint32_t> gate_rows_;     // by label
  std::vector<std::uint32_t> gate_columns_;  // by class
  std::vector<std::vector<std::uint32_t>> gate_table_;
  std::vector<Gate> gated_;
  std::size_t classes_seen_ = 0;

  // What undo() needs of a call.
  struct Log {
    std::uint64_t call = 0;
    bool is_new = false;  // it was begun, and no updates are applied in it yet
    // Changes: lists in the order in which they were made, then the last ones.
    std::vector<std::vector<Done>> done_before;
    std::vector<Done> done;
    Column<Update> written;  // net changes that another engine matched
    std::uint64_t edges_before = 0;
    PutOff::Call put_off;  // of a call that is kept
  };
  void make_final(Log& log);
  Log log_;
  std::optional<Log> kept_;  // of the call before
  std::uint64_t calls_ = 0, final_call_ = 0;
  // While an engine matches a batch before it is written; whether it is written since, or being written.
  bool matches_net_ = false, has_begun_writing_ = false;
  Bulk bulk_{graph_, count_copies_};
  PutOff put_off_{graph_, count_copies_};
  std::vector<PutOff::Part> later_;  // of a call, by slice; kept for its memory
  LabelChanges label_changes_;
  VertexTallies tallies_;
  Lifetimes lifetimes_{graph_};
  std::size_t most_run_ = SIZE_MAX;
  std::shared_ptr<RunMatcher> run_matcher_;  // in its use it may be replaced: who uses it holds it
  // Of a run: the gate of each update, and the number of changes of the graph before it.
  std::vector<std::uint32_t, UnclearedPages<std::uint32_t>> run_gates_;
  std::uint64_t run_start_ = 0;
  bool one_change_ = false;  // of a run, as in its Pass
  Progress progress_;
  std::vector<Worker> workers_;
  // The threads that write rows of net changes. Declared last: they end before the rest is destroyed.
  mutable RowsWriting writing_;
};

}  // namespace motiflux::dynamic
