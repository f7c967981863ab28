// SPDX-License-Identifier: Apache-2.0
//
// The reading of pictures, compiled once if TUTTI_SEPARATE_COMPILATION is defined. Add this file to a program, or link
// tutti::nn_images_compiled.

#ifndef TUTTI_SEPARATE_COMPILATION
#error "define TUTTI_SEPARATE_COMPILATION for all units of the program, this one included"
#endif

#include <tutti/nn/images/detail/jpeg.ipp>
#include <tutti/nn/images/detail/picture_cache.ipp>
#include <tutti/nn/images/detail/picture_file.ipp>
#include <tutti/nn/images/detail/picture_names.ipp>
#include <tutti/nn/images/detail/png.ipp>
#include <tutti/nn/images/detail/scaling.ipp>
#include <tutti/nn/images/read_folder.ipp>
#include <tutti/nn/images/read_image.ipp>
#include <tutti/nn/images/read_image_folder.ipp>
