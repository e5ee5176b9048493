// Streams that are read, numbered and applied natively.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bind_checks.hpp"
#include "bind_found.hpp"
#include "bind_numbering.hpp"
#include "bindings.hpp"
#include "common/arrays.hpp"
#include "common/free_gil.hpp"
#include "dynamic/monitor.hpp"
#include "dynamic/numbering.hpp"
#include "feed/comes.hpp"
#include "feed/line_output.hpp"
#include "feed/match_lines.hpp"
#include "named_ids.hpp"
#include "quiet_totals.hpp"
#include "text/updates.hpp"

namespace motiflux {

inline constexpr std::size_t kReadBytes = 1 << 16;
inline constexpr dynamic::Label kNoCode =
    ~dynamic::Label{0};  // of vertices without a label, where no element has one yet
// A quiet batch may take this long; Python looks for signals that often.
inline constexpr std::chrono::milliseconds kTurn{20}, kLongest{40};
// Batches that follow on some that could not be applied are left to Python for a while: up to kMostLeft.
inline constexpr std::size_t kMostLeft = 64;

class TurnWatch : public dynamic::Watch {
 public:
  bool keep_going() override { return SteadyClock::now() < end_; }

 private:
  SteadyClock::time_point end_ = SteadyClock::now() + kLongest;
};

// Matches as lines, and where they go.
struct Lines {
  feed::LineFormat format;
  feed::LineOutput output;
};

// Applies batches of text of which Python need not know: they change no match, or their matches are written
// as lines. Any other batch with matches is left open, applied but still in the parser, until Python has
// delivered its matches and commits it, or takes it back. A batch that needs anything else stays in the
// parser, and the graph is as before it.
class QuietFeed {
 public:
  // `words` are names that may mean that there is none: Python looks at them.
  explicit QuietFeed(std::vector<std::string> words) : owned_(std::move(words)) {
    for (const std::string& word : owned_) {
      words_.insert(word);
      longest_ = std::max(longest_, word.size());
    }
  }

  QuietFeed(const QuietFeed&) = delete;
  QuietFeed& operator=(const QuietFeed&) = delete;

  // What Python knows of the monitor.
  struct Known {
    dynamic::Label unlabelled;  // code of vertices without a label; kNoCode: none yet
    bool zero;                  // edges may be without labels
    std::optional<InputArray<std::int32_t>> label_codes;  // by label; -1: unknown
  };

  // Goes on until a batch is not quiet, no text is left, or a turn is over. `partial`: batches may have fewer
  // updates than `most`. A batch with matches is written to `lines`, if these are given; else it is left open
  // if `opens`, else undone. `first`: the number of the first update (in batch mode, batch) since take().
  // Text is read from `descriptor` if there is one, for which it waits `wait` seconds, the first `spin` of
  // them awake. The parser, ids and monitor stay until an open batch is closed.
  void run(text::UpdateParser& parser, PyVertexIds& ids, nanobind::handle monitor, std::size_t most,
           bool partial, dynamic::Label unlabelled, bool zero,
           const std::optional<InputArray<std::int32_t>>& label_codes, const Terms& terms, bool opens,
           Lines* lines, std::int64_t first, int descriptor, double spin, double wait) {
    require(!open_, "a batch is open");
    const std::chrono::microseconds spinning(static_cast<std::int64_t>(1e6 * spin));
    const std::chrono::milliseconds waiting(std::llround(1e3 * wait));
    turn_.emplace(Turn{&parser,
                       &ids,
                       &native_monitor_of(monitor),
                       most,
                       partial,
                       {unlabelled, zero, label_codes},
                       terms,
                       opens,
                       lines,
                       descriptor,
                       spinning,
                       waiting,
                       SteadyClock::now() + kTurn});
    first_ = first;
    go_on();
  }
  // Continues the turn that run() began, after a batch that was open.
  void go_on() {
    require(!open_ && turn_, "no turn was begun, or a batch is open");
    const Turn& turn = *turn_;
    text::UpdateParser& parser = *turn.parser;
    const FreeGil free_gil;
    do {
      const bool full = parser.fill(turn.most);
      const std::size_t size = parser.filled().size();
      if (!full && !(turn.partial && size > 0)) {
        if (turn.descriptor < 0) return;
        write_while_idle(*turn.monitor, turn.descriptor, turn.end);
        if (!read_more(parser, turn.descriptor, turn.spin, turn.wait)) return;
        continue;
      }
      if (left_ > 0) {
        --left_;
        return;
      }
      if (turn.monitor->may_write_put_off(size)) return;  // Python looks for signals meanwhile
      if (!passes(turn)) return;
    } while (SteadyClock::now() < turn.end);
  }

