// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/window.hpp>
#include <tutti/nn/saved_model/base/description.hpp>
#include <tutti/nn/saved_model/base/json.hpp>
#include <tutti/nn/saved_model/base/module_names.hpp>
#include <tutti/version.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tutti::inline v0_1_0::nn {

namespace detail {

inline constexpr std::array<char const*, 4> activation_words{"identity", "relu", "tanh", "sigmoid"};

/// The largest sizes in a description. They are beyond any machine, and no product of a layer's sizes overflows.
inline constexpr std::uint64_t largest_layer = std::uint64_t{1} << 27;
inline constexpr std::uint64_t largest_side = std::uint64_t{1} << 16;
inline constexpr std::uint64_t largest_window = std::uint64_t{1} << 12;
inline constexpr std::uint64_t largest_model = std::uint64_t{1} << 40;

// The sizes of each kind of layer.

[[nodiscard]] inline layer_sizes sizes_of(geometry::dense const& d) {
  return {d.inputs, d.outputs, (d.inputs + 1) * d.outputs, 0};
}
[[nodiscard]] inline layer_sizes sizes_of(geometry::convolution const& c) {
  return {c.input.size(), c.output.size(), c.weights() + (c.bias ? c.output.channels : 0), 0};
}
[[nodiscard]] inline layer_sizes sizes_of(geometry::pooling const& p) {
  return {p.input.size(), p.output.size(), 0, 0};
}
[[nodiscard]] inline layer_sizes sizes_of(geometry::batch_norm const& b) {
  return {b.image.size(), b.image.size(), 2 * b.image.channels, 2 * b.image.channels};
}
[[nodiscard]] inline layer_sizes sizes_of(geometry::dropout const& d) {
  return {d.numbers, d.numbers, 0, 0};
}
[[nodiscard]] inline layer_sizes sizes_of(geometry::channels_last const& c) {
  return {c.image.size(), c.image.size(), 0, 0};
}
[[nodiscard]] inline layer_sizes sizes_of(geometry::residual const& r) {
  auto sizes = sizes_of(std::span(r.body));
  layer_sizes const shortcut =
      r.shortcut.empty() ? layer_sizes{sizes.outputs, sizes.inputs, 0, 0} : sizes_of(std::span(r.shortcut));
  if (shortcut.inputs != sizes.inputs || shortcut.outputs != sizes.outputs) {
    throw model_error(tutti::detail::message(
        {"the body of a residual block takes ", sizes.inputs, " numbers and gives ", sizes.outputs,
         ", and its shortcut takes ", shortcut.inputs, " and gives ", shortcut.outputs, "; both must be equal"}));
  }
  sizes.parameters += shortcut.parameters;
  sizes.statistics += shortcut.statistics;
  return sizes;
}
[[nodiscard]] inline layer_sizes sizes_of(geometry::weight_norm const& w) {
  auto sizes = sizes_of(std::span(w.layer));
  sizes.parameters += w.blocks * w.units;
  return sizes;
}

TUTTI_DECL layer_sizes sizes_of(std::span<geometry::variant const> layers) {
  layer_sizes sum;
  for (std::size_t i = 0; i != layers.size(); ++i) {
    auto const sizes = layers[i].visit([](auto const& description) { return sizes_of(description); });
    if (i != 0 && sizes.inputs != sum.outputs) {
      throw model_error(tutti::detail::message(
          {"layer ", i, " takes ", sizes.inputs, " numbers, but the layer before it gives ", sum.outputs}));
    }
    sum = {i == 0 ? sizes.inputs : sum.inputs, sizes.outputs, sum.parameters + sizes.parameters,
           sum.statistics + sizes.statistics};
    if (sum.parameters > largest_model) {
      throw model_error(tutti::detail::message(
          {"layers 0 to ", i, " have ", sum.parameters, " parameters, but at most ", largest_model, " are allowed"}));
    }
  }
  if (layers.empty()) {
    throw model_error("there must be at least one layer, not 0");
  }
  return sum;
}

/// Writes layers as JSON, each with the next name if it has weights.
class layer_writer {
 public:
  using json = nlohmann::ordered_json;

  explicit layer_writer(std::span<geometry::variant const> layers) : names_(module_names(layers)) {}

