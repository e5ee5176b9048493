#include "records/columns.hpp"

#include <array>
#include <charconv>

#include "text/cell.hpp"

namespace motiflux::records {
namespace {

template <class T>
void extend_by(std::vector<T>& values, const std::vector<T>& others, std::size_t first, std::size_t end) {
  if (others.empty()) return;  // another kind has these
  values.insert(values.end(), others.begin() + static_cast<std::ptrdiff_t>(first),
                others.begin() + static_cast<std::ptrdiff_t>(end));
}

template <class T>
void keep_first(std::vector<T>& values, std::size_t rows) {
  if (values.size() > rows) values.resize(rows);
}

void append_number(std::string& text, std::int64_t value) {
  std::array<char, 24> digits;
  text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
}

// The shortest text that is the same number again, which no reader takes for an integer.
void append_number(std::string& text, double value) {
  std::array<char, 32> digits;
  const std::string_view shortest(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
  text += shortest;
  if (shortest.find_first_of(".e") == std::string_view::npos) text += ".0";
}

}  // namespace

void Column::add_missing() {
  switch (kind_) {
    case Kind::kNone:
      return;
    case Kind::kInteger:
    case Kind::kTruth:
      integers_.push_back(0);
      break;
    case Kind::kFloat:
      floats_.push_back(0);
      break;
    case Kind::kText:
      ends_.push_back(text_.size());
  }
  present_.push_back(0);
}

void Column::add(std::int64_t value) {
  integers_.push_back(value);
  present_.push_back(1);
}

void Column::add(double value) {
  floats_.push_back(value);
  present_.push_back(1);
}

void Column::add(std::string_view text) {
  text_ += text;
  ends_.push_back(text_.size());
  present_.push_back(1);
}

void Column::fill(std::int64_t value) {
  for (std::size_t row = 0; row < present_.size(); ++row) {
    if (present_[row] == 0) integers_[row] = value;
    present_[row] = 1;
  }
}

bool Column::ascends(std::int64_t from, std::int64_t to) const {
  for (const std::int64_t value : integers_) {
    if (value < from || value > to) return false;
    from = value;
  }
  return true;
}

void Column::extend(const Column& other, std::size_t first, std::size_t end) {
  if (kind_ == Kind::kNone || first == end) return;
  extend_by(present_, other.present_, first, end);
  extend_by(integers_, other.integers_, first, end);
  extend_by(floats_, other.floats_, first, end);
  if (kind_ != Kind::kText) return;
  const std::size_t begin = first == 0 ? 0 : other.ends_[first - 1], before = text_.size();
  text_.append(other.text_, begin, other.ends_[end - 1] - begin);
  for (std::size_t row = first; row < end; ++row) ends_.push_back(other.ends_[row] - begin + before);
}

void Column::keep(std::size_t rows) {
  keep_first(present_, rows);
  keep_first(integers_, rows);
  keep_first(floats_, rows);
  keep_first(ends_, rows);
  text_.resize(ends_.empty() ? 0 : ends_.back());
}

void Column::append_json(std::string& text, std::size_t row) const {
  if (!has(row)) {
    text += "null";
  } else if (kind_ == Kind::kText) {
    text::append_json(text, this->text(row));
  } else if (kind_ == Kind::kFloat) {
    append_number(text, floats_[row]);
  } else if (kind_ == Kind::kTruth) {
    text += integers_[row] != 0 ? "true" : "false";
  } else {
    append_number(text, integers_[row]);
  }
}

void Records::extend(const Records& other, std::size_t first, std::size_t end) {
  if (columns_.empty())
    for (const Column& column : other.columns_) columns_.emplace_back(column.kind());
  extend_by(inserts_, other.inserts_, first, end);
  times_.extend(other.times_, first, end);
  for (std::size_t i = 0; i < other.columns_.size(); ++i) columns_[i].extend(other.columns_[i], first, end);
}

void Records::keep(std::size_t rows) {
  keep_first(inserts_, rows);
  times_.keep(rows);
  for (Column& column : columns_) column.keep(rows);
}

void Records::append_json(std::string& text, std::size_t row) const {
  text += inserts_[row] != 0 ? "[1" : "[0";
  for (std::size_t place = 0; place < columns_.size(); ++place) {
    text += ',';
    if (place == kSourceLabel) {
      times_.append_json(text, row);
      text += ',';
    }
    columns_[place].append_json(text, row);
  }
  text += ']';
}

}  // namespace motiflux::records