  // The totals since the last call (QuietTotals::take).
  nanobind::tuple take() { return totals_.take(); }
  std::size_t batches() const { return totals_.batches(); }

  bool is_open() const { return open_.has_value(); }
  // The number of the first update, or of the batch in batch mode, of the open batch.
  std::int64_t first() const {
    require(open_.has_value(), "no batch is open");
    return first_of(open_->in_batches);
  }
  // The matches of the open batch; once.
  nanobind::object found() {
    require(open_.has_value(), "no batch is open");
    open_->there = SteadyClock::now();
    return nanobind::cast(PyFound(std::move(open_->found), std::move(open_->applied), open_->in_batches));
  }
  void commit() {
    require(open_.has_value(), "no batch is open");
    const std::size_t given = open_->parser->filled().size();
    totals_.count(given, open_->updates, open_->self_loops, open_->noops, open_->put_off);
    totals_.count_matches(open_->matches);
    totals_.note(open_->there - open_->start, given);
    open_->parser->drop();
    open_.reset();
  }
  bool turn_is_over() const { return !turn_ || SteadyClock::now() >= turn_->end; }
  void take_back() {
    if (!open_) return;
    undo(*open_->monitor, *open_->ids, open_->before);
    open_.reset();
  }

 private:
  // What run() was given, and when the turn ends.
  struct Turn {
    text::UpdateParser* parser;
    PyVertexIds* ids;
    dynamic::Monitor* monitor;
    std::size_t most;
    bool partial;
    Known known;
    Terms terms;
    bool opens;
    Lines* lines;
    int descriptor;
    std::chrono::microseconds spin;
    std::chrono::milliseconds wait;
    SteadyClock::time_point end;
  };
  using PutOff = QuietTotals::PutOff;
  using Matches = QuietTotals::Matches;

  struct Open {
    text::UpdateParser* parser;
    PyVertexIds* ids;
    dynamic::Monitor* monitor;
    std::size_t before;  // vertices
    SteadyClock::time_point start, there;
    dynamic::Found found;
    Applied applied;
    bool in_batches;
    std::size_t updates, self_loops, noops;
    PutOff put_off;
    Matches matches;
  };

  static void undo(dynamic::Monitor& monitor, PyVertexIds& ids, std::size_t before) {
    monitor.take_back();
    ids.ids.keep(before);
    if (monitor.graph().vertices() > before) monitor.keep_vertices(static_cast<std::uint32_t>(before));
  }

  std::int64_t first_of(bool in_batches) const {
    return first_ + static_cast<std::int64_t>(in_batches ? totals_.batches() : totals_.given());
  }

  // Writes updates that were put off as long as there is nothing to read: else the stream would have to wait
  // some 30 ms when a quarter of a million have come.
  static void write_while_idle(dynamic::Monitor& monitor, int descriptor, SteadyClock::time_point end) {
    const auto none = std::chrono::microseconds(0);
    while (!feed::comes(descriptor, none, std::chrono::milliseconds(0)) && SteadyClock::now() < end &&
           monitor.write_some_put_off()) {
    }
  }

