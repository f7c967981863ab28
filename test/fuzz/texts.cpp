// SPDX-License-Identifier: Apache-2.0
//
// The texts that ranks exchange when they meet. The first byte picks one.
#include "fuzz.hpp"
#include "numeric_hosts.hpp"
#include <tutti/detail/bootstrap/tcp_side.hpp>
#include <tutti/detail/communicator/joint_rendezvous.hpp>
#include <tutti/detail/core/core_set.hpp>
#include <tutti/detail/shared_memory/datagram_doorbells.hpp>
#include <tutti/detail/shared_memory/shared_world.hpp>
#include <tutti/detail/tcp/endpoint_info.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/packing.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tutti::detail;

/// Unpacks bytes by a list of actions, and packs what it got.
void unpack(fuzz::input words) {
  std::string_view const actions = words.text();
  std::string_view const bytes = words.rest();
  tutti::unpacker u(bytes);
  tutti::packer again;
  for (char const action : actions) {
    switch (action & 3) {
      case 0:
        again.number(u.number());
        break;
      case 1:
        again.number(u.number_as<std::uint16_t>());
        break;
      case 2:
        again.text(u.text());
        break;
      default:
        again.texts(u.texts());
    }
    if (!u.good()) {
      fuzz::expect(u.number() == 0 && u.text().empty() && u.texts().empty(), "nothing is read behind an error");
      return;
    }
  }
  std::string const copy = again.take();
  fuzz::expect(bytes.starts_with(copy), "what is unpacked is packed to the same bytes");
  fuzz::expect(u.is_complete() == (copy.size() == bytes.size()), "is_complete tells if bytes are left");
}

/// Decodes a value whose encoding is unique.
template <class T>
bool decodes(std::string_view bytes, T& value) {
  bool const is_good = decode(bytes, value);
  fuzz::expect(!is_good || encode(value) == bytes, "what is decoded is encoded to the same bytes");
  return is_good;
}

void read_outcome(std::string_view bytes) {
  tutti::rank_failure f;
  if (!decodes(bytes, f)) {
    return;
  }
  try {
    throw_failure(f);
  } catch (tutti::error const& e) {
    fuzz::expect(e.facts() == static_cast<tutti::error_facts const&>(f), "the facts are those of the failure");
    fuzz::expect(!name(e.kind()).empty(), "the kind has a name");
  } catch (std::runtime_error const&) {
    fuzz::expect(f.kind == tutti::failure::none, "an error without a kind is a runtime_error");
  }
}

void read_joint_texts(fuzz::input words) {
  std::vector<std::string> texts;
  while (words.size() != 0) {
    texts.emplace_back(words.text());
  }
  auto const originals = texts;
  try {
    open_joint_texts(texts, {0});
  } catch (tutti::error const& e) {
    fuzz::expect(!std::string_view(e.what()).empty() || originals[0].starts_with('!'), "an error says why");
    return;
  }
  for (std::size_t r = 0; r != texts.size(); ++r) {
    fuzz::expect(joint_text(texts[r]) == originals[r], "a text is opened to what was put in");
  }
}

void read_endpoints(fuzz::input words) {
  std::vector<std::string> texts;
  try {
    do {
      std::string const text = tcp::endpoint_info::parse(words.text()).text();
      fuzz::expect(tcp::endpoint_info::parse(text).text() == text, "an endpoint's text is read as that endpoint");
      texts.push_back(text);
    } while (words.size() != 0);
    fuzz::expect(tcp::directions_of(texts, net::resolve("127.0.0.1", 0).front(), {}).addresses.size() == texts.size(),
                 "each rank has an address");
  } catch (tutti::error const& e) {
    fuzz::expect(e.kind() == tutti::failure::join, "the kind of an error is join");
  }
}

void read_cores(std::string_view text) {
  core_set cores;
  if (!cores.add(text)) {
    return;
  }
  core_set copy;
  fuzz::expect(copy.add(cores.text()) && copy.text() == cores.text(), "a set's text is read as that set");
}

void read_doorbells(fuzz::input words) {
  std::vector<std::string> addresses;
  do {
    addresses.emplace_back(words.text());
  } while (words.size() != 0);
  static datagram_doorbells bells = [] {
    datagram_doorbells bell;
    static_cast<void>(bell.open("tutti-fuzz-" + std::to_string(::getpid())));
    return bell;
  }();
  try {
    bells.connect(addresses);
  } catch (tutti::error const& e) {
    fuzz::expect(e.at_fault().size() == 1 && e.at_fault()[0] < addresses.size(), "the error names the rank");
  }
}

void read_contact(std::string_view text) {
  try {
    memory_contact const contact = memory_contact::parse(text);
    std::string const again = memory_contact::text(std::string(contact.name), contact.shape);
    fuzz::expect(memory_contact::parse(again).shape.chunk_bytes == contact.shape.chunk_bytes,
                 "a contact's text is read as that contact");
  } catch (tutti::error const& e) {
    fuzz::expect(e.kind() == tutti::failure::join, "the kind of an error is join");
  }
}

void read_hello(std::string_view bytes) {
  tcp_hello h;
  fuzz::expect(!h.decode(bytes) || h.encode() == bytes, "a hello is encoded to the same bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::memory_limit const limit((1U << 16) + 64 * size);
  fuzz::input words(data, size);
  tutti::member process;
  switch (words.choice(9)) {
    case 0:
      unpack(words);
      break;
    case 1:
      static_cast<void>(decodes(words.rest(), process));
      break;
    case 2:
      read_outcome(words.rest());
      break;
    case 3:
      read_joint_texts(words);
      break;
    case 4:
      read_endpoints(words);
      break;
    case 5:
      read_cores(words.rest());
      break;
    case 6:
      read_doorbells(words);
      break;
    case 7:
      read_contact(words.rest());
      break;
    default:
      read_hello(words.rest());
  }
  return 0;
}
