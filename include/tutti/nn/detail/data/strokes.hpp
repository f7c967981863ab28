// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn::detail::inline data::strokes {

/// A point of the square 0..100 x 0..100, y downwards.
struct point {
  std::int32_t x = 0;
  std::int32_t y = 0;
};

/// A form of a digit: curves through points, with the pen lifted between them. Unused curves are empty.
struct glyph {
  std::array<std::span<point const>, 3> curves;
};

inline constexpr point zero_round[] = {{50, 3},  {27, 17}, {20, 50}, {27, 83}, {50, 97},
                                       {73, 83}, {80, 50}, {73, 17}, {50, 3}};
inline constexpr point zero_open[] = {{60, 6},  {33, 13}, {22, 48}, {32, 86}, {52, 97},
                                      {74, 80}, {78, 45}, {66, 14}, {44, 7}};
inline constexpr point one_stem[] = {{52, 3}, {51, 35}, {50, 65}, {49, 97}};
inline constexpr point one_flag[] = {{32, 25}, {45, 15}, {54, 4}};
inline constexpr point one_base[] = {{32, 96}, {52, 97}, {72, 96}};
inline constexpr point two_bow[] = {{24, 25}, {34, 8}, {54, 3}, {74, 16}, {72, 38}, {52, 62}, {22, 95}};
inline constexpr point two_base[] = {{22, 95}, {50, 94}, {80, 96}};
inline constexpr point two_loop[] = {{24, 22}, {44, 4},  {70, 13}, {70, 38}, {48, 70},
                                     {26, 92}, {24, 78}, {42, 80}, {60, 94}, {82, 90}};
inline constexpr point three_top[] = {{24, 14}, {46, 3}, {70, 12}, {69, 33}, {44, 47}};
inline constexpr point three_bottom[] = {{44, 47}, {72, 58}, {76, 80}, {52, 97}, {22, 86}};
inline constexpr point three_roof[] = {{24, 5}, {48, 6}, {74, 5}};
inline constexpr point three_slope[] = {{74, 5}, {60, 24}, {45, 43}};
inline constexpr point four_left[] = {{32, 5}, {26, 32}, {19, 60}};
inline constexpr point four_bar[] = {{19, 60}, {50, 60}, {83, 58}};
inline constexpr point four_stem[] = {{67, 12}, {66, 50}, {64, 97}};
inline constexpr point four_slope[] = {{62, 3}, {40, 35}, {18, 66}};
inline constexpr point four_low_bar[] = {{18, 66}, {50, 67}, {84, 66}};
inline constexpr point four_right[] = {{62, 3}, {62, 50}, {61, 97}};
inline constexpr point five_roof[] = {{75, 5}, {52, 6}, {30, 6}};
inline constexpr point five_bow[] = {{30, 6}, {26, 44}, {50, 36}, {75, 53}, {74, 82}, {48, 97}, {22, 86}};
inline constexpr point five_wave[] = {{73, 6}, {42, 7}, {28, 29}, {42, 44}, {68, 54}, {74, 78}, {50, 97}, {24, 88}};
inline constexpr point six_open[] = {{68, 4},  {40, 22}, {24, 58}, {30, 87}, {54, 97},
                                     {76, 82}, {70, 60}, {48, 54}, {28, 68}};
inline constexpr point six_tall[] = {{56, 3}, {33, 38}, {25, 74}, {46, 97}, {71, 86}, {67, 64}, {44, 60}, {27, 76}};
inline constexpr point seven_roof[] = {{20, 7}, {50, 6}, {80, 6}};
inline constexpr point seven_stem[] = {{80, 6}, {58, 48}, {44, 97}};
inline constexpr point seven_bar[] = {{35, 51}, {54, 49}, {74, 48}};
inline constexpr point seven_bent[] = {{80, 6}, {70, 24}, {55, 60}, {53, 97}};
inline constexpr point eight_single[] = {{66, 13}, {45, 3},  {27, 18}, {37, 40}, {62, 56}, {75, 78},
                                         {52, 97}, {26, 82}, {35, 58}, {62, 40}, {73, 18}, {60, 6}};
inline constexpr point eight_top[] = {{50, 3}, {31, 13}, {31, 36}, {50, 47}, {69, 36}, {69, 13}, {50, 3}};
inline constexpr point eight_bottom[] = {{50, 47}, {25, 60}, {25, 86}, {50, 97}, {75, 86}, {75, 60}, {50, 47}};
inline constexpr point nine_head[] = {{73, 20}, {53, 4}, {31, 13}, {26, 35}, {46, 50}, {67, 41}, {74, 17}};
inline constexpr point nine_straight[] = {{74, 17}, {71, 56}, {64, 97}};
inline constexpr point nine_curved[] = {{74, 17}, {74, 60}, {57, 94}, {28, 89}};

inline constexpr glyph zero_forms[] = {{{zero_round}}, {{zero_open}}};
inline constexpr glyph one_forms[] = {{{one_stem}}, {{one_flag, one_stem}}, {{one_flag, one_stem, one_base}}};
inline constexpr glyph two_forms[] = {{{two_bow, two_base}}, {{two_loop}}};
inline constexpr glyph three_forms[] = {{{three_top, three_bottom}}, {{three_roof, three_slope, three_bottom}}};
inline constexpr glyph four_forms[] = {{{four_left, four_bar, four_stem}}, {{four_slope, four_low_bar, four_right}}};
inline constexpr glyph five_forms[] = {{{five_roof, five_bow}}, {{five_wave}}};
inline constexpr glyph six_forms[] = {{{six_open}}, {{six_tall}}};
inline constexpr glyph seven_forms[] = {
    {{seven_roof, seven_stem}}, {{seven_roof, seven_stem, seven_bar}}, {{seven_roof, seven_bent}}};
inline constexpr glyph eight_forms[] = {{{eight_single}}, {{eight_top, eight_bottom}}};
inline constexpr glyph nine_forms[] = {{{nine_head, nine_straight}}, {{nine_head, nine_curved}}};
/// The forms of each digit.
inline constexpr std::array<std::span<glyph const>, 10> digits = {zero_forms,  one_forms,  two_forms, three_forms,
                                                                  four_forms,  five_forms, six_forms, seven_forms,
                                                                  eight_forms, nine_forms};

}  // namespace tutti::nn::detail::data::strokes