  bool read_more(text::UpdateParser& parser, int descriptor, std::chrono::microseconds spin,
                 std::chrono::milliseconds wait) {
    if (!feed::comes(descriptor, spin, wait)) return false;
    buffer_.resize(kReadBytes);
    const ssize_t size = read(descriptor, buffer_.data(), buffer_.size());
    if (size <= 0) return false;  // Python reads again, and finds the end or the error
    parser.feed({buffer_.data(), static_cast<std::size_t>(size)});
    return true;
  }

  bool is_plain(const text::UpdateParser& parser, const PyVertexIds& ids, const Known& known) const {
    const text::UpdateBatch& batch = parser.filled();
    if (batch.error || batch.skips > 0 || !batch.vertex.empty() || !batch.time.empty() ||
        !batch.fraction.empty())
      return false;
    if (parser.form(0) == text::Form::kNames) {
      if (ids.ids.strings.size() == 0) return false;
      const text::Dictionary& names = parser.names(0);
      for (std::size_t code = 0; code < names.size(); ++code)
        if (names.at(code).size() <= longest_ && words_.contains(names.at(code))) return false;
    } else if (ids.ids.integers.size() == 0) {
      return false;
    }
    if (batch.label.empty()) return known.zero;
    if (parser.form(1) != text::Form::kIntegers || !known.label_codes) return false;
    const auto codes = as_span(*known.label_codes);
    return std::all_of(batch.label.begin(), batch.label.end(), [&](std::int64_t label) {
      return label >= 0 && static_cast<std::size_t>(label) < codes.size() &&
             codes[static_cast<std::size_t>(label)] >= 0;
    });
  }

  // Whether the batch is done, and the text may be read on; if not, it is open, or undone, or lines wait.
  bool passes(const Turn& turn) {
    const SteadyClock::time_point start = SteadyClock::now();
    text::UpdateParser& parser = *turn.parser;
    PyVertexIds& ids = *turn.ids;
    dynamic::Monitor& monitor = *turn.monitor;
    const Known& known = turn.known;
    const Terms& terms = turn.terms;
    const text::UpdateBatch& batch = parser.filled();
    if (!is_plain(parser, ids, known)) return false;
    const std::lock_guard lock(ids.mutex);
    const std::size_t before = ids.ids.size();
    dynamic::Found found;
    std::optional<dynamic::Numbered> numbers;
    monitor.begin(totals_.put_off());
    try {
      const IntegerSpan sources{batch.source}, targets{batch.target};
      if (parser.form(0) == text::Form::kNames) {
        NamedIds named(ids.ids.strings, parser.names(0));
        numbers = apply(sources, targets, named, ids.most, batch, monitor, known, terms, found);
      } else {
        numbers = apply(sources, targets, ids.ids.integers, ids.most, batch, monitor, known, terms, found);
      }
    } catch (const std::exception&) {
      numbers.reset();
    } catch (const dynamic::Stopped&) {
      numbers.reset();
    }
    const auto changes = [](const auto& one) { return !one.changes.empty(); };
    const bool quiet = std::none_of(found.patterns.begin(), found.patterns.end(), changes);
    bool good = numbers.has_value();
    Matches matches;
    std::optional<Applied> applied;
    try {
      if (good) totals_.make_room(found.patterns.size());
      if (good && !quiet) {
        good = matches_of(found, matches);
        if (turn.lines == nullptr) applied.emplace(Applied{updates_, std::move(numbers->origins)});
        if (good && turn.lines != nullptr)
          good = write(*turn.lines, found, ids.ids, parser, *numbers, terms.how.batch);
        else
          good = good && turn.opens;
      }
    } catch (const std::bad_alloc&) {
      good = false;
    }
    if (!good) {
      // An error is raised where Python applies the batch.
      undo(monitor, ids, before);
      left_ = next_left_;
      next_left_ = std::min(kMostLeft, 2 * next_left_ + 1);
      return false;
    }
    left_ = next_left_ = 0;
    if (!quiet && turn.lines == nullptr) {
      const std::size_t noops = found.noops;
      const PutOff put_off = found.put_off;
      open_.emplace(Open{&parser, &ids, &monitor, before, start, start, std::move(found), std::move(*applied),
                         terms.how.batch, updates_.size(), numbers->self_loops, noops, put_off,
                         std::move(matches)});
      return false;
    }
    totals_.count(batch.size(), updates_.size(), numbers->self_loops, found.noops, found.put_off);
    totals_.count_matches(matches);
    if (!quiet && !turn.lines->output.grows()) turn.lines->output.print(text_);
    totals_.note(SteadyClock::now() - start, batch.size());
    parser.drop();
    return quiet || !turn.lines->output.has_rest();
  }

