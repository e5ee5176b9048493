// Draws that name no part are those of part 0: graphs and samples of a seed stay the same.
#include <cstdint>
#include <initializer_list>

#include "check.hpp"
#include "motiflux/random/philox.hpp"

int main() {
  for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1} << 40}) {
    const auto drawn = motiflux::random::draw(7, 3, index), same = motiflux::random::draw(7, 3, index, 0);
    const auto other = motiflux::random::draw(7, 3, index, 1);
    bool differs = false;
    for (int at = 0; at < 4; ++at) {
      CHECK(drawn.word[at] == same.word[at]);
      differs |= drawn.word[at] != other.word[at];
    }
    CHECK(differs);
  }
}
