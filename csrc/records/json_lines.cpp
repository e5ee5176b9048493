#include "records/json_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>
#include <utility>

#include "text/moment.hpp"
#include "text/utf8.hpp"

namespace motiflux::records {
namespace {

constexpr int kDeepest = 32;
constexpr double kLargestFloat = 1e308, kLargestTime = 0x1p63;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void append_utf8(std::string& text, std::uint32_t character) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((character >> shift) & 0x3f)); };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0 | (character >> 6));
    text += tail(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0 | (character >> 12));
    text += tail(6);
    text += tail(0);
  } else {
    text += static_cast<char>(0xf0 | (character >> 18));
    text += tail(12);
    text += tail(6);
    text += tail(0);
  }
}

std::optional<double> float_of(std::string_view token) {
  double value = 0;
  const auto [end, fault] = std::from_chars(token.begin(), token.end(), value);
  if (fault != std::errc() || end != token.end()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_of(std::string_view token) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(token.begin(), token.end(), value);
  if (fault != std::errc() || end != token.end()) return std::nullopt;
  return value;
}

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool is_moment(std::int64_t nanoseconds) {
  return -text::kMostNanoseconds < nanoseconds && nanoseconds < text::kMostNanoseconds;
}

}  // namespace

// Reads values one after another; false where there is none as the grammar has it. The line is UTF-8.
class LineReader::Cursor {
 public:
  explicit Cursor(std::string_view line) : at_(line.begin()), end_(line.end()) {}