  [[nodiscard]] json list(std::span<geometry::variant const> layers) {
    json result = json::array();
    for (auto const& layer : layers) {
      result.push_back(layer.visit([&](auto const& description) { return object(description); }));
    }
    return result;
  }

  [[nodiscard]] static json shape(image_shape const& image) {
    return {{"channels", image.channels}, {"rows", image.rows}, {"columns", image.columns}};
  }

 private:
  [[nodiscard]] json object(geometry::dense const& d) {
    return {{"kind", "dense"},
            {"name", names_[next_++]},
            {"inputs", d.inputs},
            {"outputs", d.outputs},
            {"activation", word(d.activation)}};
  }
  [[nodiscard]] json object(geometry::convolution const& c) {
    return {{"kind", "convolution"},
            {"name", names_[next_++]},
            {"input", shape(c.input)},
            {"channels", c.output.channels},
            {"window", rectangle(c.filter_window)},
            {"groups", c.groups},
            {"bias", c.bias},
            {"activation", word(c.activation)}};
  }
  [[nodiscard]] json object(geometry::pooling const& p) {
    return {{"kind", p.kind == geometry::pooling_kind::largest ? "max_pool" : "average_pool"},
            {"input", shape(p.input)},
            {"vertical", rectangle(p.vertical)},
            {"horizontal", rectangle(p.horizontal)}};
  }
  [[nodiscard]] json object(geometry::batch_norm const& b) {
    return {{"kind", "batch_norm"}, {"name", names_[next_++]}, {"image", shape(b.image)},
            {"epsilon", b.epsilon}, {"momentum", b.momentum},  {"activation", word(b.activation)}};
  }
  [[nodiscard]] json object(geometry::dropout const& d) {
    return {{"kind", "dropout"}, {"numbers", d.numbers}, {"probability", d.limit / 4294967296.0}};
  }
  [[nodiscard]] json object(geometry::channels_last const& c) {
    return {{"kind", "channels_last"}, {"image", shape(c.image)}};
  }
  [[nodiscard]] json object(geometry::residual const& r) {
    json body = list(r.body);
    return {{"kind", "residual"}, {"body", std::move(body)}, {"shortcut", list(r.shortcut)}};
  }
  [[nodiscard]] json object(geometry::weight_norm const& w) {
    return {{"kind", "weight_norm"}, {"layer", list(w.layer)}};
  }

  [[nodiscard]] static json rectangle(window const& w) {
    return {{"side", w.side}, {"stride", w.stride}, {"padding", w.padding}};
  }
  [[nodiscard]] static char const* word(activation_kind kind) {
    return activation_words[static_cast<std::size_t>(kind)];
  }

  std::vector<std::string> names_;
  std::size_t next_ = 0;
};

/// Reads layers from JSON. Each size is checked before it is used.
class layer_reader {
 public:
  [[nodiscard]] static std::vector<geometry::variant> list(json_reader const& layers) {
    std::vector<geometry::variant> result;
    for (std::size_t i = 0; i != layers.size(); ++i) {
      result.push_back(layer(layers.item(i)));
    }
    return result;
  }

  [[nodiscard]] static image_shape shape(json_reader const& image) {
    image_shape const result{image.whole("channels", 1, largest_layer), image.whole("rows", 1, largest_side),
                             image.whole("columns", 1, largest_side)};
    if (result.size() > largest_layer) {
      image.fail(
          tutti::detail::message({"has ", result.size(), " numbers, but at most ", largest_layer, " are allowed"}));
    }
    return result;
  }

