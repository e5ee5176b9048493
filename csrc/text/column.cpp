#include "text/column.hpp"

#include <utility>

#include "text/utf8.hpp"

namespace motiflux::text {
namespace {

constexpr std::size_t kMaxIdBytes = 4096;
constexpr std::size_t kAtOnce = 1 << 14;  // rows between two checks for a stop

bool has_exact_float(std::int64_t value) {
  return value >= -kExactInFloat && value <= kExactInFloat;
}

}  // namespace

ColumnBuilder::ColumnBuilder(const ColumnSpec& spec) : spec_(&spec) {
  if (spec.strings || spec.want == Want::kName) kind_ = Kind::kString;
  if (spec.want == Want::kInteger) kind_ = Kind::kInteger;
  if (spec.want == Want::kFloat) kind_ = Kind::kFloat;
}

std::size_t ColumnBuilder::rows() const {
  if (must_reread_) return empty_rows_;
  switch (kind_) {
    case Kind::kEmpty:
      return empty_rows_;
    case Kind::kBoolean:
      return truths_.size();
    case Kind::kInteger:
      return wide_ ? wide_integers_.size() : narrow_.size();
    case Kind::kFloat:
      return floats_.size();
    case Kind::kString:
      return codes_.size();
  }
  return 0;
}

void ColumnBuilder::take_slowly(std::string_view field, bool quoted, std::int64_t line,
                                Dictionary& dictionary) {
  if (must_reread_) {
    ++empty_rows_;
  } else if (takes_numbers_alone()) {
    take_number(field, line);
  } else if (spec_->want == Want::kAnything) {
    take_value(field, quoted, line, dictionary);
  } else {
    take_identifier(field, quoted, line, dictionary);
  }
}

void ColumnBuilder::take_number(std::string_view field, std::int64_t line) {
  if (kind_ == Kind::kFloat) {
    const std::string_view token = field.starts_with('+') ? field.substr(1) : field;
    const auto value = parse_decimal(token);
    if (!value) fail(line, spec_->what, field, "a number");
    floats_.push_back(*value);
    return;
  }
  const bool negative = field.starts_with('-');
  auto value = parse_integer(negative ? field.substr(1) : field);
  if (value && negative) value = -*value;
  if (!value || !in_range(*value) || (negative && spec_->low >= 0)) {
    fail(line, spec_->what, field,
         "an integer from " + std::to_string(spec_->low) + " to " + std::to_string(spec_->high));
  }
  push_integer(*value);
}

void ColumnBuilder::take_identifier(std::string_view field, bool quoted, std::int64_t line,
                                    Dictionary& dictionary) {
  if (field.empty()) {
    throw ParseError(line, spec_->what + ": found an empty field, expected an integer or a name");
  }
  const std::string_view token = quoted ? field : trimmed(field);
  std::int64_t value;
  if (kind_ != Kind::kString && canonical_integer(token, value)) {
    if (kind_ == Kind::kEmpty) begin_kind(Kind::kInteger, dictionary);
    retouched_ = retouched_ || token.size() != field.size();
    return push_integer(value);
  }
  if (kind_ != Kind::kString) widen(Kind::kString, dictionary);
  if (must_reread_) {
    ++empty_rows_;
    return;
  }
  if (token.size() != field.size()) {
    fail(line, spec_->what, field, "a name without blanks around it, or in quotes");
  }
  if (field.size() > kMaxIdBytes) {
    fail(line, spec_->what, field, "at most " + std::to_string(kMaxIdBytes) + " bytes");
  }
  if (field.find('\0') != std::string_view::npos) fail(line, spec_->what, field, "a name without NUL bytes");
  push_string(field, line, dictionary);
}

void ColumnBuilder::take_value(std::string_view field, bool quoted, std::int64_t line,
                               Dictionary& dictionary) {
  if (kind_ == Kind::kString) {
    return field.empty() && !quoted ? push_absent(kMissing) : push_string(field, line, dictionary);
  }
  if (field.empty()) return push_absent(quoted ? kEmptyQuotes : kMissing);
  const std::string_view token = quoted ? field : trimmed(field);
  if (take_typed(token, dictionary)) {
    retouched_ = retouched_ || token.size() != field.size();
    return;
  }
  widen(Kind::kString, dictionary);
  if (must_reread_) {
    ++empty_rows_;
  } else {
    push_string(field, line, dictionary);
  }
}

// False if the text has to be kept as written.
bool ColumnBuilder::take_typed(std::string_view token, Dictionary& dictionary) {
  std::int64_t integer;
  if (canonical_integer(token, integer)) {
    if (kind_ == Kind::kEmpty) begin_kind(Kind::kInteger, dictionary);
    if (kind_ == Kind::kInteger) {
      push_integer(integer);
      return true;
    }
    if (kind_ != Kind::kFloat || !has_exact_float(integer)) return false;
    push_float(static_cast<double>(integer));
    return true;
  }
  if (const auto truth = parse_truth(token)) {
    if (kind_ == Kind::kEmpty) begin_kind(Kind::kBoolean, dictionary);
    if (kind_ != Kind::kBoolean) return false;
    truths_.push_back(*truth);
    if (!absent_.empty()) absent_.push_back(kThere);
    return true;
  }
  if (kind_ == Kind::kBoolean) return false;
  const bool integral = token.find_first_not_of("-0123456789") == std::string_view::npos;
  auto value = parse_not_finite(token);
  if (!value && is_decimal(token) && (!integral || token == "-0")) value = parse_decimal(token);
  if (!value || (kind_ == Kind::kInteger && !exact_in_float())) return false;
  if (kind_ == Kind::kEmpty) begin_kind(Kind::kFloat, dictionary);
  if (kind_ == Kind::kInteger) integers_to_floats();
  push_float(*value);
  return true;
}

void ColumnBuilder::push_string(std::string_view field, std::int64_t line, Dictionary& dictionary) {
  const std::size_t known = dictionary.size();
  const std::uint32_t code = dictionary.code(field);
  if (dictionary.size() != known && !is_utf8(field)) fail(line, spec_->what, field, "text in UTF-8");
  codes_.push_back(code);
  if (!absent_.empty()) absent_.push_back(kThere);
}

void ColumnBuilder::push_float(double value) {
  floats_.push_back(value);
  if (!absent_.empty()) absent_.push_back(kThere);
}

void ColumnBuilder::push_absent(Absence absence) {
  if (absent_.empty()) absent_.append_copies(rows(), kThere);
  absent_.push_back(absence);
  push_filler();
}

void ColumnBuilder::push_filler() {
  switch (kind_) {
    case Kind::kEmpty:
      ++empty_rows_;
      break;
    case Kind::kBoolean:
      truths_.push_back(1);  // "false"
      break;
    case Kind::kInteger:
      wide_ ? wide_integers_.push_back(0) : narrow_.push_back(0);
      break;
    case Kind::kFloat:
      floats_.push_back(0);
      break;
    case Kind::kString:
      codes_.push_back(0);
      break;
  }
}

// Precondition: all rows so far are absent.
void ColumnBuilder::begin_kind(Kind kind, Dictionary& dictionary) {
  const std::size_t count = std::exchange(empty_rows_, 0);
  kind_ = kind;
  for (std::size_t row = 0; row < count; ++row) {
    if (kind == Kind::kString && absent_[row] == kEmptyQuotes) {
      codes_.push_back(dictionary.code(""));
      absent_[row] = kThere;
    } else {
      push_filler();
    }
  }
}

void ColumnBuilder::make_wide() {
  if (wide_) return;
  wide_ = true;
  wide_integers_.reserve(narrow_.size() + 1);
  for (const std::int32_t value : narrow_) wide_integers_.push_back(value);
  narrow_.clear();
}

bool ColumnBuilder::exact_in_float() const {
  for (const std::int64_t value : wide_integers_)
    if (!has_exact_float(value)) return false;
  return true;
}

void ColumnBuilder::integers_to_floats() {
  const std::size_t count = rows();
  floats_.reserve(count);
  for (std::size_t row = 0; row < count; ++row)
    floats_.push_back(static_cast<double>(wide_ ? wide_integers_[row] : narrow_[row]));
  narrow_.clear();
  wide_integers_.clear();
  kind_ = Kind::kFloat;
}

std::string ColumnBuilder::written(std::size_t row) const {
  if (kind_ == Kind::kBoolean) return std::string(kTruths[truths_[row]]);
  return std::to_string(wide_ ? wide_integers_[row] : narrow_[row]);
}

void ColumnBuilder::to_strings(Dictionary& dictionary) {
  const std::size_t count = rows();
  if (kind_ == Kind::kFloat || retouched_) {
    must_reread_ = true;
    empty_rows_ = count;
    kind_ = Kind::kString;
    return drop_values();
  }
  Growing<std::uint32_t> codes;
  codes.reserve(count);
  for (std::size_t row = 0; row < count; ++row) {
    if (row % kAtOnce == 0) dictionary.check();
    if (!absent_.empty() && absent_[row] == kMissing) {
      codes.push_back(0);
    } else if (!absent_.empty() && absent_[row] == kEmptyQuotes) {
      codes.push_back(dictionary.code(""));
      absent_[row] = kThere;
    } else {
      codes.push_back(dictionary.code(written(row)));
    }
  }
  drop_values();
  codes_ = std::move(codes);
  kind_ = Kind::kString;
}

void ColumnBuilder::drop_values() {
  narrow_.clear();
  wide_integers_.clear();
  floats_.clear();
  truths_.clear();
  if (must_reread_) absent_.clear();
}

void ColumnBuilder::widen(Kind kind, Dictionary& dictionary) {
  if (kind == kind_ || must_reread_) return;
  if (kind_ == Kind::kEmpty) return begin_kind(kind, dictionary);
  kind == Kind::kFloat ? integers_to_floats() : to_strings(dictionary);
}

Kind ColumnBuilder::common_kind(const ColumnBuilder& a, const ColumnBuilder& b) {
  if (a.kind_ == b.kind_ || b.kind_ == Kind::kEmpty) return a.kind_;
  if (a.kind_ == Kind::kEmpty) return b.kind_;
  if (a.kind_ == Kind::kInteger && b.kind_ == Kind::kFloat && a.exact_in_float()) return Kind::kFloat;
  if (a.kind_ == Kind::kFloat && b.kind_ == Kind::kInteger && b.exact_in_float()) return Kind::kFloat;
  return Kind::kString;
}

void ColumnBuilder::append(ColumnBuilder& other, const Growing<std::uint32_t>& code_of_others) {
  if (must_reread_ || other.must_reread_) {
    const std::size_t count = rows() + other.rows();
    must_reread_ = true;
    empty_rows_ = count;
    kind_ = Kind::kString;
    codes_.clear();
    return drop_values();
  }
  if (!absent_.empty() || !other.absent_.empty()) {
    if (absent_.empty()) absent_.append_copies(rows(), kThere);
    if (other.absent_.empty()) {
      absent_.append_copies(other.rows(), kThere);
    } else {
      absent_.append(other.absent_.data(), other.absent_.size());
    }
  }
  retouched_ = retouched_ || other.retouched_;
  if (wide_ || other.wide_) {
    make_wide();
    other.make_wide();
  }
  empty_rows_ += other.empty_rows_;
  narrow_.append(other.narrow_.data(), other.narrow_.size());
  wide_integers_.append(other.wide_integers_.data(), other.wide_integers_.size());
  floats_.append(other.floats_.data(), other.floats_.size());
  truths_.append(other.truths_.data(), other.truths_.size());
  codes_.reserve(codes_.size() + other.codes_.size());
  for (const std::uint32_t code : other.codes_)
    codes_.push_back(code_of_others.empty() ? 0 : code_of_others[code]);
}

void ColumnBuilder::settle_missing() {
  for (std::uint8_t& absence : absent_) absence = absence == kThere ? 0 : 1;
}

void ColumnBuilder::recode(const Growing<std::uint32_t>& new_code, const Workers& workers) {
  if (new_code.empty()) return;
  for (std::size_t row = 0; row < codes_.size(); ++row) {
    if (row % kAtOnce == 0) workers.check();
    codes_[row] = new_code[codes_[row]];
  }
}

}  // namespace motiflux::text
