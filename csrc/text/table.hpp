// Tables of text: records of fields, of which some columns are kept, each with the type found in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/column.hpp"
#include "text/dictionary.hpp"
#include "text/parse.hpp"
#include "text/record.hpp"

namespace motiflux::text {

// What every record has to be like.
struct Shape {
  std::size_t width = 0;          // fields
  std::string width_reason;       // how errors go on after the number expected
  std::int64_t lines_before = 0;  // lines of the file before what is fed
};

struct Table {
  std::size_t rows = 0;
  std::int64_t lines = 0;
  std::vector<ColumnBuilder> columns;  // as specified; codes are places in the sorted strings
  std::vector<Strings> dictionaries;
  std::vector<std::size_t> reread;  // columns to be read as strings; if there are any, the rest is empty
};

// Fed with chunks of a file in order, then finished once. Not usable after a ParseError, nor when Cancelled.
// Columns with one dictionary are strings if one of them is.
class TableParser {
 public:
  TableParser(Layout layout, Shape shape, std::vector<ColumnSpec> specs, int threads);
  TableParser(const TableParser&) = delete;
  TableParser& operator=(const TableParser&) = delete;

  // Throws Cancelled where what is there already takes long to move and asked to stop.
  void feed(std::string_view chunk, const std::atomic<bool>* stop = nullptr);
  // Throws Cancelled when asked to stop.
  Table finish(const std::atomic<bool>* stop);

  const std::vector<ColumnSpec>& specs() const { return specs_; }
  // Rows so far.
  std::size_t rows() const { return all_.rows; }

 private:
  // What a run of whole records holds.
  struct Chunk {
    Chunk(const std::vector<ColumnSpec>& specs, std::int64_t lines_before);

    std::vector<ColumnBuilder> columns;
    std::vector<Dictionary> dictionaries;
    std::size_t rows = 0;
    std::int64_t lines;
    std::optional<ParseError> error;
  };

  void parse(std::string_view records, Chunk& chunk) const;
  void check_width(std::size_t found, std::int64_t line) const;
  void take_records(std::string_view records);
  void parse_in_parallel(std::string_view records, std::size_t chunks);
  void append(Chunk& chunk);
  void hold(std::string_view part);
  void share_kinds();
  void stop_on(const std::atomic<bool>* stop);

  Layout layout_;
  Shape shape_;
  std::vector<ColumnSpec> specs_;
  std::vector<int> column_at_;  // by position; -1 for those left out
  std::vector<int> next_at_;    // by column: another one of the same position, or -1
  int threads_;
  Within within_ = Within::kStart;  // at the end of carry_
  std::string carry_;               // a record that has begun
  Chunk all_;
};

}  // namespace motiflux::text
