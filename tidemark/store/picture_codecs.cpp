// PNG by libpng's simple interface and JPEG by libjpeg, where they were found when this was built.
// SPDX-License-Identifier: Apache-2.0
#include <span>

#include "tidemark/base/error.h"
#include "tidemark/store/picture.h"

#ifdef TIDEMARK_WITH_PNG
#include <png.h>
#endif
#ifdef TIDEMARK_WITH_JPEG
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
#endif

namespace tidemark {
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

// Channel beside channel to channel after channel.
[[maybe_unused]] Picture apart(const std::vector<std::uint8_t>& mixed, std::int64_t channels,
                               std::int64_t height, std::int64_t width) {
  Picture p{.channels = channels, .height = height, .width = width};
  p.pixels.resize(mixed.size());
  const std::int64_t plane = height * width;
  for (std::int64_t i = 0; i < plane; ++i) {
    for (std::int64_t c = 0; c < channels; ++c)
      p.pixels[static_cast<std::size_t>(c * plane + i)] = mixed[static_cast<std::size_t>(i * channels + c)];
  }
  return p;
}

}  // namespace

#ifdef TIDEMARK_WITH_PNG
Picture decode_png(const std::string& path, const std::string& contents) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto bad = [&] {
    const std::string why = image.message;
    png_image_free(&image);
    fail(Error::Kind::data, "[images] {}: {}", path, why);
  };
  if (png_image_begin_read_from_memory(&image, contents.data(), contents.size()) == 0) bad();
  if (static_cast<std::int64_t>(image.width) * image.height > kMostPixels) {
    png_image_free(&image);
    fail(Error::Kind::data, "[images] {}: {} x {} pixels are too many", path, image.width, image.height);
  }
  const bool colour = (image.format & PNG_FORMAT_FLAG_COLOR) != 0;
  image.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::vector<std::uint8_t> mixed(PNG_IMAGE_SIZE(image));
  const png_color black{0, 0, 0};  // behind what is transparent
  if (png_image_finish_read(&image, &black, mixed.data(), 0, nullptr) == 0) bad();
  return apart(mixed, colour ? 3 : 1, image.height, image.width);
}
#else
Picture decode_png(const std::string& path, const std::string&) {
  fail(Error::Kind::unsupported, "[images] {}: built without libpng; convert it to .ppm", path);
}
#endif

#ifdef TIDEMARK_WITH_JPEG
namespace {

struct Escape {
  jpeg_error_mgr base;
  std::jmp_buf out;
  char message[JMSG_LENGTH_MAX];
};

// C only between setjmp and longjmp: nothing here has a destructor. Without `rows`, only the header is read. False:
// escape.message says why.
bool jpeg_rows(jpeg_decompress_struct& jpeg, Escape& escape, std::span<const unsigned char> contents,
               std::uint8_t* rows, std::int64_t stride) {
  if (setjmp(escape.out) != 0) return false;
  if (rows == nullptr) {
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, contents.data(), contents.size());
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = jpeg.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_calc_output_dimensions(&jpeg);
    return true;
  }
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = rows + static_cast<std::int64_t>(jpeg.output_scanline) * stride;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

}  // namespace

Picture decode_jpeg(const std::string& path, const std::string& contents) {
  jpeg_decompress_struct jpeg{};
  Escape escape{};
  jpeg.err = jpeg_std_error(&escape.base);
  escape.base.error_exit = [](j_common_ptr info) {
    auto* e = reinterpret_cast<Escape*>(info->err);
    e->base.format_message(info, e->message);
    std::longjmp(e->out, 1);
  };
  // A truncated file is a warning of the library's, and an error of ours.
  escape.base.emit_message = [](j_common_ptr info, int level) {
    if (level < 0) info->err->error_exit(info);
  };
  const std::span<const unsigned char> bytes(reinterpret_cast<const unsigned char*>(contents.data()),
                                             contents.size());
  const auto bad = [&](const std::string& why) {
    jpeg_destroy_decompress(&jpeg);
    fail(Error::Kind::data, "[images] {}: {}", path, why);
  };
  if (!jpeg_rows(jpeg, escape, bytes, nullptr, 0)) bad(escape.message);
  const std::int64_t channels = jpeg.out_color_space == JCS_GRAYSCALE ? 1 : 3, height = jpeg.output_height,
                     width = jpeg.output_width;
  if (height * width > kMostPixels) bad("too many pixels");
  std::vector<std::uint8_t> mixed(static_cast<std::size_t>(channels * height * width));
  if (!jpeg_rows(jpeg, escape, bytes, mixed.data(), channels * width)) bad(escape.message);
  jpeg_destroy_decompress(&jpeg);
  return apart(mixed, channels, height, width);
}
#else
Picture decode_jpeg(const std::string& path, const std::string&) {
  fail(Error::Kind::unsupported, "[images] {}: built without libjpeg; convert it to .ppm", path);
}
#endif

}  // namespace tidemark
