// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/image_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/random.h"
#include "tidemark/base/text.h"
#include "tidemark/store/picture.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCifarPixels = 3 * 32 * 32;

unsigned char byte_at(const std::string& text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// Lecun's IDX: two zeros, the type (8: bytes), the number of axes, the axes as big-endian words, the contents.
std::vector<std::int64_t> idx_shape(const std::string& path, const std::string& text, std::size_t axes) {
  if (text.size() < 4 + 4 * axes || byte_at(text, 0) != 0 || byte_at(text, 1) != 0 || byte_at(text, 2) != 8 ||
      byte_at(text, 3) != axes)
    fail(Error::Kind::data, "[images] {}: not an IDX file of bytes with {} axes", path, axes);
  std::vector<std::int64_t> shape;
  std::int64_t total = 1;
  for (std::size_t a = 0; a < axes; ++a) {
    std::int64_t n = 0;
    for (std::size_t k = 0; k < 4; ++k) n = 256 * n + byte_at(text, 4 + 4 * a + k);
    if (n > 0 && total > static_cast<std::int64_t>(text.size()) / n)
      fail(Error::Kind::data, "[images] {}: says more than its {} bytes", path, text.size());
    shape.push_back(n);
    total *= n;
  }
  if (static_cast<std::int64_t>(text.size()) != static_cast<std::int64_t>(4 + 4 * axes) + total)
    fail(Error::Kind::data, "[images] {}: {} bytes vs {} by its header; truncated?", path, text.size(),
         4 + 4 * axes + static_cast<std::size_t>(total));
  return shape;
}

// "train-images-idx3-ubyte" beside "train-labels-idx1-ubyte".
std::string labels_beside(const std::string& images) {
  std::string name = fs::path(images).filename().string();
  for (const auto& [from, to] : {std::pair{"images", "labels"}, {"idx3", "idx1"}}) {
    const std::size_t at = name.rfind(from);
    if (at != std::string::npos) name.replace(at, std::string_view(from).size(), to);
  }
  return (fs::path(images).parent_path() / name).string();
}

bool is_idx_images(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return name.find("images") != std::string::npos && name.find("idx3") != std::string::npos;
}

ImageSet read_idx(const std::string& path) {
  const std::string labels_path = labels_beside(path);
  const std::string pixels = read_file(path), labels = read_file(labels_path);
  const std::vector<std::int64_t> shape = idx_shape(path, pixels, 3),
                                  count = idx_shape(labels_path, labels, 1);
  if (shape[0] != count[0])
    fail(Error::Kind::data, "[images] {} pictures in {} vs {} labels in {}", shape[0], path, count[0],
         labels_path);
  ImageSet set{
      .source = "IDX " + path, .count = shape[0], .channels = 1, .height = shape[1], .width = shape[2]};
  set.pixels.assign(pixels.begin() + 16, pixels.end());
  for (std::size_t i = 8; i < labels.size(); ++i) set.labels.push_back(byte_at(labels, i));
  return set;
}

// Records of a label (CIFAR-10) or a coarse and a fine one (CIFAR-100), then 32 × 32 pixels by channel.
ImageSet read_cifar(const std::vector<std::string>& paths) {
  ImageSet set{.source = "CIFAR " + join(paths, " "), .channels = 3, .height = 32, .width = 32};
  for (const std::string& path : paths) {
    const std::string text = read_file(path);
    const auto size = static_cast<std::int64_t>(text.size());
    const std::int64_t heads = size % (kCifarPixels + 1) == 0 ? 1 : 2;
    if (size == 0 || size % (kCifarPixels + heads) != 0)
      fail(Error::Kind::data,
           "[images] {}: {} bytes vs records of 3073 or 3074; truncated, or not CIFAR's binary form", path,
           size);
    for (std::int64_t at = 0; at < size; at += kCifarPixels + heads) {
      set.labels.push_back(byte_at(text, static_cast<std::size_t>(at + heads - 1)));
      set.pixels.insert(set.pixels.end(), text.begin() + at + heads,
                        text.begin() + at + heads + kCifarPixels);
      ++set.count;
    }
  }
  return set;
}

// Bilinear, pixel centres at halves, edges repeated.
void scale(const std::uint8_t* from, std::int64_t height, std::int64_t width, std::int64_t size, float* to) {
  const auto place = [size](std::int64_t i, std::int64_t n) {
    return std::clamp(
        (static_cast<double>(i) + 0.5) * static_cast<double>(n) / static_cast<double>(size) - 0.5, 0.0,
        static_cast<double>(n - 1));
  };
  for (std::int64_t y = 0; y < size; ++y) {
    const double fy = place(y, height);
    const auto y0 = static_cast<std::int64_t>(fy), y1 = std::min(y0 + 1, height - 1);
    const double wy = fy - static_cast<double>(y0);
    for (std::int64_t x = 0; x < size; ++x) {
      const double fx = place(x, width);
      const auto x0 = static_cast<std::int64_t>(fx), x1 = std::min(x0 + 1, width - 1);
      const double wx = fx - static_cast<double>(x0);
      const double top = from[y0 * width + x0] * (1 - wx) + from[y0 * width + x1] * wx;
      const double low = from[y1 * width + x0] * (1 - wx) + from[y1 * width + x1] * wx;
      *to++ = static_cast<float>(top * (1 - wy) + low * wy);
    }
  }
}

std::vector<std::string> sorted_entries(const std::string& folder, bool folders) {
  std::vector<std::string> names;
  std::error_code ignored;  // a folder that cannot be read has no entries
  for (auto it = fs::directory_iterator(folder, ignored); !ignored && it != fs::directory_iterator();
       it.increment(ignored)) {
    if (folders ? it->is_directory(ignored) : it->is_regular_file(ignored))
      names.push_back(it->path().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ImageSet read_class_folders(const std::string& folder, std::int64_t size) {
  ImageSet set{.source = "pictures of " + folder, .channels = 3, .height = size, .width = size};
  std::vector<float> plane(static_cast<std::size_t>(size * size));
  std::string other;
  for (const std::string& kind : sorted_entries(folder, true)) {
    const std::int64_t before = set.count;
    for (const std::string& path : sorted_entries(kind, false)) {
      if (!is_picture(path)) {
        other = path;
        continue;
      }
      const Picture p = read_picture(path);
      for (std::int64_t c = 0; c < 3; ++c) {
        scale(p.pixels.data() + (p.channels == 3 ? c : 0) * p.height * p.width, p.height, p.width, size,
              plane.data());
        for (const float v : plane) set.pixels.push_back(static_cast<std::uint8_t>(std::lround(v)));
      }
      set.labels.push_back(static_cast<std::int64_t>(set.class_names.size()));
      ++set.count;
    }
    if (set.count > before) set.class_names.push_back(fs::path(kind).filename().string());
  }
  if (set.count == 0)
    fail(Error::Kind::data,
         "[images] {}: no IDX or CIFAR files, and no folders of pictures (.ppm .pgm .png .jpg){}", folder,
         other.empty() ? "" : fmt::format(" ({} is none)", other));
  return set;
}

}  // namespace

ImageSet read_images(const std::string& path, std::int64_t size) {
  std::error_code error;
  ImageSet set;
  if (fs::is_directory(path, error)) {
    std::vector<std::string> cifar;
    std::string idx;
    for (const std::string& file : sorted_entries(path, false)) {
      const std::string name = fs::path(file).filename().string();
      // CIFAR's folder holds a test set too, which is not to train on.
      if (name.ends_with(".bin") && name.find("test") == std::string::npos) cifar.push_back(file);
      if (is_idx_images(file) && (idx.empty() || name.starts_with("train"))) idx = file;
    }
    set = !idx.empty() ? read_idx(idx) : !cifar.empty() ? read_cifar(cifar) : read_class_folders(path, size);
  } else if (path.ends_with(".bin")) {
    set = read_cifar({path});
  } else if (is_idx_images(path)) {
    set = read_idx(path);
  } else if (!fs::exists(path, error)) {
    fail(Error::Kind::io, "[images] {}: no such file or folder", path);
  } else {
    fail(Error::Kind::data,
         "[images] {}: neither an IDX file (…images-idx3…), a CIFAR .bin file nor a folder", path);
  }
  if (set.count == 0 || set.height == 0 || set.width == 0)
    fail(Error::Kind::data, "[images] {}: no pictures", path);
  set.classes = 1 + *std::max_element(set.labels.begin(), set.labels.end());
  return set;
}

ImageBatch image_batch(const ImageSet& set, std::int64_t batch, std::int64_t channels, std::int64_t size,
                       std::uint64_t seed, std::uint64_t step) {
  ImageBatch result;
  const std::int64_t plane = set.height * set.width;
  std::vector<float> scaled(static_cast<std::size_t>(set.channels * size * size));
  result.images.reserve(static_cast<std::size_t>(batch * channels * size * size));
  for (std::int64_t b = 0; b < batch; ++b) {
    const Philox::Block r = Philox::block(seed, static_cast<std::uint64_t>(b), step);
    const std::uint64_t bits = (static_cast<std::uint64_t>(r[0]) << 32) | r[1];
    const auto pick = static_cast<std::int64_t>(
        (static_cast<unsigned __int128>(bits) * static_cast<std::uint64_t>(set.count)) >> 64);
    for (std::int64_t c = 0; c < set.channels; ++c)
      scale(set.pixels.data() + (pick * set.channels + c) * plane, set.height, set.width, size,
            scaled.data() + c * size * size);
    const auto level = [&](std::int64_t c, std::int64_t i) {
      return scaled[static_cast<std::size_t>(c * size * size + i)];
    };
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < size * size; ++i) {
        float v = 0;
        if (set.channels == channels) {
          v = level(c, i);
        } else {
          for (std::int64_t k = 0; k < set.channels; ++k) v += level(k, i);
          v /= static_cast<float>(set.channels);
        }
        result.images.push_back(v / 127.5f - 1);
      }
    }
    result.labels.push_back(set.labels[static_cast<std::size_t>(pick)]);
  }
  return result;
}

}  // namespace tidemark
