// SPDX-License-Identifier: Apache-2.0
//
// The files of the trainer: data sets, checkpoints and saved models. The first byte picks a format.
#include <fuzz/fuzz.hpp>
#include <fuzz/memory_file.hpp>
#include <fuzz/memory_folder.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/checkpoint/read_checkpoint.hpp>
#include <tutti/nn/data/idx.hpp>
#include <tutti/nn/data/npy.hpp>
#include <tutti/nn/detail/checkpoint/format.hpp>
#include <tutti/nn/detail/checkpoint/names.hpp>
#include <tutti/nn/detail/data/cifar.hpp>
#include <tutti/nn/detail/saved_model/tensor_file.hpp>
#include <tutti/nn/saved_model/base/description.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace nn = tutti::nn;

void expect_images(nn::dataset const& set) {
  fuzz::expect(set.size() != 0 && set.labels.size() * set.features() == set.pixels.size(), "each label has an image");
  for (std::uint8_t const label : set.labels) {
    fuzz::expect(label < set.classes, "each label is one of the classes");
  }
}

/// Images and labels in two files.
template <class Read>
void read_pair(fuzz::input words, Read const& read) {
  fuzz::memory_file const images(words.text());
  fuzz::memory_file const labels(words.rest());
  try {
    expect_images(read(images.path(), labels.path()));
  } catch (nn::data_error const&) {
  }
}

void read_cifar(fuzz::input words) {
  auto const& kind = words.choice(2) == 0 ? nn::detail::cifar_10 : nn::detail::cifar_100;
  fuzz::memory_file const file(words.rest());
  try {
    std::filesystem::path const paths[] = {file.path()};
    expect_images(nn::detail::read_cifar(kind, paths));
  } catch (nn::data_error const&) {
  }
  try {
    fuzz::expect(nn::detail::read_class_names(file.path(), 10).size() == 10, "each class has a name");
  } catch (nn::data_error const&) {
  }
}

/// A file of sections whose checksums are right.
std::string sections(fuzz::input& words, std::string_view shards, nn::detail::file_identity& identity) {
  std::vector<nn::detail::table_entry> table(words.choice(12));
  std::string contents;
  for (auto& entry : table) {
    entry.id = static_cast<std::uint32_t>(words.choice(13));
    std::string_view const text = words.text();
    std::string_view const bytes = entry.id == 7 && !shards.empty() ? shards : text;
    entry.checksum = nn::detail::checksum(std::as_bytes(std::span(bytes)));
    entry.length = bytes.size();
    contents += bytes;
  }
  nn::detail::file_head head;
  head.sections = static_cast<std::uint32_t>(table.size());
  head.length = sizeof head + table.size() * sizeof table[0] + 4 + contents.size();
  std::string front(reinterpret_cast<char const*>(&head), sizeof head);
  front.append(reinterpret_cast<char const*>(table.data()), table.size() * sizeof table[0]);
  std::uint32_t const sum = nn::detail::checksum(std::as_bytes(std::span(front)));
  identity = {head.length, sum};
  return front.append(reinterpret_cast<char const*>(&sum), sizeof sum) + contents;
}

void read_checkpoint(fuzz::input words) {
  static fuzz::memory_folder const folder("checkpoints");
  folder.empty();
  nn::detail::checkpoint_names const names(folder.path());
  nn::detail::file_identity identity;
  std::string shards;
  if (words.choice(4) == 0) {
    folder.write(names.whole(7).filename(), 0, std::string(words.rest()));
  } else {
    auto const ranks = static_cast<tutti::rank_type>(words.choice(3));
    for (tutti::rank_type r = 0; r != ranks; ++r) {
      folder.write(names.part(7, r, ranks).filename(), 0, sections(words, {}, identity));
      std::uint64_t const record[] = {identity.length, identity.checksum};
      shards.append(reinterpret_cast<char const*>(record), sizeof record);
    }
    folder.write(names.whole(7).filename(), 0, sections(words, shards, identity));
  }
  try {
    nn::saved_training const training = nn::read_checkpoint(folder.path());
    auto const sizes = nn::detail::sizes_of(training.model.layers);
    fuzz::expect(training.parameters.size() == sizes.parameters && training.statistics.size() == sizes.statistics,
                 "a model has its weights");
  } catch (nn::checkpoint_error const&) {
  }
}

void read_tensors(std::string_view bytes) {
  fuzz::memory_file const file(bytes);
  try {
    nn::detail::tensor_file const tensors(file.path());
    for (auto const& tensor : tensors.tensors()) {
      fuzz::expect(tensor.begin <= tensor.end && tensor.end <= bytes.size(), "a tensor is in its file");
      fuzz::expect(tensors.find(tensor.name) != nullptr, "a tensor is found by its name");
      if (tensor.type == "F32") {
        std::vector<float> numbers(static_cast<std::size_t>(tensor.end - tensor.begin) / sizeof(float));
        tensors.read(tensor, numbers);
      }
    }
  } catch (nn::model_error const&) {
  }
}

void read_description(std::string_view text) {
  try {
    nn::model_description const model = nn::decode_description(text);
    std::string const again = encode(model);
    fuzz::expect(encode(nn::decode_description(again)) == again, "a description is encoded to the same text");
  } catch (nn::model_error const&) {
  }
}

void read_history(std::string_view bytes) {
  nn::history history;
  if (decode(bytes, history)) {
    nn::history copy;
    fuzz::expect(decode(encode(history), copy) && encode(copy) == encode(history),
                 "a history is encoded to the same bytes");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // Unpacked data may be a hundred times as long.
  fuzz::memory_limit const limit((1U << 20) + 512 * size);
  fuzz::input words(data, size);
  switch (words.choice(7)) {
    case 0:
      read_pair(words, nn::read_idx);
      break;
    case 1:
      read_pair(words, nn::read_npy);
      break;
    case 2:
      read_cifar(words);
      break;
    case 3:
      read_checkpoint(words);
      break;
    case 4:
      read_tensors(words.rest());
      break;
    case 5:
      read_description(words.rest());
      break;
    default:
      read_history(words.rest());
  }
  return 0;
}
