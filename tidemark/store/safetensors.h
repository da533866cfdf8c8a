// Checkpoints as safetensors files: a JSON header, then the bytes of the tensors. Written beside and renamed, so that
// whoever reads the path finds the old file or the new one whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark {

struct SafeTensor {
  std::string name;
  std::string dtype;  // as the format spells it: F64 F32 F16 BF16 I64 I32 U8 BOOL
  std::vector<std::int64_t> shape;
  const void* data = nullptr;  // of the writer's; null in what a reader lists
  Bytes bytes = 0;
  Bytes offset = 0;  // in the file; set by the reader
};

using SafeMetadata = std::map<std::string, std::string>;

// Streams from where the tensors lie. Throws Error(io) with the reason (a full disk, say); the old file is then as before.
TIDEMARK_API void write_safetensors(const std::string& path, const std::vector<SafeTensor>& tensors,
                                    const SafeMetadata& metadata);

class TIDEMARK_API SafetensorsFile {
 public:
  // Reads the header and checks all of it against the file. Throws Error(io), or Error(data) naming the place.
  explicit SafetensorsFile(const std::string& path);
  const SafeMetadata& metadata() const { return metadata_; }
  const std::vector<SafeTensor>& tensors() const { return tensors_; }  // in the order of the file
  const SafeTensor* find(const std::string& name) const;               // null where there is none
  // `into` has tensor.bytes.
  void read(const SafeTensor& tensor, void* into) const;

 private:
  std::string path_;
  SafeMetadata metadata_;
  std::vector<SafeTensor> tensors_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace tidemark
