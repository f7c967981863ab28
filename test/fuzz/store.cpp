// SPDX-License-Identifier: Apache-2.0
//
// The files of a meeting, read by one of three ranks whose folder another process has filled. The number that the rank
// draws is known, so an input may answer it.
#include "fuzz.hpp"
#include "memory_folder.hpp"
#include "virtual_time.hpp"
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/extend/error.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>

/// Draws the number 0123456789abcdef.
extern "C" ssize_t getrandom(void* target, size_t size, unsigned) {
  std::uint64_t const bits = 0xfedcba9876543210;
  std::memcpy(target, &bits, (std::min)(size, sizeof bits));
  return static_cast<ssize_t>(size);
}

using namespace tutti::detail;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static fuzz::memory_folder const store(meeting_folder("fuzz"));
  fuzz::input words(data, size);
  auto const me = static_cast<tutti::rank_type>(words.choice(3));
  std::set<std::string> foreign;
  store.empty();
  while (words.size() != 0) {
    std::string name(words.text().substr(0, 100));
    std::size_t const kind = words.choice(4);
    std::replace(name.begin(), name.end(), '/', '_');
    std::replace(name.begin(), name.end(), '\0', '_');
    if (name.empty() || name == "." || name == "..") {
      continue;
    }
    store.write(name, kind, std::string(words.text()));
    if (store.has(name) && name != "open" && number_in_name(name).empty()) {
      foreign.insert(name);
    }
  }
  {
    fuzz::memory_limit const limit((1U << 18) + 64 * size);
    try {
      file_rendezvous meeting(store.place(), {.rank = me, .size = 3, .job = "fuzz", .patience = {}});
      for (int round = 0; round != 2; ++round) {
        fuzz::expect(meeting.exchange("mine").size() == 3, "there is a text of each rank");
      }
    } catch (tutti::error const& e) {
      fuzz::expect(*e.what() != '\0', "an error says why");
    }
  }
  for (std::string const& name : foreign) {
    fuzz::expect(store.has(name), "no file is removed that no rank made");
  }
  return 0;
}
