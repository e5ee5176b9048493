#include "text/updates.hpp"

#include <algorithm>
#include <cmath>

#include "text/moment.hpp"
#include "text/number.hpp"
#include "text/utf8.hpp"

namespace motiflux::text {
namespace {

constexpr std::size_t kSkipsReported = 8;
constexpr const char* kInteger = "an integer";

std::optional<bool> parse_op(std::string_view token) {
  for (const char* insert : {"+", "e", "insert", "add", "1"})
    if (token == insert) return true;
  for (const char* erase : {"-", "-e", "delete", "remove", "-1"})
    if (token == erase) return false;
  return std::nullopt;
}

}  // namespace

UpdateParser::UpdateParser(Options options)
    : options_(std::move(options)),
      line_(options_.line),
      taken_line_(options_.line),
      taken_offset_(options_.offset) {
  for (std::size_t which = 0; which < settled_.size(); ++which)
    settled_[which] = options_.forms[which] != Form::kOpen;
}

void UpdateParser::feed(std::string_view chunk) {
  // Keeps the text of the current batch, in case it has to be read again.
  buffer_.erase(0, begin_);
  at_ -= begin_;
  begin_ = 0;
  buffer_.append(chunk);
}

bool UpdateParser::fill(std::size_t most) {
  for (;;) {
    try {
      std::string_view record;
      while (batch_.size() < most && !batch_.error && next_record(record)) {
        const std::array<Form, 3> forms = options_.forms;
        try {
          take_record(record);
        } catch (const ParseError& error) {
          options_.forms = forms;  // a refused line does not decide the forms
          refuse(record, error);
        }
      }
      return batch_.size() >= most || batch_.error;
    } catch (const Again&) {
      begin_again();
    }
  }
}

UpdateBatch UpdateParser::take() {
  if (options_.skips) batch_.raw = raw();
  pass_batch();
  return std::exchange(batch_, {});
}

void UpdateParser::drop() {
  pass_batch();
  batch_ = {};
  for (Dictionary& names : names_)
    if (names.size() > 0) names = {};
}

// Goes on behind the batch.
void UpdateParser::pass_batch() {
  for (std::size_t which = 0; which < settled_.size(); ++which)
    settled_[which] = options_.forms[which] != Form::kOpen;
  taken_times_ = times_;
  taken_line_ = line_;
  taken_offset_ += static_cast<std::int64_t>(at_ - begin_);
  begin_ = at_;
  named_.clear();
}

// Takes the next complete record out of the buffer.
bool UpdateParser::next_record(std::string_view& record) {
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  if (rest.empty()) return false;
  std::size_t bytes = 0;
  if (!options_.layout || !options_.layout->quotes) {
    const std::size_t end = rest.find('\n');
    bytes = end == std::string_view::npos ? 0 : end + 1;
  } else {
    bytes = first_record_end(rest, *options_.layout);
  }
  if (bytes == 0) {
    if (rest.size() <= kMaxLineBytes && !ended_) return false;
    // An unclosed quote would include all text that follows: if lines are skipped, only the quote's line is
    // skipped.
    const std::size_t end = rest.find('\n');
    bytes = end == std::string_view::npos || !options_.skips ? rest.size() : end + 1;
  }
  record = rest.substr(0, bytes);
  at_ += bytes;
  return true;
}

void UpdateParser::take_record(std::string_view record) {
  record_line_ = line_ + 1;
  const bool first =
      taken_offset_ + static_cast<std::int64_t>(at_ - begin_) == static_cast<std::int64_t>(record.size());
  if (first && record.starts_with("\xef\xbb\xbf")) record.remove_prefix(3);
  if (options_.layout) return take_fields(record);
  ++line_;
  check_record(record.size(), record_line_);
  if (record.ends_with('\n')) record.remove_suffix(1);
  if (record.ends_with('\r')) record.remove_suffix(1);
  take_line(record);
}

void UpdateParser::take_line(std::string_view line) {
  const Fields fields = split_fields(line);
  if (fields.count == 0 || is_comment(fields)) return;
  const std::string_view kind = fields.token[0];
  if (kind == "v") {
    if (fields.count != 3) fail(record_line_, "record", line, "'v id label'");
    return take_vertex(fields.token[1], fields.token[2]);
  }
  if (kind != "e" && kind != "-e") fail(record_line_, "record type", kind, "'v', 'e' or '-e'");
  if (fields.count != 3 && fields.count != 4)
    fail(record_line_, "record", line, "'" + std::string(kind) + " source target [label]'");
  take_edge(kind == "e", fields.token[1], fields.token[2],
            fields.count == 4 ? std::optional(fields.token[3]) : std::nullopt, std::nullopt);
}

void UpdateParser::take_fields(std::string_view record) {
  using C = UpdateColumns;
  std::array<std::string_view, C::kParts> parts{};
  const char* at = record.data();
  const char* const end = at + record.size();
  const auto keep = [&](std::size_t position, std::string_view field, bool quoted) {
    for (std::size_t part = 0; part < C::kParts; ++part) {
      if (options_.columns.field[part] != static_cast<int>(position)) continue;
      if (quoted && field.data() == unquoted_.data()) field = owned_[part] = field;
      parts[part] = quoted ? field : trimmed(field);
    }
  };
  std::int64_t line = line_;
  line_ +=
      static_cast<std::int64_t>(std::count(record.begin(), record.end(), '\n')) + !record.ends_with('\n');
  const std::size_t found = split_record(at, end, *options_.layout, line, unquoted_, keep);
  check_record(record.size(), record_line_);
  if (found == 0) return;
  if (found != options_.width) {
    throw ParseError(record_line_, "found " + std::to_string(found) + (found == 1 ? " field" : " fields") +
                                       ", expected " + std::to_string(options_.width) +
                                       options_.width_reason);
  }
  const auto there = [&](C::Part part) { return options_.columns.field[part] >= 0; };
  const auto op = there(C::kOp) ? parse_op(parts[C::kOp]) : std::optional(true);
  if (!op) fail(record_line_, options_.columns.name[C::kOp], parts[C::kOp], "'+' or '-'");
  const bool labelled = there(C::kLabel);
  // The labels of the ends are given before the update; they are checked before any part is taken.
  std::array<std::pair<std::int64_t, std::int64_t>, 2> named;
  std::size_t names = 0;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto part = static_cast<C::Part>(C::kSourceLabel + side);
    if (!there(part) || parts[part].empty()) continue;
    const auto id = static_cast<C::Part>(C::kSource + side);
    const std::int64_t number = value(kIds, parts[id], options_.columns.name[id]);
    named[names++] = {number, value(kVertexLabels, parts[part], options_.columns.name[part])};
  }
  const auto before = static_cast<std::int64_t>(batch_.size());
  take_edge(*op, parts[C::kSource], parts[C::kTarget],
            labelled ? std::optional(parts[C::kLabel]) : std::nullopt,
            there(C::kTime) ? std::optional(parts[C::kTime]) : std::nullopt);
  for (std::size_t i = 0; i < names; ++i) {
    // If lines may still be skipped, each line gives the labels of its ends.
    if (!options_.skips && !named_.insert(named[i]).second) continue;
    batch_.vertex.push_back(named[i].first);
    batch_.vertex_label.push_back(named[i].second);
    batch_.vertex_before.push_back(before);
    batch_.vertex_line.push_back(record_line_);
  }
}