  // The numbers of matches by pattern; false if sums of a run of batches might exceed 128 bits.
  static bool matches_of(const dynamic::Found& found, Matches& matches) {
    constexpr Total kMost = Total{1} << 96;
    for (const dynamic::Found::OfPattern& one : found.patterns) {
      if (one.positive > kMost || one.negative > kMost) return false;
      matches.emplace_back(one.positive, one.negative);
    }
    return true;
  }

  // Makes lines of matches, and appends them to a file that grows. False if either fails.
  bool write(Lines& lines, const dynamic::Found& found, const dynamic::VertexIds& ids,
             const text::UpdateParser& parser, const dynamic::Numbered& numbers, bool in_batches) {
    const text::Dictionary* names = parser.form(0) == text::Form::kNames ? &parser.names(0) : nullptr;
    text_.clear();
    const feed::BatchFacts facts{parser.filled(), numbers.origins, names, first_of(in_batches), in_batches};
    return feed::append_lines(lines.format, found, ids, facts, text_) &&
           (!lines.output.grows() || lines.output.append(text_));
  }

  // Nothing if new vertices need more than a number.
  template <class Ids>
  std::optional<dynamic::Numbered> apply(const IntegerSpan& sources, const IntegerSpan& targets, Ids& ids,
                                         std::size_t most, const text::UpdateBatch& batch,
                                         dynamic::Monitor& monitor, const Known& known, const Terms& terms,
                                         dynamic::Found& found) {
    dynamic::Numbering<Ids> numbering(ids, most, known.unlabelled);
    numbering.number(sources, targets, {}, [] {});
    dynamic::Numbered numbers = numbering.take();
    if (numbers.added > 0 && known.unlabelled == kNoCode) return std::nullopt;
    for (std::size_t more = 0; more < numbers.added; ++more) monitor.graph().add_vertex(known.unlabelled);
    updates_.resize(numbers.sources.size());
    for (std::size_t at = 0; at < updates_.size(); ++at) {
      const std::size_t row = numbers.origins.empty() ? at : static_cast<std::size_t>(numbers.origins[at]);
      dynamic::Label label = 0;
      if (!batch.label.empty())
        label = static_cast<dynamic::Label>(
            known.label_codes->data()[static_cast<std::size_t>(batch.label[row])]);
      updates_[at] = {monitor.graph().named(numbers.sources[at], numbers.targets[at], label),
                      batch.inserts[row] != 0};
    }
    TurnWatch watch;
    const std::function<void()> full = [] { throw dynamic::Stopped(); };
    monitor.apply(updates_, terms.how, found, watch, terms.most, full);
    return numbers;
  }

  std::vector<std::string> owned_;
  std::unordered_set<std::string_view> words_;
  std::size_t longest_ = 0;
  std::vector<char> buffer_;
  dynamic::Updates updates_;
  std::size_t left_ = 0, next_left_ = 0;  // batches to be left to Python, now and after the next match
  QuietTotals totals_;
  std::int64_t first_ = 0;  // number of the first update, or batch, since take()
  std::string text_;        // lines of a batch
  std::optional<Turn> turn_;
  std::optional<Open> open_;
};

}  // namespace motiflux
