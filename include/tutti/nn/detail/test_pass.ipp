// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/test_pass.hpp>

namespace tutti::inline v0_1_0::nn::detail {

TUTTI_DECL test_pass::test_pass(image_source images, std::size_t piece, bool reproducible)
    : images_(std::move(images), piece, loading::when_asked), order_(piece), reproducible_(reproducible) {}

}  // namespace tutti::nn::detail
