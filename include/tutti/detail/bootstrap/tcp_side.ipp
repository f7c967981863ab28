// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/tcp_side.hpp>
#include <tutti/extend/packing.hpp>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL std::string tcp_hello::encode() const {
  return packer().number(version).number(rank).number(size).text(job).text(detail::encode(process)).take();
}
TUTTI_DECL bool tcp_hello::decode(std::string_view bytes) {
  unpacker u(bytes);
  bool const has_version = u.number() == version;
  rank = u.number_as<rank_type>();
  size = u.number_as<rank_type>();
  job = u.text();
  return detail::decode(u.text(), process) && u.is_complete() && has_version;
}

TUTTI_DECL std::string text_of_world(std::string_view job, rank_type size) {
  return packer().text(job).number(size).take();
}

}  // namespace tutti::detail::bootstrap
