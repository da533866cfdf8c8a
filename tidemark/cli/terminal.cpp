// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/terminal.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "tidemark/base/text.h"
#include "tidemark/cli/verb.h"
#include "tidemark/compile/refusal.h"

namespace tidemark::cli {
namespace {

std::atomic<bool> interrupted_flag = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

void catch_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted_flag = true; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

EndAtInterrupt::EndAtInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    constexpr std::string_view kText = "\ntidemark: interrupted before anything ran\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText.data(), kText.size());
    _exit(Exit::interrupted);
  };
  sigaction(SIGINT, &action, nullptr);
  if (was_interrupted()) raise(SIGINT);  // a moment ago
}

EndAtInterrupt::~EndAtInterrupt() { catch_interrupt(); }

bool was_interrupted() { return interrupted_flag; }
const std::atomic<bool>& interrupt_flag() { return interrupted_flag; }

double cpu_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }
Bytes physical_memory() { return static_cast<Bytes>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE); }
Bytes available_memory() {
  Bytes bytes = physical_memory();
  std::ifstream info("/proc/meminfo");
  for (std::string name, unit; info >> name;) {
    Bytes kib = 0;
    if (name == "MemAvailable:" && info >> kib) bytes = std::min(bytes, kib * 1024);
    std::getline(info, unit);
  }
  // Of a container; "max" where it has no limit of its own.
  if (Bytes limit = 0; std::ifstream("/sys/fs/cgroup/memory.max") >> limit) bytes = std::min(bytes, limit);
  return bytes;
}
double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

std::string printable(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool control = (c < 0x20 && c != '\n') || c == 0x7f;
    // U+0080 to U+009F in UTF-8: the same commands in one character.
    const bool wide = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (control) text[i] = '?';
    if (wide) text.replace(i, 2, "?");
  }
  return text;
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', '?');
  return printable(std::move(text));
}

std::string text_of(const Error& error) {
  std::string text = error.what();
  for (const std::string_view cure : {kTierHelps, kTierForState}) {
    if (const std::size_t at = text.find(cure); at != std::string::npos) text.erase(at, cure.size());
  }
  // Changes that fit are named as C++ has them.
  for (const auto& [cpp, ours] :
       {std::pair(".micro_batches = ", "--micro-batches "), std::pair(".tiers = {host(", "--host ")}) {
    const std::string_view old = cpp;
    const std::size_t at = text.find(old);
    if (at == std::string::npos) continue;
    text.replace(at, old.size(), ours);
    if (const std::size_t end = text.find(")}", at); old.ends_with('(') && end != std::string::npos)
      text.erase(end, 2);
  }
  return text;
}

double parse_seconds(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = trim({rest, static_cast<std::size_t>(text.data() + text.size() - rest)});
  double factor = 0;
  if (unit.empty() || unit == "s") factor = 1;
  if (unit == "ms") factor = 1e-3;
  if (unit == "min") factor = 60;
  if (unit == "h") factor = 3600;
  if (error != std::errc() || factor == 0 || !(number >= 0 && number <= 1e9)) {
    fail(Error::Kind::usage, "[time] '{}' is not a time; write for example 1s, 500ms or 2min", text);
  }
  return number * factor;
}

std::string strong(const std::string& text) {
  static const bool wanted = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return wanted ? "\033[1m" + text + "\033[0m" : text;
}

std::string format_percent(double fraction) {
  // Below that it is the rounding of sums.
  const double percent = std::abs(fraction) < 1e-12 ? 0 : 100 * fraction;
  return fmt::format("{:.{}f} %", percent, std::abs(percent) < 0.1 && percent != 0 ? 4 : 2);
}

void expect_writable(const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path file(path);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error))
    fail(Error::Kind::io, "[output] {}: {} is not a folder", path, folder.string());
  if (std::filesystem::is_directory(file, error)) fail(Error::Kind::io, "[output] {}: is a folder", path);
  if (access(folder.c_str(), W_OK) != 0)
    fail(Error::Kind::io, "[output] {}: cannot write in {}", path, folder.string());
}

void Table::row(std::string name, std::string text) { rows_.emplace_back(std::move(name), std::move(text)); }

void Table::print() const {
  std::size_t width = 0;
  for (const auto& [name, text] : rows_) width = std::max(width, name.size());
  for (const auto& [name, text] : rows_) fmt::print("{:<{}}  {}\n", name, width, one_line(text));
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(const std::string& text) {
  if (!terminal_) return;
  const double now = wall_seconds();
  if (now - last_ < 0.1) return;
  last_ = now;
  shown_ = true;
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

}  // namespace tidemark::cli
