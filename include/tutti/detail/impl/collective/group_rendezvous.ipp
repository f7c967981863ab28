// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/detail/core/message.hpp>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL std::vector<std::string> exchange_in_group(group_calls const& by, std::vector<rank_type> const& members,
                                                      rank_type rank, std::string_view mine) {
  std::vector<std::string> all(members.size());
  all[rank] = mine;
  if (rank != 0) {
    by.put(by.of, members[0], mine);
    for (std::string& text : all) {
      by.get(by.of, members[0], text);
    }
    return all;
  }
  for (rank_type r = 1; r < members.size(); ++r) {
    by.get(by.of, members[r], all[r]);
  }
  for (rank_type r = 1; r < members.size(); ++r) {
    for (std::string const& text : all) {
      by.put(by.of, members[r], text);
    }
  }
  return all;
}

TUTTI_DECL std::string name_of_group(std::string const& parent, std::vector<rank_type> const& members) {
  std::string text = parent + "/ranks";
  for (rank_type const r : members) {
    append(text, {" ", r});
  }
  return text;
}

}  // namespace tutti::detail
