// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <cstdint>

// The parts of these reductions in tutti/compiled.cpp, which linked units need not compile: kernels for likely element
// types.
namespace tutti::inline v0_1_0 {

TUTTI_COMPILED template struct detail::payload::by<sum<float>>;
TUTTI_COMPILED template struct detail::payload::by<sum<double>>;
TUTTI_COMPILED template struct detail::payload::by<sum<std::int32_t>>;
TUTTI_COMPILED template struct detail::payload::by<sum<std::int64_t>>;
TUTTI_COMPILED template struct detail::payload::by<prod<float>>;
TUTTI_COMPILED template struct detail::payload::by<prod<double>>;
TUTTI_COMPILED template struct detail::payload::by<prod<std::int32_t>>;
TUTTI_COMPILED template struct detail::payload::by<prod<std::int64_t>>;
TUTTI_COMPILED template struct detail::payload::by<min<float>>;
TUTTI_COMPILED template struct detail::payload::by<min<double>>;
TUTTI_COMPILED template struct detail::payload::by<min<std::int32_t>>;
TUTTI_COMPILED template struct detail::payload::by<min<std::int64_t>>;
TUTTI_COMPILED template struct detail::payload::by<max<float>>;
TUTTI_COMPILED template struct detail::payload::by<max<double>>;
TUTTI_COMPILED template struct detail::payload::by<max<std::int32_t>>;
TUTTI_COMPILED template struct detail::payload::by<max<std::int64_t>>;
TUTTI_COMPILED template struct detail::payload::by<mean<float>>;
TUTTI_COMPILED template struct detail::payload::by<mean<double>>;

}  // namespace tutti
