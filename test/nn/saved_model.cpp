// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/base/error.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/checkpoint/read_checkpoint.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/detail/checkpoint/folder.hpp>
#include <tutti/nn/detail/saved_model/tensor_file.hpp>
#include <tutti/nn/detail/saved_model/tensor_place.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/channels_last.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/layer/residual.hpp>
#include <tutti/nn/layer/weight_norm.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/saved_model/base/description.hpp>
#include <tutti/nn/saved_model/base/error.hpp>
#include <tutti/nn/saved_model/base/json.hpp>
#include <tutti/nn/saved_model/base/module_names.hpp>
#include <tutti/nn/saved_model/classifier.hpp>
#include <tutti/nn/saved_model/layers_of.hpp>
#include <tutti/nn/saved_model/load_weights.hpp>
#include <tutti/nn/saved_model/save_model.hpp>
#include <tutti/nn/zoo/alexnet.hpp>
#include <tutti/nn/zoo/cnn.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
namespace fs = std::filesystem;

// Saved models: their files are read back with equal bits and have PyTorch's names, and damaged ones are refused.

namespace {

struct scratch {
  scratch() {
    fs::path const parent = fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string name = (parent / "tutti-model-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() {
    std::error_code failure;
    fs::remove_all(path, failure);
  }

  fs::path path;
};

std::string contents(fs::path const& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(fs::path const& name, std::string_view bytes) {
  std::ofstream(name, std::ios::binary) << bytes;
}

/// The text of the error that f throws.
template <class Error = nn::model_error, class F>
std::string error_of(F const& f) {
  try {
    f();
  } catch (Error const& e) {
    return e.what();
  }
  return "no error";
}
bool has(std::string const& text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// A set of drawn images, each brighter than the one before it; without class names unless they are given.
nn::dataset images(nn::image_shape const& shape, std::size_t classes, std::size_t count = 5,
                   std::vector<std::string> names = {}) {
  nn::dataset set{shape, classes, {}, {}, std::move(names)};
  nn::random_sequence random(7);
  for (std::size_t i = 0; i != count * shape.size(); ++i) {
    auto const limit = static_cast<std::uint32_t>(256 * (i / shape.size() + 1) / count);
    set.pixels.push_back(static_cast<std::uint8_t>(random.draw_below(limit)));
  }
  for (std::size_t i = 0; i != count; ++i) {
    set.labels.push_back(static_cast<std::uint8_t>(i % classes));
  }
  return set;
}

/// A model with drawn weights and statistics, and its description.
struct drawn_model {
  drawn_model(nn::layer_list<float> const& list, nn::dataset data)
      : layers(list),
        set(std::move(data)),
        model(list),
        description(nn::describe(layers, set, nn::numbers_for(set, true), "drawn")) {
    nn::set_threads(1);
    model.initialise(3);
    nn::random_sequence random(5);
    for (float& number : model.parameters()) {
      number += 0.02F * (random.fraction<float>() - 0.5F);
    }
    for (float& number : model.statistics()) {
      number = 0.1F + 0.2F * random.fraction<float>();
    }
  }
  drawn_model(nn::layer_list<float> const& list, nn::image_shape const& shape, std::size_t classes)
      : drawn_model(list, images(shape, classes)) {}

  nn::layer_list<float> layers;
  nn::dataset set;
  nn::model<float> model;
  nn::model_description description;
};

constexpr nn::image_shape small{1, 12, 12};
constexpr nn::image_shape colour_image{3, 16, 16};

drawn_model small_model() {
  return {nn::layer_list<float>{nn::conv2d<float, nn::relu>(small, {2, {3, 2, 1}}), nn::dropout<float>(72, 0.25),
                                nn::dense<float>(72, 3)},
          small, 3};
}

/// Every kind of layer, window and activation that a file can describe.
nn::layer_list<float> all_kinds() {
  nn::layer_list<float> result{nn::channels_last<float>({3, 8, 10}),
                               nn::conv2d<float, nn::tanh>({3, 8, 10}, {4, {3, 1, 1}}),
                               nn::batch_norm<float, nn::relu>({4, 8, 10}),
                               nn::weight_norm<float>(nn::conv2d<float, nn::sigmoid>({4, 8, 10}, {6, {3, 1, 1}, 2})),
                               nn::average_pool<float>({6, 8, 10}, {3, 2, 1}),
                               nn::max_pool<float>({6, 4, 5}, {2, 1, 0})};
  nn::image_shape const block{6, 3, 4};
  nn::layer_list<float> inner{nn::conv2d<float, nn::relu>(block, {6, {1}, 3}), nn::batch_norm<float>(block)};
  nn::layer_list<float> body{nn::residual<float>(inner)};
  body.push_back(nn::conv2d<float>(block, {4, {3, 1, 1}, 1, false}));
  result.push_back(nn::residual<float>(body, {nn::conv2d<float>(block, {4, {1}})}));
  result.push_back(nn::residual<float>({nn::dense<float, nn::relu>(48, 48)}));
  result.push_back(nn::dropout<float>(48, 0.2));
  result.push_back(nn::weight_norm<float>(nn::dense<float, nn::tanh>(48, 12)));
  result.push_back(nn::batch_norm<float>({1, 1, 12}));
  result.push_back(nn::batch_norm<float>({12, 1, 1}));
  result.push_back(nn::dense<float>(12, 5));
  return result;
}

std::vector<std::pair<std::string, drawn_model>> saved_models() {
  constexpr std::array<std::size_t, 2> hidden_sizes{20, 11};
  std::vector<std::pair<std::string, drawn_model>> result;
  auto const add = [&](char const* name, nn::layer_list<float> const& layers, nn::image_shape const& shape,
                       std::size_t classes) { result.emplace_back(name, drawn_model(layers, shape, classes)); };
  add("mlp", nn::mlp<float>(colour_image.size(), hidden_sizes, 10, nn::hidden_activation::sigmoid), colour_image, 10);
  add("lenet5", nn::lenet5<float>({1, 28, 28}, 10), {1, 28, 28}, 10);
  add("lenet5_in_colour", nn::lenet5<float>(colour_image, 4), colour_image, 4);
  add("resnet", nn::small_resnet<float>(8, colour_image, 6), colour_image, 6);
  add("all_kinds", all_kinds(), {3, 8, 10}, 5);
  return result;
}

/// A header of safetensors for these bytes of tensors.
std::string file_of(std::string const& header, std::string const& tensors = {}) {
  std::uint64_t const length = header.size();
  return std::string(reinterpret_cast<char const*>(&length), sizeof length) + header + tensors;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_loaded_model_predicts_as_the_saved_one_bit_for_bit) {
  scratch const folder;
  auto const file = folder.path / "model.safetensors";
  auto models = saved_models();
  models.emplace_back("cnn", drawn_model(nn::cnn<float>({2, 8, 8}, 3), {2, 8, 8}, 3));
  models.emplace_back("alexnet", drawn_model(nn::alexnet<float>({3, 32, 32}, 10), {3, 32, 32}, 10));
  for (auto& [name, sample] : models) {
    BOOST_TEST_CONTEXT(name) {
      nn::classifier original(sample.description, sample.model.parameters(), sample.model.statistics());
      nn::save_model(file, sample.description, sample.model);
      auto replica = nn::load_model(file);
      BOOST_TEST(std::ranges::equal(replica.parameters(), sample.model.parameters()));
      BOOST_TEST(std::ranges::equal(replica.statistics(), sample.model.statistics()));
      auto const expected = original.probabilities(sample.set.pixels);
      BOOST_TEST(replica.probabilities(sample.set.pixels) == expected, boost::test_tools::per_element());
      BOOST_TEST(nn::encode(replica.description()) == nn::encode(sample.description));
      // Layers that are made from their descriptions describe themselves equally.
      BOOST_TEST(nn::encode(nn::describe(nn::layers_of(replica.description().layers), sample.set,
                                         replica.description().numbers, "drawn")) == nn::encode(sample.description));
      auto const answer = replica.predict(sample.set.image(0));
      BOOST_TEST(answer.probability == std::ranges::max(std::span(expected).first(replica.classes())),
                 boost::test_tools::tolerance(1e-5F));
      BOOST_TEST(answer.name == std::to_string(answer.number));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_description_has_all_that_a_prediction_needs) {
  std::vector<std::string> const names{"cat", "d\"o\\g", "\xc3\xa9", "\xff"};
  auto const set = images({2, 1, 3}, 4, 6, names);
  auto const description = nn::describe({nn::dense<float>(6, 4)}, set, nn::numbers_for(set, true), "epochs = 3\n");
  auto const again = nn::decode_description(nn::encode(description));
  BOOST_TEST((again.image == set.shape));
  BOOST_TEST(again.training == "epochs = 3\n");
  BOOST_TEST(again.version == "0.1.0");
  BOOST_TEST(again.class_name(1) == names[1]);
  BOOST_TEST(again.class_name(2) == names[2]);
  BOOST_TEST(again.class_name(3) == "\xef\xbf\xbd");  // bytes that are no UTF-8 are replaced
  for (std::size_t c = 0; c != 2; ++c) {
    BOOST_TEST(again.numbers.channels()[c].factor == description.numbers.channels()[c].factor);
    BOOST_TEST(again.numbers.channels()[c].offset == description.numbers.channels()[c].offset);
  }
  BOOST_CHECK_THROW((void)nn::describe({nn::dense<float>(6, 3)}, set, nn::numbers_for(set, true)),
                    tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(tensors_have_the_names_and_shapes_of_torchvision) {
  auto const tensors_of = [](nn::layer_list<float> const& layers) {
    std::vector<nn::geometry::variant> geometries;
    for (auto const& layer : layers) {
      geometries.push_back(layer.geometry());
    }
    std::vector<std::string> result;
    for (auto const& place : nn::detail::tensor_places(geometries)) {
      result.push_back(place.name + ' ' + nn::detail::shape_text(place.shape));
    }
    auto names = result;
    std::ranges::sort(names);
    BOOST_TEST((std::ranges::adjacent_find(names) == names.end()));
    return result;
  };
  auto const check = [&](nn::layer_list<float> const& layers, std::size_t count,
                         std::initializer_list<char const*> expected) {
    auto const tensors = tensors_of(layers);
    BOOST_TEST(tensors.size() == count);
    for (std::string const tensor : expected) {
      BOOST_TEST((std::ranges::find(tensors, tensor) != tensors.end()), tensor);
    }
  };
  constexpr nn::image_shape imagenet{3, 224, 224};
  // torchvision's models have as many parameters and buffers, except num_batches_tracked.
  check(nn::resnet<float>(50, imagenet, 1000), 267,
        {"conv1.weight [64, 3, 7, 7]", "bn1.running_var [64]", "layer1.0.conv1.weight [64, 64, 1, 1]",
         "layer1.0.downsample.0.weight [256, 64, 1, 1]", "layer1.0.downsample.1.running_mean [256]",
         "layer2.0.conv2.weight [128, 128, 3, 3]", "layer3.5.bn3.bias [1024]",
         "layer4.2.conv3.weight [2048, 512, 1, 1]", "fc.weight [1000, 2048]", "fc.bias [1000]"});
  check(nn::vgg<float>(16, imagenet, 1000), 32,
        {"features.0.weight [64, 3, 3, 3]", "features.28.bias [512]", "classifier.0.weight [4096, 25088]",
         "classifier.3.weight [4096, 4096]", "classifier.6.bias [1000]"});
  check(nn::vgg<float>(16, {3, 32, 32}, 10), 13 * 5 + 2,
        {"features.1.running_mean [64]", "features.41.weight [512]", "classifier.0.weight [10, 512]"});
  check(nn::alexnet<float>(imagenet, 1000), 16,
        {"features.3.weight [256, 48, 5, 5]", "features.10.bias [256]", "classifier.1.weight [4096, 9216]",
         "classifier.4.bias [4096]", "classifier.6.weight [1000, 4096]"});
  check(nn::small_resnet<float>(20, {3, 32, 32}, 10), 21 * 5 + 2,
        {"layer1.2.conv2.weight [16, 16, 3, 3]", "layer2.0.downsample.0.weight [32, 16, 1, 1]",
         "layer3.2.bn2.weight [64]"});
  check(nn::mlp<float>(784, std::array<std::size_t, 2>{20, 11}, 10, nn::hidden_activation::relu), 6,
        {"0.weight [20, 784]", "2.bias [11]", "4.weight [10, 11]"});
  check(nn::lenet5<float>({1, 28, 28}, 10), 10,
        {"features.3.weight [16, 6, 5, 5]", "classifier.0.weight [120, 400]", "classifier.4.bias [10]"});
  check(all_kinds(), 33,
        {"conv2.weight_g [6, 1, 1, 1]", "conv2.weight_v [6, 2, 3, 3]", "conv2.bias [6]",
         "layer1.0.layer1.0.conv1.weight [6, 2, 1, 1]", "layer1.0.conv1.weight [4, 6, 3, 3]",
         "layer1.0.downsample.0.bias [4]", "layer1.1.fc.weight [48, 48]", "fc1.weight_g [12, 1]", "bn2.running_var [1]",
         "bn3.weight [12]", "fc2.weight [5, 12]"});
}

BOOST_AUTO_TEST_CASE(each_number_has_one_place) {
  for (auto const& [name, sample] : saved_models()) {
    std::vector<int> parameters(sample.model.parameters().size());
    auto const sizes = nn::detail::sizes_of(sample.description.layers);
    std::vector<int> statistics(sizes.statistics);
    BOOST_TEST(sizes.parameters == parameters.size());
    for (auto const& place : nn::detail::tensor_places(sample.description.layers)) {
      std::vector<int> elements(place.size());
      place.for_each([&](std::size_t i, std::size_t at) {
        ++elements[i];
        ++(place.is_statistic ? statistics : parameters)[at];
      });
      BOOST_TEST(std::ranges::count(elements, 1) == std::ssize(elements), name + ' ' + place.name);
    }
    BOOST_TEST(std::ranges::count(parameters, 1) == std::ssize(parameters), name);
    BOOST_TEST(std::ranges::count(statistics, 1) == std::ssize(statistics), name);
  }
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_refused_or_has_equal_content) {
  scratch const folder;
  auto const file = folder.path / "model.safetensors";
  auto sample = small_model();
  nn::save_model(file, sample.description, sample.model);
  auto const bytes = contents(file);
  auto const expected = nn::load_model(file).probabilities(sample.set.pixels);
  auto const copy = folder.path / "copy.safetensors";
  for (std::size_t size = 0; size != bytes.size(); ++size) {
    write(copy, std::string_view(bytes).substr(0, size));
    BOOST_TEST(has(error_of([&] { (void)nn::load_model(copy); }), copy.string()));
  }
  std::size_t const header = 8 + static_cast<unsigned char>(bytes[0]) + 256U * static_cast<unsigned char>(bytes[1]);
  BOOST_TEST(bytes.find("F32") < header);
  for (std::size_t at = 0; at != header; ++at) {
    for (unsigned const change : {1U, 2U, 4U, 0x80U}) {
      auto changed_bytes = bytes;
      changed_bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ change);
      write(copy, changed_bytes);
      try {
        BOOST_TEST((nn::load_model(copy).probabilities(sample.set.pixels) == expected));
      } catch (nn::model_error const& e) {
        BOOST_TEST(has(e.what(), copy.string()));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(hostile_headers_are_refused_with_their_place) {
  scratch const folder;
  auto const file = folder.path / "other.safetensors";
  auto const problem = [&](std::string const& bytes) {
    write(file, bytes);
    return error_of([&] { (void)nn::detail::tensor_file(file); });
  };
  auto const tensor = [](char const* type, char const* shape, char const* offsets) {
    return std::string(R"({"dtype":")") + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  std::string const eight(8, '\0');
  BOOST_TEST(problem(file_of(R"({"a":)" + tensor("F32", "[2]", "[0,8]") + "}", eight)) == "no error");
  BOOST_TEST(problem(file_of(R"({"a":)" + tensor("F32", "[]", "[0,4]") + R"(,"b":)" + tensor("F32", "[1,0]", "[4,4]") +
                                 R"(,"c":)" + tensor("BF16", "[2]", "[4,8]") + "}",
                             eight)) == "no error");
  BOOST_TEST(
      has(problem(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)), "announce a header of 18446744073709551615"));
  BOOST_TEST(has(problem(file_of("[]")), "must be an object of JSON, not array"));
  BOOST_TEST(has(problem(file_of("{")), "not JSON at character 2 of 1"));
  BOOST_TEST(has(problem(file_of(std::string(100, '['))), "nested more deeply"));
  BOOST_TEST(has(problem(file_of(R"({"a":1e999})")), "out of range"));
  BOOST_TEST(has(problem(file_of(R"({"a":{},"a":{}})")), "two members \"a\""));
  BOOST_TEST(has(problem(file_of(R"({"__metadata__":{"a":1}})")), "must be a text, not 1"));
  BOOST_TEST(has(problem(file_of(R"({"a":)" + tensor("F31", "[2]", "[0,8]") + "}", eight)),
                 "\"a\" is of the unknown type F31"));
  BOOST_TEST(has(problem(file_of(R"({"a":)" + tensor("F32", "[3]", "[0,8]") + "}", eight)),
                 "12 bytes between them, not [0, 8]"));
  BOOST_TEST(has(problem(file_of(R"({"a":)" + tensor("F32", "[4294967296,4294967296]", "[0,8]") + "}", eight)),
                 "more than the"));
  BOOST_TEST(has(problem(file_of(R"({"a":)" + tensor("F32", "[-2]", "[0,8]") + "}", eight)), "must be a whole number"));
  BOOST_TEST(has(problem(file_of(R"({"a":)" + tensor("F32", "[2]", "[8,0]") + "}", eight)), "not [8, 0]"));
  BOOST_TEST(has(problem(file_of(R"({"a":)" + tensor("F32", "[2]", "[8,16]") + "}", eight)),
                 "must be a whole number from 0 to 8"));
  BOOST_TEST(
      has(problem(file_of(R"({"a":)" + tensor("F32", "[1]", "[0,4]") + R"(,"b":)" + tensor("F32", "[2]", "[0,8]") + "}",
                          eight)),
          "\"b\" begins at byte"));
  BOOST_TEST(has(problem(file_of(R"({"a":)" + tensor("F32", "[1]", "[4,8]") + "}", eight)), "\"a\" begins at byte"));
  BOOST_TEST(has(problem(file_of(R"({"a":)" + tensor("F32", "[1]", "[0,4]") + "}", eight)), "its tensors end at byte"));
  BOOST_TEST(has(error_of([&] { (void)nn::load_model(folder.path / "missing"); }), "No such file"));
  BOOST_TEST(has(error_of([&] { (void)nn::detail::tensor_file(folder.path); }), "is a folder"));
  write(file, file_of("{}"));
  BOOST_TEST(has(error_of([&] { (void)nn::load_model(file); }), "no description"));
  BOOST_TEST(has(error_of([&] {
                   nn::save_model(folder.path / "a" / "b", small_model().description, std::vector<float>(239), {});
                 }),
                 "cannot be written"));
  BOOST_REQUIRE(::mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
  for (auto const& path : {folder.path, folder.path / "pipe"}) {
    BOOST_TEST(has(error_of([&] { nn::save_model(path, small_model().description, std::vector<float>(239), {}); }),
                   "is a folder or a device"));
  }
  BOOST_TEST(fs::is_fifo(folder.path / "pipe"));
}

BOOST_AUTO_TEST_CASE(hostile_descriptions_are_refused_with_their_place) {
  auto const sample = small_model();
  auto const text = nn::encode(sample.description);
  auto const problem = [&](std::string const& part, std::string const& replacement) {
    auto changed_text = text;
    BOOST_REQUIRE(has(text, part));
    changed_text.replace(text.find(part), part.size(), replacement);
    return error_of([&] { (void)nn::decode_description(changed_text); });
  };
  BOOST_TEST(
      has(problem(R"("kind":"dense")", R"("kind":"magic")"), "the description, layers 2 is of an unknown kind, magic"));
  BOOST_TEST(
      has(problem(R"("inputs":72)", R"("inputs":73)"), "layer 2 takes 73 numbers, but the layer before it gives 72"));
  BOOST_TEST(has(problem(R"("inputs":72)", R"("inputs":-1)"), "layers 2, inputs must be a whole number"));
  BOOST_TEST(has(problem(R"("outputs":3)", R"("outputs":4)"), "but its layers take 144 and give 4"));
  BOOST_TEST(has(problem(R"("stride":2)", R"("stride":0)"), "must be a whole number from 1"));
  BOOST_TEST(has(problem(R"("side":3)", R"("side":15)"), "do not fit into 12 x 12"));
  BOOST_TEST(has(problem(R"("groups":1)", R"("groups":2)"), "must be a whole number from 1 to 1"));
  BOOST_TEST(has(problem(R"("channels":2)", R"("channels":134217728)"), "allowed"));
  BOOST_TEST(has(problem(R"("probability":0.25)", R"("probability":1)"), "from 0 to below 1, not 1"));
  BOOST_TEST(has(problem(R"("activation":"relu")", R"("activation":"swish")"), "unknown activation, swish"));
  BOOST_TEST(has(problem(R"("bias":true)", R"("bias":1)"), "must be true or false"));
  BOOST_TEST(has(problem(R"("class_names":[])", R"("class_names":["a"])"), "names 1 classes, but has 3"));
  BOOST_TEST(has(problem(R"("rows":12)", R"("rows":65537)"), "must be a whole number"));
  BOOST_TEST(has(problem(R"("kind":"dropout")", R"("kind":"residual")"), "must have a member \"body\""));
  std::string deep = "[]";
  for (int i = 0; i != 40; ++i) {
    deep = R"([{"kind":"residual","body":)" + deep + R"(,"shortcut":[]}])";
  }
  BOOST_TEST(has(problem(R"([{"kind":"conv)", deep + R"(,"x":[{"kind":"conv)"), "nested more deeply"));
}

BOOST_AUTO_TEST_CASE(weights_of_another_number_of_classes_keep_the_new_head) {
  scratch const folder;
  auto const file = folder.path / "model.safetensors";
  auto source = small_model();
  nn::save_model(file, source.description, source.model);
  auto const layers_for = [](std::size_t channels, std::size_t classes) {
    return nn::layer_list<float>{nn::conv2d<float, nn::relu>(small, {channels, {3, 2, 1}}),
                                 nn::dropout<float>(36 * channels, 0.25), nn::dense<float>(36 * channels, classes)};
  };
  drawn_model twin(layers_for(2, 3), small, 3);
  BOOST_TEST(nn::load_weights(file, twin.layers, twin.model).empty());
  BOOST_TEST(std::ranges::equal(twin.model.parameters(), source.model.parameters()));

  drawn_model target(layers_for(2, 5), small, 5);
  std::vector<float> const old_weights(target.model.parameters().begin(), target.model.parameters().end());
  auto const left_out = nn::load_weights(file, target.layers, target.model);
  BOOST_TEST((left_out == std::vector<std::string>{"classifier.1.weight", "classifier.1.bias"}));
  constexpr std::size_t body = 9 * 2 + 2;
  BOOST_TEST(std::ranges::equal(target.model.parameters().first(body), source.model.parameters().first(body)));
  BOOST_TEST(std::ranges::equal(target.model.parameters().subspan(body), std::span(old_weights).subspan(body)));

  drawn_model wider(layers_for(4, 3), small, 3);
  std::vector<float> const wider_weights(wider.model.parameters().begin(), wider.model.parameters().end());
  auto const problem = error_of([&] { (void)nn::load_weights(file, wider.layers, wider.model); });
  BOOST_TEST(has(problem, "tensor features.0.weight as F32 [2, 1, 3, 3], but the model needs F32 [4, 1, 3, 3]"));
  BOOST_TEST(std::ranges::equal(wider.model.parameters(), wider_weights));

  nn::layer_list<float> const linear{nn::dense<float>(2, 1)};
  nn::model<float> line(linear);
  auto const load = [&](std::string const& entries, std::size_t floats) {
    write(file, file_of(R"({"0.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]})" + entries + "}",
                        std::string(4 * floats, '\0')));
    return error_of([&] { (void)nn::load_weights(file, linear, line); });
  };
  std::string const bias = R"(,"0.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]})";
  BOOST_TEST(load(bias, 3) == "no error");
  BOOST_TEST(load(bias + R"(,"0.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[12,20]})", 5) ==
             "no error");
  BOOST_TEST(has(load(bias + R"(,"1.bias":{"dtype":"F32","shape":[1],"data_offsets":[12,16]})", 4),
                 "the tensor 1.bias [1], which the model does not have"));
  BOOST_TEST(has(load("", 2), "no tensor 0.bias, which the model has with the shape [1]"));
  BOOST_TEST(has(load(R"(,"0.bias":{"dtype":"I32","shape":[1],"data_offsets":[8,12]})", 3), "as I32 [1]"));
}

BOOST_AUTO_TEST_CASE(a_model_is_evaluated_class_by_class) {
  auto const set = nn::digits(150, 1);
  nn::layer_list<float> const layers{nn::dense<float>(784, 10)};
  nn::model<float> model(layers);
  model.initialise(1);
  nn::classifier classifier(nn::describe(layers, set, nn::numbers_for(set, false)), model.parameters(), {});
  auto const matrix = nn::evaluate(classifier, set);
  BOOST_TEST(matrix.images() == 150U);
  std::size_t correct = 0;
  for (std::size_t i = 0; i != set.size(); ++i) {
    correct += classifier.predict(set.image(i)).number == set.labels[i] ? 1U : 0U;
  }
  BOOST_TEST(matrix.accuracy() == static_cast<double>(correct) / 150);
  BOOST_CHECK_THROW((void)nn::evaluate(classifier, images(small, 3)), tutti::precondition_error);
  BOOST_CHECK_THROW((void)classifier.predict(std::span(set.pixels).first(783)), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_a_model_whatever_ranks_wrote_it) {
  constexpr tutti::rank_type ranks = 3;
  nn::layer_list<float> const layers{nn::dense<float>(6, 4), nn::batch_norm<float>({4, 1, 1})};
  drawn_model sample(layers, {1, 2, 3}, 4);
  std::span<float const> const weights = sample.model.parameters();
  std::vector<float> const optimizer(weights.size(), 2);
  nn::history results;
  results.steps.push_back({0, 1, 16, 0.5F, 0.25F, 1, 0.1F, 0, 0});
  auto const history = nn::encode(results);
  std::string const strategy;
  // Statistics of rank r: the means r + 1, of r + 1 images; so the mean over the images is 14 / 6.
  auto const statistics_of = [](tutti::rank_type r) {
    std::vector<float> result(8, static_cast<float>(r + 1));
    result.push_back(static_cast<float>(r + 1));
    return result;
  };
  auto const expected_of = [&](nn::rank_memory memory) {
    auto identity = nn::fingerprint().add("data", std::string_view("drawn"));
    return nn::detail::expected_state{
        identity, weights.size(), optimizer.size(), 9, ranks, memory, nn::batch_plan(nn::settings{}, 1280), 3};
  };
  for (auto const kind : {nn::rank_memory::statistics, nn::rank_memory::strategy, nn::rank_memory::replica}) {
    for (bool const is_sharded : {false, true}) {
      if (!is_sharded && kind != nn::rank_memory::statistics) {
        continue;
      }
      scratch const place;
      nn::detail::checkpoint_folder folder(place.path, 2, nn::encode(sample.description));
      auto const expected = expected_of(kind);
      BOOST_REQUIRE(!folder.begin(false, expected).has_value());
      for (std::uint64_t const step : {7U, 8U}) {
        std::vector<nn::detail::file_identity> parts;
        std::vector<float> all_statistics;
        for (tutti::rank_type r = 0; r != ranks; ++r) {
          auto const statistics = statistics_of(r);
          all_statistics.insert(all_statistics.end(), statistics.begin(), statistics.end());
          std::vector<float> local(weights.begin(), weights.end());
          if (kind == nn::rank_memory::replica) {
            local[0] += static_cast<float>(r) - 1;
          }
          if (is_sharded) {
            parts.push_back(folder.write_shard(step, r, ranks, {local, optimizer, statistics, strategy}, kind));
          }
        }
        if (is_sharded) {
          folder.write_manifest(step, {0, step}, history, parts, expected);
        } else {
          folder.write(step, {{0, step}, ranks, weights, optimizer, all_statistics, history}, expected);
        }
      }
      auto const check = [&](std::uint64_t step, std::size_t notes) {
        auto const training = nn::read_checkpoint(place.path);
        BOOST_TEST(training.step == step);
        BOOST_TEST(training.place.batch == step);
        BOOST_TEST(training.ranks == ranks);
        BOOST_TEST(training.settings == "data = drawn\n");
        BOOST_TEST(training.results.steps.at(0).loss == 0.5F);
        BOOST_TEST(training.notes.size() == notes);
        BOOST_TEST(nn::encode(training.model) == nn::encode(sample.description));
        BOOST_TEST(std::ranges::equal(std::span(training.parameters).subspan(1), weights.subspan(1)));
        BOOST_TEST(training.parameters[0] == weights[0], boost::test_tools::tolerance(1e-4F));
        for (float const number : training.statistics) {
          BOOST_TEST(number == 14.0F / 6, boost::test_tools::tolerance(1e-6F));
        }
      };
      check(8, 0);
      auto replica = nn::load_model(place.path);
      BOOST_TEST(replica.predict(sample.set.image(0)).probabilities.size() == 4U);
      auto const last = place.path / "checkpoint-000000000008.tutti";
      fs::resize_file(last, fs::file_size(last) - 1);
      check(7, 1);
      BOOST_TEST(fs::exists(last));  // reading changes nothing
    }
  }
  scratch const place;
  auto const problem = [&] { return error_of<nn::checkpoint_error>([&] { (void)nn::read_checkpoint(place.path); }); };
  BOOST_TEST(has(problem(), "there is none"));
  auto const expected = expected_of(nn::rank_memory::statistics);
  nn::detail::checkpoint_folder folder(place.path);
  BOOST_REQUIRE(!folder.begin(false, expected).has_value());
  folder.write(7, {{0, 7}, 1, weights, optimizer, statistics_of(0), history}, expected);
  BOOST_TEST(has(problem(), "does not describe its model"));
}

BOOST_AUTO_TEST_CASE(modules_are_numbered_as_in_a_sequence_of_torch) {
  nn::layer_list<float> const layers{nn::dense<float, nn::relu>(6, 4), nn::dropout<float>(4, 0.5),
                                     nn::dense<float>(4, 2)};
  std::vector<nn::geometry::variant> descriptions;
  for (auto const& layer : layers) {
    descriptions.push_back(layer.geometry());
  }
  BOOST_TEST((nn::detail::module_names(descriptions) == std::vector<std::string>{"0", "3"}));
}

BOOST_AUTO_TEST_CASE(documents_of_strangers_are_not_believed) {
  auto const document = nn::detail::parse_json(R"({"a": {"b": [3, 4]}, "t": true})", 3);
  nn::detail::json_reader const reader(document, "head");
  BOOST_TEST((reader.member("a").member("b").whole_numbers(4) == std::vector<std::size_t>{3, 4}));
  BOOST_TEST(reader.truth("t"));
  BOOST_CHECK_THROW((void)reader.member("c"), nn::model_error);
  BOOST_CHECK_THROW((void)reader.member("a").member("b").whole_numbers(3), nn::model_error);
  BOOST_CHECK_THROW((void)nn::detail::parse_json(R"({"a": 1, "a": 2})", 3), nn::model_error);
  BOOST_CHECK_THROW((void)nn::detail::parse_json("[[[[1]]]]", 3), nn::model_error);
}

/// Writes models, images and their probabilities into a folder, for the test nn_saved_model_in_numpy.
BOOST_AUTO_TEST_CASE(models_for_other_programs) {
  char const* const folder = std::getenv("TUTTI_SAVED_MODELS");
  if (folder == nullptr) {
    return;
  }
  for (auto& [name, sample] : saved_models()) {
    auto const stem = (fs::path(folder) / name).string();
    nn::save_model(stem + ".safetensors", sample.description, sample.model);
    auto const probabilities = nn::load_model(stem + ".safetensors").probabilities(sample.set.pixels);
    write(stem + ".images", {reinterpret_cast<char const*>(sample.set.pixels.data()), sample.set.pixels.size()});
    write(stem + ".probabilities", {reinterpret_cast<char const*>(probabilities.data()), 4 * probabilities.size()});
  }
}