  void skip_blanks() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
  }
  bool at_end() const { return at_ == end_; }
  bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool string(Value& value) {
    if (!take('"')) return false;
    const auto* const first = at_;
    while (at_ != end_ && *at_ != '"' && *at_ != '\\' && static_cast<unsigned char>(*at_) >= 0x20) ++at_;
    value.type = Type::kText;
    value.text = std::string_view(first, at_);
    if (take('"')) return true;
    value.unescaped.assign(first, at_);
    while (at_ != end_ && *at_ != '"') {
      const char c = *at_++;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\')
        value.unescaped += c;
      else if (!escape(value.unescaped))
        return false;
    }
    value.text = value.unescaped;
    return take('"');
  }

  bool any(Value& value, int depth) {
    if (at_ == end_) return false;
    switch (*at_) {
      case '"':
        return string(value);
      case '{':
      case '[':
        value.type = Type::kNested;
        return depth > 0 && nested(value, depth - 1);
      case 't':
        value.type = Type::kTrue;
        return word("true");
      case 'f':
        value.type = Type::kFalse;
        return word("false");
      case 'n':
        value.type = Type::kNull;
        return word("null");
      default:
        return number(value);
    }
  }

 private:
  bool word(std::string_view wanted) {
    if (!std::string_view(at_, end_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  bool digits() {
    const auto* const first = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != first;
  }

  bool number(Value& value) {
    const auto* const first = at_;
    take('-');
    if (!take('0') && !digits()) return false;
    value.type = Type::kInteger;
    if (take('.')) {
      value.type = Type::kFloat;
      if (!digits()) return false;
    }
    if (take('e') || take('E')) {
      value.type = Type::kFloat;
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    value.text = std::string_view(first, at_);
    return true;
  }

  // An array or an object, whose values are not wanted.
  bool nested(Value& value, int depth) {
    const bool is_object = *at_ == '{';
    const char last = is_object ? '}' : ']';
    Value inner;
    ++at_;
    skip_blanks();
    if (take(last)) return true;
    do {
      skip_blanks();
      if (is_object) {
        if (!string(inner)) return false;
        skip_blanks();
        if (!take(':')) return false;
        skip_blanks();
      }
      if (!any(inner, depth)) return false;
      skip_blanks();
    } while (take(','));
    value.type = Type::kNested;
    return take(last);
  }

  bool escape(std::string& text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    if (at_ == end_) return false;
    const char letter = *at_++;
    if (letter != 'u') {
      const std::size_t at = kLetters.find(letter);
      if (at == std::string_view::npos) return false;
      text += kMeant[at];
      return true;
    }
    std::uint32_t character = 0, low = 0;
    if (!hexadecimal(character)) return false;
    if (character >= 0xd800 && character < 0xe000) {
      if (character >= 0xdc00 || !take('\\') || !take('u') || !hexadecimal(low)) return false;
      if (low < 0xdc00 || low >= 0xe000) return false;
      character = 0x10000 + ((character - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(text, character);
    return true;
  }

  bool hexadecimal(std::uint32_t& value) {
    if (end_ - at_ < 4) return false;
    const auto [last, fault] = std::from_chars(at_, at_ + 4, value, 16);
    if (fault != std::errc() || last != at_ + 4) return false;
    at_ += 4;
    return true;
  }

  const char* at_;
  const char* end_;
};

LineReader::LineReader(Options options) : options_(std::move(options)) {
  op_ = slot_of(options_.op);
  time_ = slot_of(options_.time);
  for (const std::string& name : options_.names) columns_.push_back(slot_of(name));
  values_.resize(slots_.size());
}

std::size_t LineReader::slot_of(const std::string& name) {
  const auto found = std::find(slots_.begin(), slots_.end(), name);
  if (found == slots_.end()) slots_.push_back(name);
  return static_cast<std::size_t>(std::find(slots_.begin(), slots_.end(), name) - slots_.begin());
}

std::size_t LineReader::read(Records& records, std::string_view data, std::size_t begin, std::size_t& lines) {
  while (begin < data.size()) {
    const std::size_t end = std::min(data.find('\n', begin), data.size());
    const std::string_view line = data.substr(begin, end - begin);
    const std::size_t before = records.size();
    if (!std::all_of(line.begin(), line.end(), is_blank)) {
      if (line.size() > options_.longest_line || !read_object(line)) return begin;
      if (!add_record(records)) {
        records.keep(before);
        return begin;
      }
    }
    ++lines;
    begin = end + 1;
  }
  return data.size();
}

bool LineReader::read_object(std::string_view line) {
  const bool is_plain =
      std::all_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!is_plain && !text::is_utf8(line)) return false;
  for (Value& value : values_) value.type = Type::kNull;
  Cursor at(line);
  at.skip_blanks();
  if (!at.take('{')) return false;
  at.skip_blanks();
  if (!at.take('}')) {
    do {
      at.skip_blanks();
      if (!at.string(key_)) return false;
      const auto slot = std::find(slots_.begin(), slots_.end(), key_.text);
      at.skip_blanks();
      if (!at.take(':')) return false;
      at.skip_blanks();
      Value& value = slot == slots_.end() ? other_ : values_[static_cast<std::size_t>(slot - slots_.begin())];
      if (!at.any(value, kDeepest)) return false;
      at.skip_blanks();
    } while (at.take(','));
    if (!at.take('}')) return false;
  }
  at.skip_blanks();
  return at.at_end();
}

bool LineReader::add_record(Records& records) {
  const Value& op = values_[op_];
  const auto is_one_of = [&](const std::vector<std::string>& words) {
    return op.type == Type::kText && std::find(words.begin(), words.end(), op.text) != words.end();
  };
  const bool inserts = op.type == Type::kNull || is_one_of(options_.inserting);
  if (!inserts && !is_one_of(options_.deleting)) return false;
  records.begin_row(inserts);
  if (!add_time(records.times(), values_[time_])) return false;
  for (std::size_t place = 0; place < columns_.size(); ++place)
    if (!add_value(records.columns()[place], values_[columns_[place]], place > Records::kTarget))
      return false;
  return true;
}

bool LineReader::add_time(Column& times, const Value& value) const {
  std::optional<std::int64_t> found;
  if (value.type == Type::kNull) {
    if (options_.needs_time) return false;
    times.add_missing();
    return true;
  }
  if (value.type == Type::kText) {
    found = text::parse_moment(value.text);
  } else if (value.type == Type::kInteger) {
    const auto number = integer_of(value.text);
    std::int64_t product = 0;
    if (number && !__builtin_mul_overflow(*number, options_.unit, &product)) found = product;
  } else if (value.type == Type::kFloat) {
    const auto number = float_of(value.text);
    if (!number || std::abs(*number) >= kLargestTime) return false;
    const double product = *number * static_cast<double>(options_.unit);
    if (std::abs(product) < kLargestTime) found = static_cast<std::int64_t>(std::nearbyint(product));
  }
  if (!found || !is_moment(*found)) return false;
  times.add(*found);
  return true;
}

bool LineReader::add_value(Column& column, const Value& value, bool may_miss) const {
  if (column.kind() == Kind::kNone) return true;
  if (value.type == Type::kNull) {
    column.add_missing();
    return may_miss;
  }
  switch (column.kind()) {
    case Kind::kText:
      if (value.type != Type::kText) return false;
      if (value.text.size() > options_.longest_text && characters_of(value.text) > options_.longest_text)
        return false;
      if (value.text.find('\0') != std::string_view::npos) return false;
      column.add(value.text);
      return true;
    case Kind::kInteger: {
      const auto number = value.type == Type::kInteger ? integer_of(value.text) : std::nullopt;
      if (number) column.add(*number);
      return number.has_value();
    }
    case Kind::kFloat: {
      std::optional<double> number;
      if (value.type == Type::kFloat) {
        number = float_of(value.text);
      } else if (value.type == Type::kInteger) {
        if (const auto whole = integer_of(value.text)) number = static_cast<double>(*whole);
      }
      if (!number || !(std::abs(*number) < kLargestFloat)) return false;
      column.add(*number);
      return true;
    }
    default:
      if (value.type != Type::kTrue && value.type != Type::kFalse) return false;
      column.add(std::int64_t{value.type == Type::kTrue});
      return true;
  }
}

}  // namespace motiflux::records
