// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/json_read.h"
#include "tidemark/runtime/profile.h"
#include "tidemark/runtime/shipped.h"

namespace tidemark {
namespace {

namespace json = plan::json;
using json::Element;
using json::Place;

constexpr const char* kDocument = "profile";

double read_positive(Element e, const Place& place) {
  const double x = json::read_double(e, place);
  if (!(x > 0)) json::refuse(place, "is not positive");
  return x;
}

double read_amount(Element e, const Place& place) {
  const double x = json::read_double(e, place);
  if (x < 0) json::refuse(place, "is negative");
  return x;
}

// 0: whatever there are, of a device that is not a CPU.
int read_threads(Element e, const Place& place) {
  const std::int64_t threads = json::read_integer(e, place);
  if (threads < 0 || threads > std::numeric_limits<int>::max())
    json::refuse(place, fmt::format("{} is no number of threads", threads));
  return static_cast<int>(threads);
}

Roofline read_roofline(Element element, const Place& place) {
  static constexpr std::string_view names[] = {"flops_per_second", "bytes_per_second", "seconds_per_task"};
  Roofline r;
  const auto seen = json::read_object(element, place, names, [&](std::size_t field, Element e) {
    const Place here = place.of(names[field]);
    if (field == 0) r.flops_per_second = read_positive(e, here);
    if (field == 1) r.bytes_per_second = read_positive(e, here);
    if (field == 2) r.seconds_per_task = read_amount(e, here);
  });
  for (const std::size_t needed : {0, 1, 2}) {
    if (!json::has(seen, needed)) json::refuse(place, fmt::format("has no {}", names[needed]));
  }
  return r;
}

void read_points(Element element, DeviceProfile& profile) {
  static constexpr std::string_view names[] = {"key", "op", "flops", "bytes", "seconds", "runs"};
  std::int64_t index = 0;
  for (const Element one : json::read_array(element, {kDocument, "points"})) {
    const Place place{kDocument, "points", index++};
    Measured m{.runs = 1};
    std::string key;
    const auto seen = json::read_object(one, place, names, [&](std::size_t field, Element e) {
      const Place here = place.of(names[field]);
      if (field == 0) key = json::read_string(e, here);
      if (field == 1) m.op = json::read_string(e, here);
      if (field == 2) m.cost.flops = read_amount(e, here);
      if (field == 3) m.cost.bytes = read_amount(e, here);
      if (field == 4) m.seconds = read_positive(e, here);
      if (field == 5) m.runs = json::read_integer(e, here);
    });
    for (const std::size_t needed : {0, 1, 2, 3, 4}) {
      if (!json::has(seen, needed)) json::refuse(place, fmt::format("has no {}", names[needed]));
    }
    if (!profile.points.emplace(key, std::move(m)).second)
      json::refuse(place, fmt::format("'{}' twice", key));
  }
}

void write(JsonWriter& w, const Roofline& r) {
  w.begin_object()
      .field("flops_per_second", r.flops_per_second)
      .field("bytes_per_second", r.bytes_per_second)
      .field("seconds_per_task", r.seconds_per_task)
      .end_object();
}

}  // namespace

DeviceProfile read_profile(std::string_view text) {
  const json::Document document(kDocument, text);
  static constexpr std::string_view names[] = {"format", "version",  "device", "threads", "library",
                                               "made",   "roofline", "ops",    "points"};
  DeviceProfile profile;
  const Place root{kDocument};
  json::expect_format(document.root(), kDocument, "tidemark-profile");
  const auto seen = json::read_object(document.root(), root, names, [&](std::size_t field, Element e) {
    const Place here = root.of(field < std::size(names) ? names[field] : "");
    switch (field) {
      case 2:
        profile.device = json::read_string(e, here);
        break;
      case 3:
        profile.threads = read_threads(e, here);
        break;
      case 4:
        profile.library = json::read_string(e, here);
        break;
      case 5:
        profile.made = json::read_string(e, here);
        break;
      case 6:
        profile.roofline = read_roofline(e, here);
        break;
      case 7: {
        simdjson::dom::object ops;
        if (e.get(ops) != simdjson::SUCCESS) json::refuse(here, "is not an object");
        for (const auto& [key, value] : ops) {
          const Place op{kDocument, "ops", -1, key};
          if (!profile.ops.emplace(key, read_roofline(value, op)).second) json::refuse(op, "is there twice");
        }
        break;
      }
      case 8:
        read_points(e, profile);
        break;
    }
  });
  for (const std::size_t needed : {2, 6}) {
    if (!json::has(seen, needed)) json::refuse(root, fmt::format("has no {}", names[needed]));
  }
  return profile;
}

std::string write_profile(const DeviceProfile& profile) {
  JsonWriter w;
  w.begin_object().field("format", "tidemark-profile").field("version", 1).field("device", profile.device);
  w.field("threads", profile.threads).field("library", profile.library).field("made", profile.made);
  w.new_line().key("roofline");
  write(w, profile.roofline);
  w.new_line().key("ops").begin_object();
  for (const auto& [op, r] : profile.ops) {
    w.new_line().key(op);
    write(w, r);
  }
  w.end_object().new_line().key("points").begin_array();
  for (const auto& [key, m] : profile.points) {
    w.new_line()
        .begin_object()
        .field("key", key)
        .field("op", m.op)
        .field("flops", m.cost.flops)
        .field("bytes", m.cost.bytes);
    w.field("seconds", m.seconds).field("runs", m.runs).end_object();
  }
  w.end_array().end_object();
  return w.take() + "\n";
}

std::vector<std::string> shipped_profiles() {
  std::vector<std::string> names;
  for (const auto& [name, text] : shipped::kProfiles) names.emplace_back(name);
  return names;
}

DeviceProfile load_profile(const std::string& name_or_path) {
  for (const auto& [name, text] : shipped::kProfiles) {
    if (name == name_or_path) return read_profile(text);
  }
  if (name_or_path.find('.') == std::string::npos && name_or_path.find('/') == std::string::npos) {
    fail(Error::Kind::usage,
         "[profile] '{}' is none of the shipped profiles ({}), nor the name of a .json file", name_or_path,
         join(shipped_profiles(), ", "));
  }
  const std::string text = read_file(name_or_path);
  try {
    return read_profile(text);
  } catch (const Error& e) {
    fail(e.kind(), "{} ({}); measure it anew with tidemark profile -o {}", e.what(), name_or_path,
         name_or_path);
  }
}

std::shared_ptr<const DeviceProfile> device_profile(const std::string& name_or_path) {
  return std::make_shared<const DeviceProfile>(load_profile(name_or_path));
}

}  // namespace tidemark
