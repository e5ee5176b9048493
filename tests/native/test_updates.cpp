// The parser of streams of updates takes whatever it is fed, in pieces of any size, and always says the same.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "text/moment.hpp"
#include "text/updates.hpp"

namespace {

namespace text = motiflux::text;
using text::UpdateParser;
using Draw = std::mt19937;

struct Outcome {
  std::vector<std::int64_t> numbers;  // lines, flags, times
  std::vector<std::string> names;     // of ids: the sources, then the targets
  std::vector<std::pair<std::int64_t, std::string>> skipped;
  std::int64_t skips = 0, line = 0, offset = 0, error_line = 0;
  std::string error;

  bool operator==(const Outcome&) const = default;
};

std::string name_of(std::int64_t value, const text::Strings& names, bool named) {
  if (!named) return std::to_string(value);
  CHECK(value >= 0 && value < static_cast<std::int64_t>(names.size()));
  return std::string(names.at(static_cast<std::size_t>(value)));
}

void take(UpdateParser& parser, Outcome& outcome) {
  const text::UpdateBatch batch = parser.take();
  const std::size_t size = batch.size();
  CHECK(batch.source.size() == size && batch.target.size() == size && batch.line.size() == size);
  CHECK(batch.label.empty() || batch.label.size() == size);
  CHECK(batch.time.empty() || batch.fraction.empty());
  CHECK(batch.vertex.size() == batch.vertex_label.size() &&
        batch.vertex.size() == batch.vertex_before.size());
  CHECK(batch.vertex.size() == batch.vertex_line.size());
  const bool named = parser.form(0) == text::Form::kNames;
  const text::Strings names = parser.take_names(0);
  parser.take_names(1);
  parser.take_names(2);
  for (std::size_t i = 0; i < size; ++i) {
    outcome.numbers.push_back(batch.line[i]);
    outcome.numbers.push_back(batch.inserts[i]);
    outcome.names.push_back(name_of(batch.source[i], names, named));
    outcome.names.push_back(name_of(batch.target[i], names, named));
    if (parser.has_dates()) outcome.numbers.push_back(batch.time[i]);
  }
  for (std::size_t i = 0; i < batch.vertex.size(); ++i) {
    CHECK(batch.vertex_before[i] >= 0 && batch.vertex_before[i] <= static_cast<std::int64_t>(size));
    outcome.names.push_back("v " + name_of(batch.vertex[i], names, named));
  }
  outcome.skips += batch.skips;
  outcome.skipped.insert(outcome.skipped.end(), batch.skipped.begin(), batch.skipped.end());
  if (batch.error) {
    outcome.error_line = batch.error->line;
    outcome.error = batch.error->what();
  }
}

// Feeds all in pieces of at most `piece` bytes; takes batches of at most `most` updates.
Outcome parsed(const UpdateParser::Options& options, std::string_view data, Draw& draw, std::size_t piece,
               std::size_t most) {
  UpdateParser parser(options);
  Outcome outcome;
  while (!data.empty() && outcome.error.empty()) {
    // A copy that ends where the piece ends, so that reading beyond it is seen.
    const std::vector<char> chunk(data.begin(), data.begin() + std::min(data.size(), draw() % piece + 1));
    data.remove_prefix(chunk.size());
    parser.feed({chunk.data(), chunk.size()});
    while (outcome.error.empty() && parser.fill(most)) take(parser, outcome);
  }
  if (outcome.error.empty()) {
    parser.end();
    while (outcome.error.empty() && parser.fill(most)) take(parser, outcome);
    take(parser, outcome);
  }
  outcome.line = parser.line();
  outcome.offset = parser.offset();
  return outcome;
}

UpdateParser::Options lines(bool skips) {
  UpdateParser::Options options;
  options.skips = skips;
  for (std::string& name : options.columns.name) name = "field";
  return options;
}

UpdateParser::Options table(bool skips, bool quotes) {
  UpdateParser::Options options = lines(skips);
  options.layout = text::Layout{};
  options.layout->separator = ',';
  options.layout->quotes = quotes;
  options.columns.field = {0, 1, 2, 3, 4, 5, 6};
  options.width = 7;
  return options;
}

std::string some_token(Draw& draw) {
  static const std::vector<std::string> kTokens = {"e",
                                                   "-e",
                                                   "v",
                                                   "+",
                                                   "-",
                                                   "1",
                                                   "2",
                                                   "17",
                                                   "-1",
                                                   "ann",
                                                   "bob",
                                                   "\"a,b\"",
                                                   "\"",
                                                   "\"\"",
                                                   "\"x\ny\"",
                                                   "",
                                                   "9223372036854775807",
                                                   "9223372036854775808",
                                                   "-9223372036854775808",
                                                   "99999999999999999999999999",
                                                   "1e308",
                                                   "1e309",
                                                   "-1e-400",
                                                   "0.1",
                                                   "nan",
                                                   "inf",
                                                   "00",
                                                   "\xff\xfe",
                                                   "\xed\xa0\x80",
                                                   "\xef\xbb\xbf",
                                                   "#",
                                                   "2026-11-21",
                                                   "2026-11-21T10:00:00.123456789+23:59",
                                                   "2026-02-30",
                                                   "1677-01-01",
                                                   "9999-12-31T23:59:59",
                                                   std::string("a\0b", 3),
                                                   std::string(200, 'x'),
                                                   std::string(40, '9')};
  return kTokens[draw() % kTokens.size()];
}

std::string some_text(Draw& draw, char separator) {
  static const std::vector<std::string> kEnds = {"\n", "\r\n", "\n\n", "\n", "\n"};
  std::string made;
  const std::size_t count = draw() % 12;
  for (std::size_t i = 0; i < count; ++i) {
    if (draw() % 3 == 0) {
      made += separator == ',' ? "+,1,2,3,2026-01-01T00:00,,\n" : "e 1 2\n";
      continue;
    }
    const std::size_t fields = draw() % 9;
    for (std::size_t field = 0; field < fields; ++field) {
      if (field > 0) made += separator;
      made += some_token(draw);
    }
    made += kEnds[draw() % kEnds.size()];
  }
  if (draw() % 4 == 0) made.resize(draw() % (made.size() + 1));  // cut short
  if (!made.empty() && draw() % 4 == 0) made[draw() % made.size()] = static_cast<char>(draw());
  return made;
}

std::string some_bytes(Draw& draw) {
  std::string made(draw() % 400, '\0');
  for (char& byte : made) byte = draw() % 5 == 0 ? '\n' : static_cast<char>(draw());
  return made;
}

void pieces_are_no_matter(const UpdateParser::Options& options, const std::string& data, Draw& draw) {
  // What ids are is settled with the first batch: batches are as large as the whole here.
  const std::size_t whole = data.size() + 1;
  const Outcome expected = parsed(options, data, draw, whole, whole);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100}})
    CHECK(parsed(options, data, draw, piece, whole) == expected);
  CHECK(expected.offset <= static_cast<std::int64_t>(data.size()));
  if (options.skips) {
    CHECK(expected.error.empty());
    CHECK(expected.offset == static_cast<std::int64_t>(data.size()));
    const auto ends = std::count(data.begin(), data.end(), '\n');
    CHECK(expected.line == ends + (!data.empty() && data.back() != '\n'));
  } else if (!expected.error.empty()) {
    // What is refused is not taken.
    CHECK(expected.error_line == expected.line + 1 || options.layout);
    CHECK(expected.offset < static_cast<std::int64_t>(data.size()));
  }
  Draw other(1);
  parsed(options, data, other, 13, 1 + other() % 3);  // small batches do not crash
}