void UpdateParser::take_edge(bool inserts, std::string_view source, std::string_view target,
                             std::optional<std::string_view> label, std::optional<std::string_view> time) {
  const auto& name = options_.columns.name;
  const std::int64_t from = value(kIds, source, name[UpdateColumns::kSource]);
  const std::int64_t to = value(kIds, target, name[UpdateColumns::kTarget]);
  std::int64_t number = 0;
  if (label && !label->empty()) {
    number = value(kEdgeLabels, *label, name[UpdateColumns::kLabel]);
  } else if (options_.forms[kEdgeLabels] == Form::kNames) {
    throw ParseError(record_line_, "found an edge without a label, expected a name as other edges have");
  }
  if (time) push_time(*time);
  // A missing label is the label 0: later names would not be consistent with it.
  if (options_.forms[kEdgeLabels] == Form::kOpen) options_.forms[kEdgeLabels] = Form::kIntegers;
  if (label && batch_.label.empty()) batch_.label.append_copies(batch_.size(), 0);
  if (label || !batch_.label.empty()) batch_.label.push_back(number);
  batch_.inserts.push_back(inserts);
  batch_.source.push_back(from);
  batch_.target.push_back(to);
  batch_.line.push_back(record_line_);
}

void UpdateParser::take_vertex(std::string_view id, std::string_view label) {
  const std::int64_t vertex = value(kIds, id, "vertex id");
  const std::int64_t number = value(kVertexLabels, label, "vertex label");
  batch_.vertex.push_back(vertex);
  batch_.vertex_label.push_back(number);
  batch_.vertex_before.push_back(static_cast<std::int64_t>(batch_.size()));
  batch_.vertex_line.push_back(record_line_);
}

