// SPDX-License-Identifier: Apache-2.0
//
// The files of a meeting, read by one of three ranks, with a secret or without, whose folder another process has
// filled. The number that the rank draws is known, so an input may answer it.
#include "fuzz.hpp"
#include "memory_folder.hpp"
#include "virtual_time.hpp"
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/net/proof.hpp>
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

namespace {

tutti::world_secret const& secret() {
  static tutti::world_secret const value = net::make_secret("sixteen or more letters");
  return value;
}

/// Puts a file there as a rank with the secret does; then another program may rename it, or change a byte of it.
/// Returns true if none has.
bool put_proved(fuzz::memory_folder const& store, std::string const& name, std::size_t kind, std::string_view text,
                fuzz::input& words) {
  std::string const folder = meeting_folder("fuzz");
  try {
    directory honest(store.place(), folder, net::proof_key(secret()).derive("store", {folder}));
    if (kind == 7) {
      honest.mark(name);
      return true;
    }
    honest.write(name, text);
  } catch (tutti::error const&) {
    return false;  // a folder has this name
  }
  if (kind == 5) {
    std::string const other(words.text().substr(0, 100));
    if (!other.empty() && other.find_first_of(std::string_view("/\0", 2)) == other.npos) {
      store.rename(name, other);
    }
  } else if (kind == 6) {
    std::size_t const position = words.number(2);
    store.change(name, position, static_cast<char>(1 + words.choice(255)));
  }
  return kind == 4;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static fuzz::memory_folder const store(meeting_folder("fuzz"));
  fuzz::input words(data, size);
  std::size_t const seat = words.choice(6);
  auto const me = static_cast<tutti::rank_type>(seat % 3);
  bool const has_secret = seat >= 3;
  std::set<std::string> foreign;
  std::set<std::string> proved_texts{"mine"};
  std::size_t proved_files = 0;
  store.empty();
  while (words.size() != 0) {
    std::string name(words.text().substr(0, 100));
    std::size_t const kind = words.choice(8);
    std::replace(name.begin(), name.end(), '/', '_');
    std::replace(name.begin(), name.end(), '\0', '_');
    if (name.empty() || name == "." || name == "..") {
      continue;
    }
    std::string const text(words.text());
    if (kind < 4) {
      store.write(name, kind, text);
    } else if (put_proved(store, name, kind, text, words)) {
      proved_texts.insert(text);
      ++proved_files;
    }
    if (store.has(name) && name != "open" && number_in_name(name).empty()) {
      foreign.insert(name);
    }
  }
  {
    fuzz::memory_limit const limit((1U << 18) + 64 * size);
    membership member{.rank = me, .size = 3, .job = "fuzz", .patience = {}};
    if (has_secret) {
      member.secret = secret();
    }
    try {
      file_rendezvous meeting(store.place(), member);
      fuzz::expect(!has_secret || proved_files >= 2, "only ranks with the secret meet");
      for (int round = 0; round != 2; ++round) {
        auto const texts = meeting.exchange("mine");
        fuzz::expect(texts.size() == 3, "there is a text of each rank");
        for (std::string const& text : texts) {
          fuzz::expect(!has_secret || me != 0 || proved_texts.contains(text), "a text is one that a rank has written");
        }
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
