// Lines of JSON, each with an object that is a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "records/columns.hpp"

namespace motiflux::records {

// Reads the lines that are records beyond doubt. All others it leaves to its caller, which says what is wrong
// with them, or that they are records after all: what both read is the same.
class LineReader {
 public:
  struct Options {
    std::vector<Kind> kinds;                         // of the columns of `Records`
    std::string op, time;                            // names
    std::vector<std::string> names;                  // of the columns of `Records`
    std::vector<std::string> inserting, deleting;    // values of `op`
    std::int64_t unit = 1;                           // nanoseconds of one unit of times that are numbers
    bool needs_time = false;                         // whether a record without a time is refused
    std::size_t longest_line = 0, longest_text = 0;  // in bytes and in characters
  };

  explicit LineReader(Options options);

  const std::vector<Kind>& kinds() const { return options_.kinds; }
  // Adds the records of lines from `begin` on. Returns where a line begins that was not read, or the end.
  std::size_t read(Records& records, std::string_view data, std::size_t begin, std::size_t& lines);

 private:
  enum class Type : std::uint8_t { kNull, kTrue, kFalse, kInteger, kFloat, kText, kNested };
  // What a member of the object is: the token of a number, the characters of a text.
  struct Value {
    Type type = Type::kNull;
    std::string_view text;
    std::string unescaped;
  };
  class Cursor;

  std::size_t slot_of(const std::string& name);
  bool read_object(std::string_view line);
  bool add_record(Records& records);
  bool add_time(Column& times, const Value& value) const;
  bool add_value(Column& column, const Value& value, bool may_miss) const;

  Options options_;
  std::vector<std::string> slots_;  // names without repetitions
  std::size_t op_, time_;
  std::vector<std::size_t> columns_;
  std::vector<Value> values_;  // of the last line, by slot
  Value key_, other_;
};

}  // namespace motiflux::records
