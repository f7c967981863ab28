// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <cstdint>

// The parts of these reductions in tutti/compiled.cpp, which linked units need not compile: kernels for likely element
// types.
namespace tutti::inline v0_1_0 {

TUTTI_COMPILED template struct detail::payload::code_of<sum<float>>;
TUTTI_COMPILED template struct detail::payload::code_of<sum<double>>;
TUTTI_COMPILED template struct detail::payload::code_of<sum<std::int32_t>>;
TUTTI_COMPILED template struct detail::payload::code_of<sum<std::int64_t>>;
TUTTI_COMPILED template struct detail::payload::code_of<prod<float>>;
TUTTI_COMPILED template struct detail::payload::code_of<prod<double>>;
TUTTI_COMPILED template struct detail::payload::code_of<prod<std::int32_t>>;
TUTTI_COMPILED template struct detail::payload::code_of<prod<std::int64_t>>;
TUTTI_COMPILED template struct detail::payload::code_of<min<float>>;
TUTTI_COMPILED template struct detail::payload::code_of<min<double>>;
TUTTI_COMPILED template struct detail::payload::code_of<min<std::int32_t>>;
TUTTI_COMPILED template struct detail::payload::code_of<min<std::int64_t>>;
TUTTI_COMPILED template struct detail::payload::code_of<max<float>>;
TUTTI_COMPILED template struct detail::payload::code_of<max<double>>;
TUTTI_COMPILED template struct detail::payload::code_of<max<std::int32_t>>;
TUTTI_COMPILED template struct detail::payload::code_of<max<std::int64_t>>;
TUTTI_COMPILED template struct detail::payload::code_of<mean<float>>;
TUTTI_COMPILED template struct detail::payload::code_of<mean<double>>;

}  // namespace tutti