 private:
  [[nodiscard]] static geometry::variant layer(json_reader const& reader) {
    auto const kind = reader.text("kind");
    if (kind == "dense") {
      return {geometry::dense{reader.whole("inputs", 1, largest_layer), reader.whole("outputs", 1, largest_layer),
                              activation(reader)}};
    }
    if (kind == "convolution") {
      return {convolution(reader)};
    }
    if (kind == "max_pool" || kind == "average_pool") {
      return {pooling(reader, kind == "max_pool" ? geometry::pooling_kind::largest : geometry::pooling_kind::mean)};
    }
    if (kind == "batch_norm") {
      geometry::batch_norm const norm{shape(reader.member("image")), activation(reader),
                                      static_cast<float>(reader.real("epsilon")),
                                      static_cast<float>(reader.real("momentum"))};
      if (norm.activation != activation_kind::identity && norm.activation != activation_kind::relu) {
        reader.fail("must have the activation identity or relu, not " + reader.text("activation"));
      }
      return {norm};
    }
    if (kind == "dropout") {
      double const probability = reader.real("probability");
      if (!(probability >= 0 && probability < 1)) {
        reader.fail(tutti::detail::message({"must have a probability from 0 to below 1, not ", probability}));
      }
      return {geometry::dropout{reader.whole("numbers", 1, largest_layer),
                                static_cast<std::uint32_t>(probability * 4294967296.0),
                                static_cast<float>(1 / (1 - probability)), 0}};
    }
    if (kind == "channels_last") {
      return {geometry::channels_last{shape(reader.member("image"))}};
    }
    if (kind == "residual") {
      return {geometry::residual{list(reader.member("body")), list(reader.member("shortcut"))}};
    }
    if (kind == "weight_norm") {
      return {weight_norm(reader)};
    }
    reader.fail("is of an unknown kind, " + kind + "; read it with the version of tutti that wrote it");
  }

  [[nodiscard]] static geometry::convolution convolution(json_reader const& reader) {
    auto const input = shape(reader.member("input"));
    auto const places = rectangle(reader.member("window"), input.rows, input.columns);
    auto const channels = reader.whole("channels", 1, largest_layer);
    geometry::convolution const result{input,
                                       {channels, places.places(input.rows), places.places(input.columns)},
                                       places,
                                       reader.whole("groups", 1, input.channels),
                                       reader.truth("bias"),
                                       activation(reader)};
    if (input.channels % result.groups != 0 || channels % result.groups != 0) {
      reader.fail(tutti::detail::message(
          {"has ", result.groups, " groups, which must divide its channels, ", input.channels, " and ", channels}));
    }
    if (result.output.size() > largest_layer || result.fan_in() > largest_layer) {
      reader.fail(tutti::detail::message({"has ", result.output.size(), " outputs of ", result.fan_in(),
                                          " inputs each, but at most ", largest_layer, " are allowed"}));
    }
    return result;
  }

  [[nodiscard]] static geometry::pooling pooling(json_reader const& reader, geometry::pooling_kind kind) {
    auto const input = shape(reader.member("input"));
    auto const vertical = rectangle(reader.member("vertical"), input.rows, input.rows);
    auto const horizontal = rectangle(reader.member("horizontal"), input.columns, input.columns);
    if (vertical != horizontal && (vertical != window{input.rows} || horizontal != window{input.columns})) {
      reader.fail(tutti::detail::message({"must have a square window, or one of the whole image, not one of ",
                                          vertical.side, " x ", horizontal.side}));
    }
    return {kind,
            input,
            {input.channels, vertical.places(input.rows), horizontal.places(input.columns)},
            vertical,
            horizontal};
  }

  [[nodiscard]] static geometry::weight_norm weight_norm(json_reader const& reader) {
    geometry::weight_norm result{list(reader.member("layer"))};
    if (result.layer.size() == 1) {
      if (auto const* const dense = std::get_if<geometry::dense>(&result.layer.front().description)) {
        result.blocks = 1;
        result.length = dense->inputs;
        result.units = dense->outputs;
      } else if (auto const* const c = std::get_if<geometry::convolution>(&result.layer.front().description)) {
        result.blocks = c->groups;
        result.length = c->fan_in();
        result.units = c->output.channels / c->groups;
      }
    }
    if (result.units == 0) {
      reader.fail(tutti::detail::message({"must have exactly one layer, dense or a convolution, not ",
                                          result.layer.size(), " layers or another kind"}));
    }
    result.layer_parameters = sizes_of(std::span(result.layer)).parameters;
    return result;
  }

