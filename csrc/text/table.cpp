#include "text/table.hpp"

#include <algorithm>
#include <utility>

#include "common/parallel.hpp"

namespace motiflux::text {
namespace {

// Smaller chunks are not worth a thread.
constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
// If more strings are distinct, merging chunks costs what parsing them in parallel saves.
constexpr std::size_t kRowsPerString = 4;

std::size_t count_dictionaries(const std::vector<ColumnSpec>& specs) {
  std::size_t count = 0;
  for (const ColumnSpec& spec : specs) count = std::max(count, spec.dictionary + 1);
  return count;
}

std::string counted_fields(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " field" : " fields");
}

}  // namespace

TableParser::Chunk::Chunk(const std::vector<ColumnSpec>& specs, std::int64_t lines_before)
    : dictionaries(count_dictionaries(specs)), lines(lines_before) {
  for (const ColumnSpec& spec : specs) columns.emplace_back(spec);
}

TableParser::TableParser(Layout layout, Shape shape, std::vector<ColumnSpec> specs, int threads)
    : layout_(layout),
      shape_(std::move(shape)),
      specs_(std::move(specs)),
      column_at_(shape_.width, -1),
      next_at_(specs_.size(), -1),
      threads_(threads),
      all_(specs_, shape_.lines_before) {
  for (std::size_t i = 0; i < specs_.size(); ++i)
    next_at_[i] = std::exchange(column_at_.at(specs_[i].position), static_cast<int>(i));
}

void TableParser::stop_on(const std::atomic<bool>* stop) {
  for (Dictionary& dictionary : all_.dictionaries) dictionary.stop_on(stop);
}

void TableParser::feed(std::string_view chunk, const std::atomic<bool>* stop) {
  stop_on(stop);
  if (!carry_.empty()) {
    const std::size_t end = first_record_end(chunk, layout_, within_);
    hold(chunk.substr(0, end == 0 ? chunk.size() : end));
    if (end == 0) return;
    const std::string whole = std::exchange(carry_, {});
    take_records(whole);
    chunk.remove_prefix(end);
  }
  const std::size_t end = last_record_end(chunk, layout_);
  take_records(chunk.substr(0, end));
  hold(chunk.substr(end));
}

// Refuses a record that grows without an end; the error names a stray quote in it, if any.
void TableParser::hold(std::string_view part) {
  within_ = end_of(part, layout_, carry_.empty() ? Within::kStart : within_);
  carry_.append(part);
  if (carry_.size() <= kMaxLineBytes) return;
  Chunk unused(specs_, all_.lines);
  parse(carry_, unused);
  check_record(carry_.size(), all_.lines + 1);
}

void TableParser::take_records(std::string_view records) {
  const std::size_t chunks = std::min<std::size_t>(records.size() / kChunkBytes, threads_);
  chunks > 1 ? parse_in_parallel(records, chunks) : parse(records, all_);
}

void TableParser::parse_in_parallel(std::string_view records, std::size_t count) {
  std::vector<std::string_view> texts;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t target = std::max(begin, records.size() / count * i);
    const Within within = end_of(records.substr(begin, target - begin), layout_);
    const std::size_t end = target + first_record_end(records.substr(target), layout_, within);
    texts.push_back(records.substr(begin, end - begin));
    begin = end;
  }
  texts.push_back(records.substr(begin));
  std::vector<Chunk> chunks;
  chunks.reserve(count);
  for (std::size_t i = 0; i < count; ++i) chunks.emplace_back(specs_, 0);
  std::atomic<std::size_t> next{0};
  on_threads(static_cast<int>(count), [&](int) {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        parse(texts[i], chunks[i]);
      } catch (const ParseError& error) {
        chunks[i].error = error;
      }
    }
  });
  for (Chunk& chunk : chunks) append(chunk);
}

void TableParser::parse(std::string_view records, Chunk& chunk) const {
  const char* at = records.data();
  const char* const end = at + records.size();
  std::string unquoted;
  while (at != end) {
    const char* const begin = at;
    const std::int64_t line = chunk.lines + 1;
    const auto take = [&](std::size_t position, std::string_view field, bool quoted) {
      int column = position < column_at_.size() ? column_at_[position] : -1;
      for (; column >= 0; column = next_at_[static_cast<std::size_t>(column)]) {
        const auto index = static_cast<std::size_t>(column);
        chunk.columns[index].take(field, quoted, line, chunk.dictionaries[specs_[index].dictionary]);
      }
    };
    const std::size_t found = split_record(at, end, layout_, chunk.lines, unquoted, take);
    check_record(static_cast<std::size_t>(at - begin), line);
    if (found == 0) continue;
    check_width(found, line);
    ++chunk.rows;
  }
}

void TableParser::check_width(std::size_t found, std::int64_t line) const {
  if (found == shape_.width) return;
  throw ParseError(line, "found " + counted_fields(found) + ", expected " + std::to_string(shape_.width) +
                             shape_.width_reason);
}

void TableParser::append(Chunk& chunk) {
  if (chunk.error) throw ParseError(all_.lines + chunk.error->line, chunk.error->what());
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    ColumnBuilder& here = all_.columns[i];
    ColumnBuilder& there = chunk.columns[i];
    const Kind kind = ColumnBuilder::common_kind(here, there);
    here.widen(kind, all_.dictionaries[specs_[i].dictionary]);
    there.widen(kind, chunk.dictionaries[specs_[i].dictionary]);
  }
  std::vector<Growing<std::uint32_t>> new_codes(chunk.dictionaries.size());
  for (std::size_t i = 0; i < new_codes.size(); ++i) {
    const Dictionary& strings = chunk.dictionaries[i];
    new_codes[i].reserve(strings.size());
    for (std::size_t code = 0; code < strings.size(); ++code)
      new_codes[i].push_back(all_.dictionaries[i].code(strings.at(code)));
  }
  for (std::size_t i = 0; i < specs_.size(); ++i)
    all_.columns[i].append(chunk.columns[i], new_codes[specs_[i].dictionary]);
  std::size_t strings = 0;
  for (const Dictionary& dictionary : chunk.dictionaries) strings += dictionary.size();
  if (strings > chunk.rows / kRowsPerString) threads_ = 1;
  all_.rows += chunk.rows;
  all_.lines += chunk.lines;
}

Table TableParser::finish(const std::atomic<bool>* stop) {
  const Workers workers{1, stop};
  stop_on(stop);
  const std::string rest = std::exchange(carry_, {});
  take_records(rest);
  share_kinds();
  Table table;
  table.rows = all_.rows;
  table.lines = all_.lines;
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (all_.columns[i].must_reread()) table.reread.push_back(i);
  if (!table.reread.empty()) return table;
  std::vector<Growing<std::uint32_t>> places(all_.dictionaries.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    table.dictionaries.push_back(all_.dictionaries[i].take_sorted(places[i], stop));
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    workers.check();
    all_.columns[i].recode(places[specs_[i].dictionary], workers);
    all_.columns[i].settle_missing();
  }
  table.columns = std::move(all_.columns);
  return table;
}

void TableParser::share_kinds() {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    for (std::size_t other = 0; other < specs_.size(); ++other) {
      if (other == i || specs_[other].dictionary != specs_[i].dictionary) continue;
      if (all_.columns[other].kind() == Kind::kString)
        all_.columns[i].widen(Kind::kString, all_.dictionaries[specs_[i].dictionary]);
    }
  }
}

}  // namespace motiflux::text
