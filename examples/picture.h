// Pictures of results, as SVG: curves over one another, maps of numbers, points. For the examples that are given a file to write.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

class Picture {
 public:
  Picture(double width, double height, const std::string& title) : width_(width), height_(height) {
    text(8, 16, title);
  }
  void text(double x, double y, const std::string& words, const std::string& colour = "#222") {
    body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\">{}</text>\n", x, y, colour, words);
  }
  // Points of one curve, in the picture's own coordinates.
  void curve(const std::vector<std::pair<double, double>>& points, const std::string& colour,
             double wide = 1.5) {
    body_ += "<polyline fill=\"none\" stroke=\"" + colour +
             fmt::format("\" stroke-width=\"{:.1f}\" points=\"", wide);
    for (const auto& [x, y] : points) body_ += fmt::format("{:.1f},{:.1f} ", x, y);
    body_ += "\"/>\n";
  }
  void dot(double x, double y, double radius, const std::string& colour) {
    body_ +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"/>\n", x, y, radius, colour);
  }
  // y over its index, between low and high, in a box.
  void plot(const std::vector<double>& y, double left, double top, double wide, double high, double low_y,
            double high_y, const std::string& colour) {
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i < y.size(); ++i)
      points.emplace_back(
          left + wide * static_cast<double>(i) / static_cast<double>(std::max<std::size_t>(y.size() - 1, 1)),
          top + high * (high_y - y[i]) / (high_y - low_y));
    curve(points, colour);
  }
  // Rows of cells from blue (low) to red (high).
  void map(const std::vector<double>& cells, std::size_t columns, double left, double top, double cell,
           double low, double high) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const double t = std::clamp((cells[i] - low) / (high - low), 0.0, 1.0);
      const auto red = static_cast<int>(255 * std::min(1.0, 2 * t)),
                 blue = static_cast<int>(255 * std::min(1.0, 2 - 2 * t));
      body_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "fill=\"#{:02x}{:02x}{:02x}\"/>\n",
          left + cell * static_cast<double>(i % columns), top + cell * static_cast<double>(i / columns), cell,
          cell, red, std::min(red, blue), blue);
    }
  }
  void write(const std::string& file) const {
    std::ofstream(file) << fmt::format(
                               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                               "viewBox=\"0 0 {0} {1}\" "
                               "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" "
                               "height=\"{1}\" fill=\"#fff\"/>\n",
                               width_, height_)
                        << body_ << "</svg>\n";
  }

 private:
  double width_, height_;
  std::string body_;
};
