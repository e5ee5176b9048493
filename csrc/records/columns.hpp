// Updates as a service takes them, in columns: whether each inserts, its time, ids, labels and attributes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace motiflux::records {

enum class Kind : std::uint8_t { kNone, kInteger, kText, kFloat, kTruth };

// Values of one kind, of which some may be missing. Of the kind kNone, all are.
class Column {
 public:
  explicit Column(Kind kind) : kind_(kind) {}

  Kind kind() const { return kind_; }
  bool has(std::size_t row) const { return kind_ != Kind::kNone && present_[row] != 0; }
  // Of a column that is not of the kind kNone: 1 for values, 0 where they are missing.
  std::span<const std::uint8_t> present() const { return present_; }
  // Integers and truth values; 0 where they are missing.
  std::span<const std::int64_t> integers() const { return integers_; }
  std::span<std::int64_t> integers() { return integers_; }
  std::span<const double> floats() const { return floats_; }
  // UTF-8; empty where it is missing.
  std::string_view text(std::size_t row) const {
    const std::size_t first = row == 0 ? 0 : ends_[row - 1];
    return std::string_view(text_).substr(first, ends_[row] - first);
  }

  void add_missing();
  void add(std::int64_t value);
  void add(double value);
  void add(std::string_view text);
  void fill(std::int64_t value);                           // in place of integers that are missing
  bool ascends(std::int64_t from, std::int64_t to) const;  // integers, all of which are there
  void extend(const Column& other, std::size_t first, std::size_t end);
  void keep(std::size_t rows);  // the first ones
  void append_json(std::string& text, std::size_t row) const;

 private:
  Kind kind_;
  std::vector<std::uint8_t> present_;
  std::vector<std::int64_t> integers_;
  std::vector<double> floats_;
  std::vector<std::size_t> ends_;
  std::string text_;
};

class Records {
 public:
  enum Place : std::size_t { kSource, kTarget, kLabel, kSourceLabel, kTargetLabel, kAttributes };

  // Without kinds, they are those of the first records that are added.
  explicit Records(std::span<const Kind> kinds = {}) {
    for (const Kind kind : kinds) columns_.emplace_back(kind);
  }

  std::size_t size() const { return inserts_.size(); }
  std::span<const std::uint8_t> inserts() const { return inserts_; }
  const Column& times() const { return times_; }
  Column& times() { return times_; }
  std::span<const Column> columns() const { return columns_; }
  std::span<Column> columns() { return columns_; }

  // Its time and the values of its columns have to be added as well.
  void begin_row(bool inserts) { inserts_.push_back(inserts ? 1 : 0); }
  void extend(const Records& other, std::size_t first, std::size_t end);
  void keep(std::size_t rows);
  // As the log has it: [insert, source, target, label, time, source label, target label, attributes...].
  void append_json(std::string& text, std::size_t row) const;

 private:
  std::vector<std::uint8_t> inserts_;
  Column times_{Kind::kInteger};
  std::vector<Column> columns_;
};

}  // namespace motiflux::records
