// Pictures to train on, drawn from a counter: coloured shapes of eight kinds on a noisy ground.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tidemark/base/api.h"

namespace tidemark {

// Disc, ring, square, frame, cross, stripes along, stripes across, diamond.
inline constexpr std::int64_t kShapeClasses = 8;

struct ImageBatch {
  std::vector<float> images;         // (batch, channels, size, size), about in [-1, 1]
  std::vector<std::int64_t> labels;  // (batch), or one for each pixel
};
struct ShapeOptions {
  std::int64_t channels = 3;  // each with a colour of its own
  // A label for each pixel: 0 outside the shape; inside 1 + its kind, or 1 where there are not so many classes.
  bool pixel_labels = false;
  std::int64_t classes = kShapeClasses;  // for pixel labels
};
// Picture b of step s is the same whatever else is asked for.
TIDEMARK_API ImageBatch shape_images(std::int64_t batch, std::int64_t size, std::uint64_t seed,
                                     std::uint64_t step, const ShapeOptions& options = {});

}  // namespace tidemark
