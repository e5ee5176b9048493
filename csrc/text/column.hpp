// One column of a table of text; its type is detected while it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "text/dictionary.hpp"
#include "text/growing.hpp"
#include "text/number.hpp"
#include "text/parse.hpp"

namespace motiflux::text {

enum class Kind : std::uint8_t { kEmpty, kBoolean, kInteger, kFloat, kString };

// The values that a column may hold.
enum class Want : std::uint8_t {
  kAnything,    // an attribute: any kind; an empty field is a missing value
  kIdentifier,  // an id or a label: integers or, failing that, strings
  kName,        // an id or a label: strings
  kInteger,     // integers of a range; leading zeros are allowed
  kFloat,       // numbers, as floats
};

struct ColumnSpec {
  std::size_t position = 0;  // among the fields of a record
  std::string what;          // its name in errors
  Want want = Want::kAnything;
  std::size_t dictionary = 0;  // columns of one dictionary give equal strings the same number
  bool strings = false;        // strings from the first row on
  std::int64_t low = 0;        // the range of kInteger
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

// The first value sets the kind and later values widen it without loss: integers among fractions become
// floats if all are exact as floats, else strings, as they were written. If the original text is lost
// (fractions, zeros, blanks), `must_reread` is true: the column has to be read again, as strings from the
// first row on; until then it holds nothing.
class ColumnBuilder {
 public:
  explicit ColumnBuilder(const ColumnSpec& spec);

  void take(std::string_view field, bool quoted, std::int64_t line, Dictionary& dictionary) {
    std::int64_t integer;
    if (kind_ == Kind::kInteger && canonical_integer(field, integer) && in_range(integer)) {
      push_integer(integer);
    } else {
      take_slowly(field, quoted, line, dictionary);
    }
  }

  // The kind that both can be widened to without a loss.
  static Kind common_kind(const ColumnBuilder& a, const ColumnBuilder& b);
  void widen(Kind kind, Dictionary& dictionary);
  // Appends the rows of `other`, which has the same kind.
  void append(ColumnBuilder& other, const Growing<std::uint32_t>& code_of_others);

  // Turns the marks of absence into 1 for missing values and 0 for others.
  void settle_missing();
  // Throws Cancelled after a stop request.
  void recode(const Growing<std::uint32_t>& new_code, const Workers& workers);

  Kind kind() const { return kind_; }
  bool must_reread() const { return must_reread_; }
  std::size_t rows() const;
  bool is_wide() const { return wide_; }

  Growing<std::int32_t>& narrow() { return narrow_; }
  Growing<std::int64_t>& wide() { return wide_integers_; }
  Growing<double>& floats() { return floats_; }
  Growing<std::uint32_t>& codes() { return codes_; }
  Growing<std::uint8_t>& truths() { return truths_; }
  Growing<std::uint8_t>& absent() { return absent_; }

 private:
  enum Absence : std::uint8_t { kThere, kMissing, kEmptyQuotes };

  bool in_range(std::int64_t value) const { return value >= spec_->low && value <= spec_->high; }
  bool takes_numbers_alone() const { return spec_->want == Want::kInteger || spec_->want == Want::kFloat; }

  void push_integer(std::int64_t value) {
    if (!wide_ && value == static_cast<std::int32_t>(value)) {
      narrow_.push_back(static_cast<std::int32_t>(value));
    } else {
      make_wide();
      wide_integers_.push_back(value);
    }
    if (!absent_.empty()) absent_.push_back(kThere);
  }

  void take_slowly(std::string_view field, bool quoted, std::int64_t line, Dictionary& dictionary);
  void take_number(std::string_view field, std::int64_t line);
  void take_identifier(std::string_view field, bool quoted, std::int64_t line, Dictionary& dictionary);
  void take_value(std::string_view field, bool quoted, std::int64_t line, Dictionary& dictionary);
  bool take_typed(std::string_view token, Dictionary& dictionary);
  void push_string(std::string_view field, std::int64_t line, Dictionary& dictionary);
  void push_float(double value);
  void push_absent(Absence absence);
  void push_filler();
  void begin_kind(Kind kind, Dictionary& dictionary);
  void integers_to_floats();
  void to_strings(Dictionary& dictionary);
  std::string written(std::size_t row) const;
  void make_wide();
  bool exact_in_float() const;
  void drop_values();

  const ColumnSpec* spec_;  // outlives the builder
  Kind kind_ = Kind::kEmpty;
  bool wide_ = false;
  bool retouched_ = false;  // a number had blanks around it
  bool must_reread_ = false;
  std::size_t empty_rows_ = 0;  // rows so far of a column without a kind
  Growing<std::int32_t> narrow_;
  Growing<std::int64_t> wide_integers_;
  Growing<double> floats_;
  Growing<std::uint32_t> codes_;
  Growing<std::uint8_t> truths_;  // positions in kTruths
  Growing<std::uint8_t> absent_;  // Absence of each row; empty while none is absent
};

}  // namespace motiflux::text
