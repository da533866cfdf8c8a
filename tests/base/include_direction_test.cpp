// The table of docs/design.md: which folder may include which. A scan of #include lines keeps it true.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace {

using Folders = std::set<std::string>;

const std::map<std::string, Folders>& may_include() {
  static const std::map<std::string, Folders> table = [] {
    std::map<std::string, Folders> t{
        {"base", {}},
        {"store", {"base"}},
        {"schedule", {"base"}},
        {"plan", {"base", "schedule"}},
        {"ir", {"base"}},
        {"kernels", {"base", "ir"}},
        {"ops", {"base", "ir", "kernels"}},
        {"grad", {"base", "ir", "ops"}},
        {"runtime", {"base", "store", "schedule", "plan", "ir", "kernels", "ops"}},
        {"front", {"base", "ir", "ops", "grad", "runtime"}},
        {"tape", {"base", "store", "schedule"}},
        {"emit", {"base", "ir", "ops", "runtime"}},
        {"nn", {"base", "front", "ops", "ir"}},
    };
    Folders all;
    for (const auto& [name, _] : t) all.insert(name);
    all.erase("nn");
    t["compile"] = all;
    all.insert({"compile", "nn"});
    t["onnx"] = t["report"] = all;
    all.insert({"onnx", "report"});
    t["cli"] = t["python"] = all;
    return t;
  }();
  return table;
}

TEST(IncludeDirection, FollowsTheTable) {
  const std::filesystem::path root = std::filesystem::path(TIDEMARK_SOURCE_DIR) / "tidemark";
  const std::regex include(R"re(^\s*#\s*include\s+"([^"]*)")re");
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
    ++files;
    const std::string folder = std::filesystem::relative(entry.path(), root).begin()->string();
    if (folder.find('.') != std::string::npos) continue;  // tidemark/tidemark.h: the umbrella
    ASSERT_TRUE(may_include().count(folder)) << folder << " is not in the table";
    std::ifstream in(entry.path());
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      std::smatch m;
      if (!std::regex_search(line, m, include)) continue;
      const std::string target = m[1];
      ASSERT_EQ(target.rfind("tidemark/", 0), 0u) << entry.path() << ":" << number << ": write \"tidemark/...\"";
      const std::string other = target.substr(9, target.find('/', 9) - 9);
      EXPECT_TRUE(other == folder || may_include().at(folder).count(other))
          << entry.path() << ":" << number << ": " << folder << " may not include " << other;
    }
  }
  EXPECT_GT(files, 10);
}

}  // namespace
