// One picture from a file, as bytes: PGM and PPM always, PNG and JPEG where their libraries were found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/base/api.h"

namespace tidemark {

struct Picture {
  std::int64_t channels = 0, height = 0, width = 0;  // 1 (grey) or 3 channels
  std::vector<std::uint8_t> pixels;                  // (channels, height, width)
};

// By the ending of the name: .pgm .ppm .png .jpg .jpeg.
TIDEMARK_API bool is_picture(const std::string& path);
// Throws Error(data) naming the file and what is wrong with it, Error(unsupported) where the library was left out.
TIDEMARK_API Picture read_picture(const std::string& path);

// For read_picture, in picture_codecs.cpp.
Picture decode_png(const std::string& path, const std::string& contents);
Picture decode_jpeg(const std::string& path, const std::string& contents);

}  // namespace tidemark