// The last step of an update that can fail.
void UpdateParser::push_time(std::string_view token) {
  const std::string& what = options_.columns.name[UpdateColumns::kTime];
  std::int64_t whole;
  if (times_ != Times::kDates && canonical_integer(token, whole)) {
    times_ = Times::kNumbers;
    if (batch_.fraction.empty()) return batch_.time.push_back(whole);
    return batch_.fraction.push_back(static_cast<double>(whole));
  }
  if (times_ != Times::kNumbers) {
    if (const auto moment = parse_moment(token)) {
      times_ = Times::kDates;
      return batch_.time.push_back(*moment);
    }
  }
  if (times_ == Times::kDates)
    fail(record_line_, what, token, "a date as others have, within 146 years of 1970");
  const auto fraction = parse_decimal(token);
  if (!fraction || !std::isfinite(*fraction)) {
    fail(record_line_, what, token,
         times_ == Times::kNumbers ? "a number" : "a number, or a date such as 2026-11-21T16:00:00Z");
  }
  times_ = Times::kNumbers;
  for (const std::int64_t moment : batch_.time) batch_.fraction.push_back(static_cast<double>(moment));
  batch_.time.clear();
  batch_.fraction.push_back(*fraction);
}

std::int64_t UpdateParser::value(Which which, std::string_view token, const std::string& what) {
  Form& form = options_.forms[which];
  std::int64_t integer;
  if (form != Form::kNames && canonical_integer(token, integer)) {
    form = Form::kIntegers;
    return integer;
  }
  if (token.empty())
    throw ParseError(record_line_, what + ": found an empty field, expected an integer or a name");
  if (form == Form::kOpen) form = Form::kNames;
  if (form == Form::kNames) return name(which, token, what);
  if (settled_[which]) fail(record_line_, what, token, std::string(kInteger) + ", as the others are");
  form = Form::kNames;
  throw Again();
}

std::int64_t UpdateParser::name(Which which, std::string_view token, const std::string& what) {
  // Before it is numbered: refused text leaves no trace.
  if (!is_utf8(token)) fail(record_line_, what, token, "text in UTF-8");
  if (token.find('\0') != std::string_view::npos) fail(record_line_, what, token, "a name without NUL bytes");
  return names_[which].code(token);
}

void UpdateParser::refuse(std::string_view record, const ParseError& error) {
  if (!options_.skips) {
    batch_.error = error;
    // The record is not taken: the next call reads it again.
    at_ -= record.size();
    line_ = record_line_ - 1;
    return;
  }
  // A stray quote made several lines one record: only the first line is skipped.
  const std::size_t end = record.find('\n');
  if (end != std::string_view::npos) {
    at_ -= record.size() - (end + 1);
    line_ = record_line_;
  }
  ++batch_.skips;
  if (batch_.skipped.size() < kSkipsReported) batch_.skipped.emplace_back(record_line_, error.what());
}

void UpdateParser::begin_again() {
  batch_ = {};
  for (Dictionary& names : names_) names = {};
  named_.clear();
  times_ = taken_times_;
  at_ = begin_;
  line_ = taken_line_;
}

}  // namespace motiflux::text
