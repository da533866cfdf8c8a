// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/image_data.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tidemark/base/random.h"

namespace tidemark {
namespace {

// Whether (x, y), relative to the centre and in units of the radius, belongs to the shape.
bool inside(std::int64_t kind, double x, double y) {
  const double ax = std::abs(x), ay = std::abs(y), r = std::sqrt(x * x + y * y), side = std::max(ax, ay);
  switch (kind) {
    case 0:
      return r < 1;
    case 1:
      return r < 1 && r > 0.6;
    case 2:
      return side < 0.85;
    case 3:
      return side < 0.95 && side > 0.6;
    case 4:
      return side < 1 && std::min(ax, ay) < 0.3;
    case 5:
      return side < 1 && std::fmod(y + 4, 0.8) < 0.4;
    case 6:
      return side < 1 && std::fmod(x + 4, 0.8) < 0.4;
    default:
      return ax + ay < 1.1;
  }
}

}  // namespace

ImageBatch shape_images(std::int64_t batch, std::int64_t size, std::uint64_t seed, std::uint64_t step,
                        const ShapeOptions& options) {
  const auto channels = static_cast<std::size_t>(options.channels);
  ImageBatch result;
  result.images.reserve(static_cast<std::size_t>(batch * options.channels * size * size));
  for (std::int64_t b = 0; b < batch; ++b) {
    // One stream for each picture: block 0 says what is drawn, the others are noise.
    const auto picture = (step << 20) + static_cast<std::uint64_t>(b);
    const Philox::Block what = Philox::block(seed, 0, picture), tint = Philox::block(seed, 1, picture);
    const auto kind = static_cast<std::int64_t>(what[0] % kShapeClasses);
    const double radius = static_cast<double>(size) * (0.22 + 0.18 * uniform_float(what[1]));
    const auto centre = [&](std::uint32_t bits) {
      return radius + (static_cast<double>(size) - 2 * radius) * uniform_float(bits);
    };
    const double cx = centre(what[2]), cy = centre(what[3]);
    if (!options.pixel_labels) result.labels.push_back(kind);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      const double colour = 0.3 + 0.7 * uniform_float(tint[channel % 4]);
      for (std::int64_t y = 0; y < size; ++y) {
        for (std::int64_t x = 0; x < size; ++x) {
          const auto at =
              static_cast<std::uint64_t>((static_cast<std::int64_t>(channel) * size + y) * size + x);
          const double noise = 0.6 * (uniform_float(Philox::block(seed, 2 + at / 4, picture)[at % 4]) - 0.5);
          const bool in = inside(kind, (static_cast<double>(x) + 0.5 - cx) / radius,
                                 (static_cast<double>(y) + 0.5 - cy) / radius);
          if (options.pixel_labels && channel == 0)
            result.labels.push_back(!in ? 0 : options.classes > kShapeClasses ? 1 + kind : 1);
          result.images.push_back(static_cast<float>((in ? colour : -0.5) + noise));
        }
      }
    }
  }
  return result;
}

}  // namespace tidemark
