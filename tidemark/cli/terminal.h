// What verbs share: aligned tables, a progress line on a terminal, Ctrl-C, times in words, output files.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"

namespace tidemark::cli {

// The first Ctrl-C sets a flag that long work looks at; the second ends the process.
void catch_interrupt();
bool was_interrupted();
// The same as a flag, for work that watches one.
const std::atomic<bool>& interrupt_flag();
// While one is alive there is nothing to keep yet: the first Ctrl-C ends the process at once, with the exit code for it.
class EndAtInterrupt {
 public:
  EndAtInterrupt();
  ~EndAtInterrupt();
  EndAtInterrupt(const EndAtInterrupt&) = delete;
  EndAtInterrupt& operator=(const EndAtInterrupt&) = delete;
};

// Names and messages come from files: what would move the cursor, change colours or the window's title is shown as '?'.
std::string printable(std::string text);
// The same, and no line break either: what stands in one line.
std::string one_line(std::string text);
// A line on standard error.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stderr, "tidemark: {}\n", printable(fmt::format(format, std::forward<Args>(args)...)));
}

// The message, without cures that only C++ has.
std::string text_of(const Error& error);

// "1", "1s", "500ms", "2min". Throws Error(usage) naming the text.
double parse_seconds(std::string_view text);
// In bold where standard output is a terminal that wants colours (NO_COLOR is not set).
std::string strong(const std::string& text);
std::string format_percent(double fraction);  // "6.68 %", with more digits where it is small

// Throws Error(io) when nothing can be written there, before the work that makes it is done. "" is no file.
void expect_writable(const std::string& path);
double cpu_seconds();
Bytes physical_memory();   // of this machine
Bytes available_memory();  // of it, what a process can take now without others being swapped out
double wall_seconds();     // since some moment in the past

// Rows of a name and what it says, the names padded to one width.
class Table {
 public:
  void row(std::string name, std::string text);
  void print() const;

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

// One line on standard error that is written over; nothing where that is not a terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  void show(const std::string& text);  // at most some times a second

 private:
  bool terminal_;
  bool shown_ = false;
  double last_ = -1;
};

}  // namespace tidemark::cli
