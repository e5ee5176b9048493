// Streams of updates as text: lines `v id label`, `e source target [label]`, `-e source target [label]`, or
// records of a table with a column for each part.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/dictionary.hpp"
#include "text/growing.hpp"
#include "text/parse.hpp"
#include "text/record.hpp"

namespace motiflux::text {

// What ids or labels are; kOpen until the first ones show it.
enum class Form : std::uint8_t { kOpen, kIntegers, kNames };

// Where the parts of an update are among the fields of a record; -1: they are not there.
struct UpdateColumns {
  enum Part : std::uint8_t { kOp, kSource, kTarget, kLabel, kTime, kSourceLabel, kTargetLabel, kParts };

  std::array<int, kParts> field{-1, -1, -1, -1, -1, -1, -1};
  std::array<std::string, kParts> name;  // as errors call them
};

// Updates in order, as columns. Ids and labels are codes where they are names.
struct UpdateBatch {
  Growing<std::uint8_t> inserts;
  Growing<std::int64_t> source, target;
  Growing<std::int64_t> label;  // empty if no update has one
  Growing<std::int64_t> time;
  Growing<double> fraction;      // times, where one is no integer; `time` is empty then
  Growing<std::int64_t> line;    // of each update
  Growing<std::int64_t> vertex;  // whose label is named
  Growing<std::int64_t> vertex_label;
  Growing<std::int64_t> vertex_before;  // the update before which it is
  Growing<std::int64_t> vertex_line;    // where
  std::vector<std::pair<std::int64_t, std::string>>
      skipped;  // lines and what is wrong with them, the first few
  std::int64_t skips = 0;
  std::string raw;                  // the text of all this, where lines are left out
  std::optional<ParseError> error;  // what is wrong after these updates

  std::size_t size() const { return inserts.size(); }
  bool empty() const { return inserts.empty() && vertex.empty() && skips == 0 && !error; }
};

class UpdateParser {
 public:
  struct Options {
    std::optional<Layout> layout;  // of a table; without it, lines
    UpdateColumns columns;
    std::size_t width = 0;        // fields of a record
    std::string width_reason;     // how errors go on after that number
    bool skips = false;           // go on after malformed lines
    std::int64_t line = 0;        // lines before what is fed
    std::int64_t offset = 0;      // bytes before it
    std::array<Form, 3> forms{};  // of ids, labels of edges, labels of vertices
  };

  explicit UpdateParser(Options options);
  UpdateParser(const UpdateParser&) = delete;
  UpdateParser& operator=(const UpdateParser&) = delete;

  void feed(std::string_view chunk);
  // No more will come: a last line without an end is one.
  void end() { ended_ = true; }
  // Parses what has been fed, up to `most` updates in all that are not taken yet. True if so many are there,
  // or an error is.
  bool fill(std::size_t most);
  const UpdateBatch& filled() const { return batch_; }
  UpdateBatch take();
  // Of what take() gave: the strings behind codes; and whether codes are that.
  Strings take_names(std::size_t which) { return std::exchange(names_[which], {}).take(); }
  Form form(std::size_t which) const { return options_.forms[which]; }
  // Whether times are nanoseconds of dates.
  bool has_dates() const { return times_ == Times::kDates; }

  // How far what was taken goes.
  std::int64_t line() const { return taken_line_; }
  std::int64_t offset() const { return taken_offset_; }

 private:
  enum Which : std::uint8_t { kIds, kEdgeLabels, kVertexLabels };
  enum class Times : std::uint8_t { kOpen, kNumbers, kDates };
  struct Again {};  // the batch has to be read again: what was taken for integers are names

  bool next_record(std::string_view& record);
  void take_record(std::string_view record);
  void take_line(std::string_view line);
  void take_fields(std::string_view record);
  void take_edge(bool inserts, std::string_view source, std::string_view target,
                 std::optional<std::string_view> label, std::optional<std::string_view> time);
  void take_vertex(std::string_view id, std::string_view label);
  void push_time(std::string_view token);
  std::int64_t value(Which which, std::string_view token, const std::string& what);
  std::int64_t name(Which which, std::string_view token, const std::string& what);
  void refuse(std::string_view record, const ParseError& error);
  void begin_again();

  Options options_;
  std::string buffer_;
  std::size_t at_ = 0;     // what comes before is parsed
  std::size_t begin_ = 0;  // where the batch begins
  bool ended_ = false;
  std::int64_t line_, taken_line_, taken_offset_;
  std::int64_t record_line_ = 0;   // the first line of the record at hand
  std::array<bool, 3> settled_{};  // the form is known, from who asks or from what was taken
  Times times_ = Times::kOpen, taken_times_ = Times::kOpen;
  std::array<Dictionary, 3> names_;
  std::set<std::pair<std::int64_t, std::int64_t>>
      named_;  // of this batch: vertices of tables with their labels
  std::array<std::string, UpdateColumns::kParts> owned_;
  std::string unquoted_;
  UpdateBatch batch_;
};

}  // namespace motiflux::text
