// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tidemark/emit/emit.h"
#include "tidemark/runtime/compiled_part.h"
#include "tidemark/runtime/profile.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

// The order of operations is the file's: no contraction, no reassociation.
constexpr const char* kFlags[] = {"-std=c++20",          "-O3",   "-march=native", "-ffp-contract=off",
                                  "-fno-math-errno",     "-fPIC", "-shared",       "-w",
                                  "-DTIDEMARK_OWN_ARENA"};

std::string hash_of(const std::string& text) {
  std::uint64_t a = 0xCBF29CE484222325ull, b = 0x9E3779B97F4A7C15ull;
  for (const char c : text) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
    b = (b + static_cast<unsigned char>(c)) * 0xD6E8FEB86659FD93ull;
    b ^= b >> 29;
  }
  return fmt::format("{:016x}{:016x}", a, b);
}

// A folder that nobody else can write to: what lies in it is loaded.
fs::path own_folder(const std::string& wanted) {
  fs::path folder =
      wanted.empty() ? fs::path(fmt::format("/tmp/tidemark-native-{}", getuid())) : fs::path(wanted);
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    fail(Error::Kind::io, "[native] cannot make the folder {}", folder.string());
  struct stat s {};
  if (lstat(folder.c_str(), &s) != 0 || !S_ISDIR(s.st_mode) || s.st_uid != getuid() || (s.st_mode & 022) != 0)
    fail(Error::Kind::io, "[native] {} is not a folder that only this user can write to", folder.string());
  return folder;
}

void compile(const fs::path& source, const fs::path& library, const fs::path& log,
             const std::string& compiler) {
  std::vector<std::string> words{compiler};
  for (const char* flag : kFlags) words.emplace_back(flag);
  words.insert(words.end(), {source.string(), "-o", library.string()});
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  pid_t child = 0;
  const int started = posix_spawnp(&child, compiler.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (started != 0) fail(Error::Kind::device, "[native] cannot start the compiler '{}'", compiler);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::ifstream in(log);
  std::string words_of((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  fail(Error::Kind::device, "[native] '{}' refuses {}: {}", compiler, source.string(),
       words_of.substr(0, 400));
}

// Whether the file ends where it says it does: one that was cut short is mapped all the same, and ends the program by SIGBUS.
bool is_whole(const fs::path& library) {
  std::error_code error;
  if (!fs::is_regular_file(library, error)) return false;
  Elf64_Ehdr head{};
  std::ifstream in(library, std::ios::binary);
  if (!in.read(reinterpret_cast<char*>(&head), sizeof(head))) return false;
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
  // Compilers put the table of sections at the end.
  const std::uint64_t end = head.e_shoff + std::uint64_t{head.e_shnum} * head.e_shentsize;
  return end >= sizeof(head) && fs::file_size(library, error) >= end && !error;
}

class Native final : public Kernel {
 public:
  using Entry = void (*)(unsigned char* const*, unsigned char*);
  Native(const fs::path& library, Bytes arena, const std::string& entry)
      : Kernel(arena), handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr)
      fail(Error::Kind::device, "[native] cannot load {}: {}", library.string(), dlerror());
    entry_ = reinterpret_cast<Entry>(dlsym(handle_, entry.c_str()));
    if (entry_ == nullptr) {
      dlclose(handle_);
      fail(Error::Kind::device, "[native] {} has no {}", library.string(), entry);
    }
  }
  ~Native() override { dlclose(handle_); }
  Native(const Native&) = delete;
  Native& operator=(const Native&) = delete;
  void run(const Operands& o) const override {
    try {
      // State is updated where it lies: the caller hands it over as an input.
      entry_((unsigned char* const*)o.in.data(),
             static_cast<unsigned char*>(o.workspace));  // NOLINT: casts const away
    } catch (const std::runtime_error& e) {
      fail(Error::Kind::data, "{}", e.what());
    }
  }

 private:
  void* handle_;
  Entry entry_;
};

}  // namespace

std::shared_ptr<const Kernel> load_native(const std::string& text, Bytes arena_bytes,
                                          const NativeOptions& options) {
  const fs::path folder = own_folder(options.cache);
  // -march=native is of this processor.
  std::string key = fmt::format("{}|{}|{}|", options.compiler, this_cpu(), library_versions()) + text;
  for (const char* flag : kFlags) key += flag;
  const std::string name = hash_of(key);
  const fs::path library = folder / (name + ".so");
  const auto make = [&] {
    // Under names of this call's own until it is whole: another process or thread may do the same.
    static std::atomic<int> calls{0};
    const std::string own = fmt::format("{}.{}.{}", name, getpid(), calls++);
    const fs::path source = folder / (own + ".cpp"), made = folder / (own + ".so"),
                   log = folder / (own + ".log");
    std::ofstream(source) << text;
    compile(source, made, log, options.compiler);
    std::error_code failed, ignored;
    fs::rename(made, library, failed);
    fs::rename(source, folder / (name + ".cpp"), ignored);
    fs::remove(log, ignored);
    if (!failed) return;
    fs::remove(made, ignored);
    fail(Error::Kind::io, "[native] cannot write {}: {}; remove what lies there", library.string(),
         failed.message());
  };
  if (!is_whole(library)) {
    make();
  } else {
    try {
      return std::make_shared<Native>(library, arena_bytes, options.entry);
    } catch (const Error&) {
      make();  // what lay there was no library of ours
    }
  }
  return std::make_shared<Native>(library, arena_bytes, options.entry);
}

Program native_program(const Program& program, const EmittedParts& parts,
                       const std::vector<std::shared_ptr<const Kernel>>& kernels) {
  Program native = program;
  native.instrs.clear();
  native.task_names.clear();
  const auto residents = static_cast<std::int32_t>(native.places.size());
  for (std::size_t i = 0; i < program.residents.size(); ++i)
    native.places.push_back({.resident = static_cast<std::int32_t>(i), .bytes = program.resident_bytes[i]});
  native.places.push_back({.bytes = program.arena_bytes});
  std::size_t next = 0;
  for (std::size_t i = 0; i < program.instrs.size(); ++i) {
    if (next == parts.runs.size() || i != parts.runs[next].first) {
      native.instrs.push_back(program.instrs[i]);
      native.task_names.push_back(program.task_names[i]);
      continue;
    }
    Instr run{.task = program.instrs[i].task,
              .first_place = residents,
              .inputs = static_cast<std::int32_t>(program.residents.size())};
    std::vector<CompiledPart::Task> tasks;
    for (; i < parts.runs[next].second; ++i) {
      run.live = std::max(run.live, program.instrs[i].live);
      tasks.push_back({program.task_names[i], writes_state(program, program.instrs[i])});
    }
    --i;
    native.kernels.push_back(std::make_shared<CompiledPart>(kernels[next++], std::move(tasks)));
    run.kernel = native.kernels.back().get();
    native.instrs.push_back(run);
    native.task_names.emplace_back("native");
  }
  return native;
}

}  // namespace tidemark
