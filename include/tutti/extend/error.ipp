// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>

#include <utility>

namespace tutti::inline v0_1_0 {

TUTTI_DECL error::error(failure kind, std::string const& text) : std::runtime_error(text), facts_{.kind = kind} {}
TUTTI_DECL error::error(error_facts facts, std::string const& text)
    : std::runtime_error(text), facts_(std::move(facts)) {}

TUTTI_DECL error::error(error const&) = default;
TUTTI_DECL error::error(error&&) noexcept = default;
TUTTI_DECL error::~error() = default;

TUTTI_DECL error& error::set_ranks(rank_type self, std::vector<rank_type> at_fault) {
  facts_.self = self;
  facts_.at_fault = std::move(at_fault);
  return *this;
}

TUTTI_DECL error detail::blaming(failure kind, std::string const& text, rank_type self, rank_type at_fault) {
  return {{.kind = kind, .self = self, .at_fault = {at_fault}}, text};
}

}  // namespace tutti
