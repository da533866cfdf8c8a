// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/picture.h"

#include <algorithm>
#include <cctype>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"

namespace tidemark {
namespace {

std::string ending(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  std::string text = dot == std::string::npos ? "" : path.substr(dot + 1);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

unsigned char byte_at(const std::string& text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// PGM and PPM, plain (P2, P3) and raw (P5, P6), 8 or 16 bits.
Picture decode_pnm(const std::string& path, const std::string& text) {
  std::size_t at = 2;
  const auto bad = [&](const char* what) { fail(Error::Kind::data, "[images] {}: {}", path, what); };
  if (text.size() < 8 || text[0] != 'P' || std::string_view("2356").find(text[1]) == std::string_view::npos)
    bad("not a PGM or PPM file");
  const auto number = [&] {
    for (; at < text.size() && (std::isspace(byte_at(text, at)) != 0 || text[at] == '#'); ++at) {
      if (text[at] == '#') at = std::min(text.find('\n', at), text.size() - 1);
    }
    std::int64_t n = 0;
    const std::size_t begin = at;
    for (; at < text.size() && std::isdigit(byte_at(text, at)) != 0 && n < 1'000'000; ++at)
      n = 10 * n + (text[at] - '0');
    if (at == begin) bad("a number is missing");
    return n;
  };
  const bool plain = text[1] < '4';
  Picture p{.channels = text[1] == '3' || text[1] == '6' ? 3 : 1};
  p.width = number();
  p.height = number();
  const std::int64_t most = number();
  if (p.width < 1 || p.height < 1 || p.width > 65536 || p.height > 65536 || most < 1 || most > 65535)
    bad("sizes that are none");
  ++at;  // the one blank behind the header
  const std::int64_t depth = most > 255 ? 2 : 1, n = p.channels * p.height * p.width;
  if (!plain && static_cast<std::int64_t>(text.size() - std::min(at, text.size())) < n * depth)
    bad("truncated");
  if (plain && static_cast<std::int64_t>(text.size()) < n) bad("truncated");
  p.pixels.resize(static_cast<std::size_t>(n));
  const std::int64_t plane = p.height * p.width;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t v = 0;
    if (plain) {
      v = number();
    } else {
      for (std::int64_t k = 0; k < depth; ++k) v = 256 * v + byte_at(text, at++);
    }
    p.pixels[static_cast<std::size_t>((i % p.channels) * plane + i / p.channels)] =
        static_cast<std::uint8_t>(std::min<std::int64_t>(255, v * 255 / most));
  }
  return p;
}

}  // namespace

bool is_picture(const std::string& path) {
  const std::string kind = ending(path);
  return kind == "pgm" || kind == "ppm" || kind == "png" || kind == "jpg" || kind == "jpeg";
}

Picture read_picture(const std::string& path) {
  const std::string text = read_file(path), kind = ending(path);
  if (kind == "png") return decode_png(path, text);
  if (kind == "jpg" || kind == "jpeg") return decode_jpeg(path, text);
  return decode_pnm(path, text);
}

}  // namespace tidemark