void long_lines_are_refused_not_kept(Draw& draw) {
  const std::string data = "e 1 2\ne 1 " + std::string(text::kMaxLineBytes + 10, '7') + "\ne 2 3\n";
  const Outcome strict = parsed(lines(false), data, draw, 1 << 16, 100);
  CHECK(strict.error_line == 2 && strict.numbers.size() == 2);
  const Outcome skipping = parsed(lines(true), data, draw, 1 << 16, 100);
  CHECK(skipping.skips >= 1 && skipping.names.front() == "1" && skipping.names.back() == "3");
  const std::string quoted = "+,1,2,3,4,,\n+,\"" + std::string(text::kMaxLineBytes + 10, '\n') + "\n";
  CHECK(parsed(table(false, true), quoted, draw, 1 << 16, 100).error_line == 2);
  CHECK(parsed(table(true, true), quoted, draw, 1 << 16, 100).numbers.size() >= 2);
}

void moments_are_read() {
  using text::parse_moment;
  constexpr std::int64_t kDay = 86'400'000'000'000;
  CHECK(parse_moment("1970-01-01") == 0);
  CHECK(parse_moment("1970-01-02T00:00:00.000000001Z") == kDay + 1);
  CHECK(parse_moment("1969-12-31T23:59:59.5") == -500'000'000);
  CHECK(parse_moment("2000-03-01") == 11'017 * kDay);
  CHECK(parse_moment("1970-01-01T01:00+01:00") == 0);
  for (const std::string_view text :
       {"", "1", "2000-02-30", "1900-02-29", "9999-12-31", "0001-01-01", "2000-01-01T", "2000-01-01T00",
        "2000-01-01T00:00:00.", "2000-01-01T00:00+", "2000-01-01T00:00+1", "2000-01-01T00:00:00.0000000000"})
    CHECK(!parse_moment(text));
  // Every beginning of a moment, in memory that ends with it.
  const std::string whole = "2026-11-21T16:08:14.123456789+05:30";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::vector<char> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    parse_moment({part.data(), part.size()});
  }
}

}  // namespace

int main() {
  moments_are_read();
  Draw draw(7);
  long_lines_are_refused_not_kept(draw);
  for (int round = 0; round < 2000; ++round) {
    const bool skips = draw() % 2 == 0;
    pieces_are_no_matter(lines(skips), some_text(draw, ' '), draw);
    pieces_are_no_matter(table(skips, draw() % 4 != 0), some_text(draw, ','), draw);
    pieces_are_no_matter(lines(skips), some_bytes(draw), draw);
    pieces_are_no_matter(table(skips, true), some_bytes(draw), draw);
  }
}
