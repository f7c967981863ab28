// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/detail/base/message.hpp>
#include <tutti/extend/packing.hpp>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL std::vector<std::string> exchange_in_group(group_calls const& calls, std::vector<rank_type> const& members,
                                                      rank_type rank, std::string_view own_text) {
  auto const size = static_cast<rank_type>(members.size());
  std::vector<std::string> texts{std::string(own_text)};
  std::string table;
  // Up the tree: a member collects the texts of the members from its own number on, twice as many in each round, until
  // the round in which it sends them to its parent.
  rank_type span = 1;
  for (; span < size && rank % (2 * span) == 0; span *= 2) {
    if (rank + span < size) {
      calls.receive(calls.object, members[rank + span], table);
      for (std::string& text : unpacker(table).texts()) {
        texts.push_back(std::move(text));
      }
    }
  }
  if (rank != 0) {
    calls.send(calls.object, members[rank - span], packer().texts(texts).take());
    calls.receive(calls.object, members[rank - span], table);
    texts = unpacker(table).texts();
  } else {
    table = packer().texts(texts).take();
  }
  // Down the tree: every member receives the whole table, those with the largest subtrees first.
  while (span > 1) {
    span /= 2;
    if (rank + span < size) {
      calls.send(calls.object, members[rank + span], table);
    }
  }
  return texts;
}

TUTTI_DECL std::string name_of_group(std::string const& parent, std::vector<rank_type> const& members) {
  std::string text = parent + "/ranks";
  for (rank_type const r : members) {
    append(text, {" ", r});
  }
  return text;
}

}  // namespace tutti::detail
