// Tables of text: records of fields; some columns are kept, each with its detected type.
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

// The required form of every record.
struct Shape {
  std::size_t width = 0;          // fields
  std::string width_reason;       // text of errors after the expected number
  std::int64_t lines_before = 0;  // lines of the file before the first chunk
};

struct Table {
  std::size_t rows = 0;
  std::int64_t lines = 0;
  std::vector<ColumnBuilder> columns;  // as specified; codes are places in the sorted strings
  std::vector<Strings> dictionaries;
  std::vector<std::size_t> reread;  // columns to reread as strings; if any, the rest is empty
};

// Feed it the chunks of a file in order, then finish it once. Not usable after ParseError or Cancelled.
// Columns that share a dictionary are strings if one of them is.
class TableParser {
 public:
  TableParser(Layout layout, Shape shape, std::vector<ColumnSpec> specs, int threads);
  TableParser(const TableParser&) = delete;
  TableParser& operator=(const TableParser&) = delete;

  // Throws Cancelled if *stop becomes true while moving the data takes long.
  void feed(std::string_view chunk, const std::atomic<bool>* stop = nullptr);
  // Throws Cancelled if *stop becomes true.
  Table finish(const std::atomic<bool>* stop);

  const std::vector<ColumnSpec>& specs() const { return specs_; }
  // Rows so far.
  std::size_t rows() const { return all_.rows; }

 private:
  // The contents of a run of complete records.
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
  std::vector<int> column_at_;  // by position; -1: not kept
  std::vector<int> next_at_;    // by column: another column of the same position, or -1
  int threads_;
  Within within_ = Within::kStart;  // at the end of carry_
  std::string carry_;               // the beginning of an incomplete record
  Chunk all_;
};

}  // namespace motiflux::text
