// Labelled pictures from files: IDX (MNIST), CIFAR's binary form, and folders of pictures by class. Pixels are bytes;
// image_batch scales, colours and normalises what a model asks for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tidemark/store/image_data.h"

namespace tidemark {

struct ImageSet {
  std::string source;  // for people: the form and the place
  std::int64_t count = 0, channels = 0, height = 0, width = 0, classes = 0;
  std::vector<std::uint8_t> pixels;  // (count, channels, height, width)
  std::vector<std::int64_t> labels;  // (count), below classes
  std::vector<std::string> class_names;
};

// `path` is an IDX file of images beside its labels, a CIFAR .bin file or a folder of them, a folder with either, or one
// with a folder of pictures (picture.h) for each class (scaled to size × size). Throws Error(io), or Error(data) naming the
// file and what is wrong with it.
TIDEMARK_API ImageSet read_images(const std::string& path, std::int64_t size);

// Pictures drawn for (seed, step), as (batch, channels, size, size) about in [-1, 1]: scaled bilinearly, grey ones repeated,
// coloured ones averaged where the channels differ.
TIDEMARK_API ImageBatch image_batch(const ImageSet& set, std::int64_t batch, std::int64_t channels,
                                    std::int64_t size, std::uint64_t seed, std::uint64_t step);

}  // namespace tidemark
