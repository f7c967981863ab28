// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/outcome.hpp>
#include <tutti/extend/packing.hpp>

#include <exception>
#include <stdexcept>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL rank_failure current_failure() {
  rank_failure failed_rank;
  try {
    throw;
  } catch (error const& e) {
    failed_rank = rank_failure(e);
  } catch (std::exception const& e) {
    failed_rank.text = e.what();
  } catch (...) {
    failed_rank.text = "an exception that is not a std::exception";
  }
  failed_rank.exception = std::current_exception();
  return failed_rank;
}

TUTTI_DECL rank_failure unwound_failure() {
  return {"its thread was cancelled (pthread_cancel) or has ended itself (pthread_exit)"};
}

TUTTI_DECL std::string encode(rank_failure const& f) {
  auto const& [kind, communicator, operation, sequence, step, self, at_fault] = static_cast<error_facts const&>(f);
  packer p;
  p.text(f.text).number(static_cast<std::uint64_t>(kind)).text(communicator).text(operation);
  p.number(sequence).number(step).number(self).number(at_fault.size());
  for (rank_type const r : at_fault) {
    p.number(r);
  }
  return p.take();
}

TUTTI_DECL bool decode(std::string_view bytes, rank_failure& result) {
  auto& [kind, communicator, operation, sequence, step, self, at_fault] = static_cast<error_facts&>(result);
  unpacker u(bytes);
  result.text = u.text();
  auto const number = u.number();
  kind = static_cast<failure>(number);
  communicator = u.text();
  operation = u.text();
  sequence = u.number();
  step = u.number_as<std::uint32_t>();
  self = u.number_as<rank_type>();
  at_fault.clear();
  for (std::uint64_t count = u.number(); u.good() && count > 0; --count) {
    at_fault.push_back(u.number_as<rank_type>());
  }
  return u.is_complete() && number < failure_kinds;
}

TUTTI_DECL void throw_failure(rank_failure const& failed_rank) {
  if (failed_rank.exception) {
    std::rethrow_exception(failed_rank.exception);
  }
  if (failed_rank.kind == failure::none) {
    throw std::runtime_error(failed_rank.text);
  }
  throw error(static_cast<error_facts const&>(failed_rank), failed_rank.text);
}

}  // namespace tutti::detail
