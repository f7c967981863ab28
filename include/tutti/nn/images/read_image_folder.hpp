// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace tutti::inline v0_1_0::nn {

/// The form of the images that are read from pictures, and the memory for them.
struct image_options {
  std::size_t side = 32;     ///< rows and columns of an image, from 1 to 4096
  std::size_t channels = 0;  ///< 1: grey; 3: colour; 0: grey if all pictures are grey, otherwise colour
  /// The memory in which each set may keep decoded images. Those for which there is no space are decoded again each
  /// time.
  std::uint64_t cache_bytes = std::uint64_t{4} << 30;
};

/// Opens a folder with a subfolder for each class, `FOLDER/CLASS/*.png`, or with such folders for a training set,
/// `FOLDER/train/CLASS/*.png`, and for a test set, `FOLDER/test/CLASS/*.png`; the latter may also be called val, valid
/// or validation. Pictures are PNG or JPEG files. The classes are the subfolders in the order of their names.
///
/// Now the header of each picture is read. Pictures are decoded as read_image does when their images are needed. A
/// decoded image is kept. Processes forked after this call share the images that any of them has decoded.
/// @throws data_error if there is any other file, except hidden ones and those of systems, such as Thumbs.db, if a
/// picture's header is damaged, if there are more than 256 classes, or if a class of the test set is not in the
/// training set. The images' store throws it if a picture is damaged further on.
/// @pre options as their comments say
[[nodiscard]] TUTTI_DECL data_pair read_image_folder(std::filesystem::path const& folder,
                                                     image_options const& options = {});

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/images/read_image_folder.ipp>
#endif