  [[nodiscard]] static window rectangle(json_reader const& reader, std::size_t rows, std::size_t columns) {
    window const result{reader.whole("side", 1, largest_side), reader.whole("stride", 1, largest_window),
                        reader.whole("padding", 0, largest_window)};
    if (result.padding >= result.side || rows + 2 * result.padding < result.side ||
        columns + 2 * result.padding < result.side) {
      reader.fail(tutti::detail::message({"has a side of ", result.side, " and a padding of ", result.padding,
                                          ", which do not fit into ", rows, " x ", columns, " pixels"}));
    }
    return result;
  }

  [[nodiscard]] static activation_kind activation(json_reader const& reader) {
    auto const word = reader.text("activation");
    for (std::size_t i = 0; i != activation_words.size(); ++i) {
      if (word == activation_words[i]) {
        return static_cast<activation_kind>(i);
      }
    }
    reader.fail("has an unknown activation, " + word + "; read it with the version of tutti that wrote it");
  }
};

}  // namespace detail

TUTTI_DECL std::string model_description::class_name(std::size_t number) const {
  expects(number < classes, "model_description: class_name takes a number below that of classes, ", classes, ", not ",
          number);
  return class_names.empty() ? std::to_string(number) : class_names[number];
}

TUTTI_DECL model_description describe(layer_list<float> const& layers, dataset const& set, normalisation numbers,
                                      std::string training) {
  expects(!layers.empty() && layers.front().inputs() == set.features() && layers.back().outputs() == set.classes,
          "describe: the set has images of ", set.features(), " numbers in ", set.classes,
          " classes; give the layers that are trained on it");
  model_description result{.image = set.shape,
                           .numbers = std::move(numbers),
                           .classes = set.classes,
                           .class_names = set.class_names,
                           .training = std::move(training)};
  for (auto const& layer : layers) {
    result.layers.push_back(layer.geometry());
  }
  result.version = tutti::detail::message({TUTTI_VERSION_MAJOR, ".", TUTTI_VERSION_MINOR, ".", TUTTI_VERSION_PATCH});
  return result;
}

TUTTI_DECL std::string encode(model_description const& description) {
  using json = detail::layer_writer::json;
  json channels = json::array();
  for (auto const [factor, offset] : description.numbers.channels()) {
    channels.push_back({{"factor", factor}, {"offset", offset}});
  }
  json const result{{"version", description.version},
                    {"training", description.training},
                    {"image", detail::layer_writer::shape(description.image)},
                    {"numbers", std::move(channels)},
                    {"classes", description.classes},
                    {"class_names", description.class_names},
                    {"layers", detail::layer_writer(description.layers).list(description.layers)}};
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

TUTTI_DECL model_description decode_description(std::string_view text) {
  constexpr std::size_t deepest = 64;
  auto const document = detail::parse_json(text, deepest);
  detail::json_reader const reader(document, "the description");
  model_description result{.layers = detail::layer_reader::list(reader.member("layers")),
                           .image = detail::layer_reader::shape(reader.member("image")),
                           .classes = reader.whole("classes", 1, detail::largest_layer),
                           .training = reader.text("training"),
                           .version = reader.text("version")};
  auto const sizes = detail::sizes_of(result.layers);
  if (sizes.inputs != result.image.size() || sizes.outputs != result.classes) {
    reader.fail(tutti::detail::message({"is of images of ", result.image.size(), " numbers in ", result.classes,
                                        " classes, but its layers take ", sizes.inputs, " and give ", sizes.outputs}));
  }
  auto const names = reader.member("class_names");
  for (std::size_t i = 0; i != names.size(); ++i) {
    result.class_names.push_back(names.item(i).text());
  }
  if (!names.empty() && names.size() != result.classes) {
    reader.fail(tutti::detail::message({"names ", names.size(), " classes, but has ", result.classes}));
  }
  auto const channels = reader.member("numbers");
  std::vector<normalisation::channel> numbers;
  for (std::size_t i = 0; i != channels.size(); ++i) {
    auto const channel = channels.item(i);
    numbers.push_back({static_cast<float>(channel.real("factor")), static_cast<float>(channel.real("offset"))});
  }
  if (numbers.size() != result.image.channels) {
    reader.fail(tutti::detail::message(
        {"converts ", numbers.size(), " channels, but its images have ", result.image.channels}));
  }
  result.numbers = normalisation(std::move(numbers));
  return result;
}

}  // namespace tutti::nn
