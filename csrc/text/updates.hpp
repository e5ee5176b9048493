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

// The form of ids or labels; kOpen until the first ones decide it.
enum class Form : std::uint8_t { kOpen, kIntegers, kNames };

// The positions of an update's parts among the fields of a record; -1: absent.
struct UpdateColumns {
  enum Part : std::uint8_t { kOp, kSource, kTarget, kLabel, kTime, kSourceLabel, kTargetLabel, kParts };

  std::array<int, kParts> field{-1, -1, -1, -1, -1, -1, -1};
  std::array<std::string, kParts> name;  // names in errors
};

// Updates in order, as columns. Ids and labels are codes if they are names.
struct UpdateBatch {
  Growing<std::uint8_t> inserts;
  Growing<std::int64_t> source, target;
  Growing<std::int64_t> label;  // empty if no update has one
  Growing<std::int64_t> time;
  Growing<double> fraction;      // times, if one is no integer; `time` is empty then
  Growing<std::int64_t> line;    // of each update
  Growing<std::int64_t> vertex;  // vertices whose labels are given
  Growing<std::int64_t> vertex_label;
  Growing<std::int64_t> vertex_before;                        // the update that it precedes
  Growing<std::int64_t> vertex_line;                          // where
  std::vector<std::pair<std::int64_t, std::string>> skipped;  // the first few skipped lines and their errors
  std::int64_t skips = 0;
  std::string raw;                  // the text of the batch, if lines are skipped
  std::optional<ParseError> error;  // the error after these updates

  std::size_t size() const { return inserts.size(); }
  bool empty() const { return inserts.empty() && vertex.empty() && skips == 0 && !error; }
};

class UpdateParser {
 public:
  struct Options {
    std::optional<Layout> layout;  // of a table; none: lines
    UpdateColumns columns;
    std::size_t width = 0;        // fields of a record
    std::string width_reason;     // text of errors after that number
    bool skips = false;           // skip malformed lines
    std::int64_t line = 0;        // lines before the first chunk
    std::int64_t offset = 0;      // bytes before the first chunk
    std::array<Form, 3> forms{};  // of ids, labels of edges, labels of vertices
  };

  explicit UpdateParser(Options options);
  UpdateParser(const UpdateParser&) = delete;
  UpdateParser& operator=(const UpdateParser&) = delete;

  void feed(std::string_view chunk);
  // No more text will come: a last line without an end is complete.
  void end() { ended_ = true; }
  // Parses the text fed until `most` updates wait to be taken. True if there are that many, or an error.
  bool fill(std::size_t most);
  const UpdateBatch& filled() const { return batch_; }
  UpdateBatch take();
  // Leaves out the updates that would be taken.
  void drop();
  // The text of the updates that would be taken, and the text after them.
  std::string_view raw() const { return std::string_view(buffer_).substr(begin_, at_ - begin_); }
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }
  const Dictionary& names(std::size_t which) const { return names_[which]; }
  // For the result of take(): the strings of codes; and whether values are codes of strings.
  Strings take_names(std::size_t which) { return std::exchange(names_[which], {}).take(); }
  Form form(std::size_t which) const { return options_.forms[which]; }
  // Whether times are nanoseconds of dates.
  bool has_dates() const { return times_ == Times::kDates; }

  // The end of the taken updates.
  std::int64_t line() const { return taken_line_; }
  std::int64_t offset() const { return taken_offset_; }

 private:
  enum Which : std::uint8_t { kIds, kEdgeLabels, kVertexLabels };
  enum class Times : std::uint8_t { kOpen, kNumbers, kDates };
  struct Again {};  // the batch has to be read again: supposed integers are names

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
  void pass_batch();

  Options options_;
  std::string buffer_;
  std::size_t at_ = 0;     // text before it is parsed
  std::size_t begin_ = 0;  // start of the batch
  bool ended_ = false;
  std::int64_t line_, taken_line_, taken_offset_;
  std::int64_t record_line_ = 0;   // the first line of the current record
  std::array<bool, 3> settled_{};  // the form is known, from the caller or from taken updates
  Times times_ = Times::kOpen, taken_times_ = Times::kOpen;
  std::array<Dictionary, 3> names_;
  std::set<std::pair<std::int64_t, std::int64_t>> named_;  // labelled vertices of tables in this batch
  std::array<std::string, UpdateColumns::kParts> owned_;
  std::string unquoted_;
  UpdateBatch batch_;
};

}  // namespace motiflux::text
