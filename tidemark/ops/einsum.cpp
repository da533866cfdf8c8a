// einsum: labels are read, diagonals and broadcast axes resolved, and what is left is contracted from the left by matrix products.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <map>

#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

using Labels = std::string;  // one character an axis

bool has(const Labels& labels, char c) { return labels.find(c) != Labels::npos; }

struct Contraction {
  std::vector<Labels> in;
  Labels out;
};

// Axes under an ellipsis, counted from the last: characters that nobody can write.
char hidden(int from_last) { return static_cast<char>(1 + from_last); }

// "..." of `labels` becomes `axes` hidden labels.
Labels expanded(const std::string& spec, const std::string& labels, int axes) {
  const std::size_t dots = labels.find("...");
  if (dots == std::string::npos) return labels;
  if (labels.find("...", dots + 3) != std::string::npos)
    fail(Error::Kind::usage, "[einsum] '{}': two ellipses in '{}' vs one", spec, labels);
  Labels all = labels.substr(0, dots);
  for (int i = axes; i-- > 0;) all += hidden(i);
  return all + labels.substr(dots + 3);
}

Contraction parse(const std::string& spec, const Tensors& operands) {
  std::string text;
  std::copy_if(spec.begin(), spec.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  const std::size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::string> names;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = left.find(',', begin);
    names.push_back(left.substr(begin, comma - begin));
    if (comma == std::string::npos) break;
    begin = comma + 1;
  }
  if (names.size() != operands.size())
    fail(Error::Kind::usage, "[einsum] '{}' names {} operands vs {} given", spec, names.size(),
         operands.size());
  Contraction c;
  int most = 0;
  Labels all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool open = names[i].find("...") != std::string::npos;
    const int named = static_cast<int>(names[i].size()) - (open ? 3 : 0), rank = operands[i].rank();
    if (open ? named > rank : named != rank)
      fail(Error::Kind::usage, "[einsum] '{}': {} labels vs operand {} of shape {}", spec, named, i,
           to_string(operands[i].shape()));
    c.in.push_back(expanded(spec, names[i], rank - named));
    most = std::max(most, open ? rank - named : 0);
    all += c.in.back();
  }
  if (arrow != std::string::npos) {
    c.out = expanded(spec, text.substr(arrow + 2), most);
  } else {  // NumPy's rule: what an ellipsis stands for, then the labels that occur once, sorted
    std::copy_if(all.begin(), all.end(), std::back_inserter(c.out), [&](char l) {
      return std::isalpha(static_cast<unsigned char>(l)) && std::count(all.begin(), all.end(), l) == 1;
    });
    std::sort(c.out.begin(), c.out.end());
    c.out = expanded(spec, "...", most) + c.out;
  }
  for (const Labels* labels : {&all, &c.out})
    for (const char l : *labels)
      if (!std::isalpha(static_cast<unsigned char>(l)) && l > hidden(most))
        fail(Error::Kind::usage, "[einsum] '{}': '{}' is not a letter", spec, l);
  for (const char l : c.out) {
    if (!has(all, l))
      fail(Error::Kind::usage, "[einsum] '{}': label {} of the result is in no operand", spec, l);
    if (std::count(c.out.begin(), c.out.end(), l) > 1)
      fail(Error::Kind::usage, "[einsum] '{}': label {} occurs twice in the result vs once", spec, l);
  }
  return c;
}

// An operand and what its axes are called.
struct Named {
  Tensor x;
  Labels labels;
  std::int64_t size(char l) const { return x.size(static_cast<int>(labels.find(l))); }
  std::int64_t extent(const Labels& of) const {
    std::int64_t n = 1;
    for (const char l : of) n *= size(l);
    return n;
  }
};

Tensor ordered(const Named& a, const Labels& to, Where where) {
  if (a.labels == to) return a.x;
  std::vector<int> axes;
  axes.reserve(to.size());
  for (const char l : to) axes.push_back(static_cast<int>(a.labels.find(l)));
  return permute(a.x, axes, where);
}

// A label that occurs twice: the diagonal, every (n + 1)-th element of the two axes as one.
Named without_repetitions(Named a, const std::string& spec, Where where) {
  for (std::size_t i = 0; i < a.labels.size();) {
    const char l = a.labels[i];
    const std::size_t j = a.labels.find(l, i + 1);
    if (j == Labels::npos) {
      ++i;
      continue;
    }
    const std::int64_t n = a.x.size(static_cast<int>(i)), m = a.x.size(static_cast<int>(j));
    if (n != m) fail(Error::Kind::usage, "[einsum] '{}': label {} is {} vs {} in one operand", spec, l, n, m);
    std::vector<int> axes;
    std::vector<std::int64_t> sizes;
    Labels rest;
    for (std::size_t k = 0; k < a.labels.size(); ++k) {
      if (k == i || k == j) continue;
      axes.push_back(static_cast<int>(k));
      sizes.push_back(a.x.size(static_cast<int>(k)));
      rest += a.labels[k];
    }
    axes.insert(axes.end(), {static_cast<int>(i), static_cast<int>(j)});
    sizes.push_back(n * n);
    const Tensor square = reshape(permute(a.x, axes, where), sizes, where);
    a = {slice(square, -1, 0, n * n, n + 1, where), rest + l};
    i = 0;  // a label may occur more often still
  }
  return a;
}

// Sums away the labels that `keep` does not name.
Named reduced(const Named& a, const Labels& keep, Where where) {
  Axes axes;
  Labels left;
  for (std::size_t i = 0; i < a.labels.size(); ++i) {
    if (has(keep, a.labels[i]))
      left += a.labels[i];
    else
      axes.push_back(static_cast<int>(i));
  }
  return {axes.empty() ? a.x : sum(a.x, axes, {}, where), left};
}

// One matrix product: `keep` are the labels that somebody still reads.
Named contracted(const Named& first, const Named& second, const Labels& keep, Where where) {
  const Named a = reduced(first, second.labels + keep, where),
              b = reduced(second, first.labels + keep, where);
  Labels batch, left, inner, right;
  for (const char l : a.labels) (has(b.labels, l) ? (has(keep, l) ? batch : inner) : left) += l;
  for (const char l : b.labels)
    if (!has(a.labels, l)) right += l;
  std::vector<std::int64_t> sizes;
  for (const char l : batch) sizes.push_back(a.size(l));
  const auto grouped = [&](const Named& of, const Labels& rows, const Labels& columns) {
    Tensor y = ordered(of, batch + rows + columns, where);
    if (rows.size() == 1 && columns.size() == 1) return y;
    std::vector<std::int64_t> shape = sizes;
    shape.insert(shape.end(), {of.extent(rows), of.extent(columns)});
    return reshape(y, shape, where);
  };
  Tensor y = matmul(grouped(a, left, inner), grouped(b, inner, right), where);
  if (left.size() != 1 || right.size() != 1) {
    for (const char l : left) sizes.push_back(a.size(l));
    for (const char l : right) sizes.push_back(b.size(l));
    y = reshape(y, sizes, where);
  }
  return {y, batch + left + right};
}

}  // namespace

Tensor einsum(const std::string& spec, const Tensors& operands, Where where) {
  const Called called("einsum", where);
  if (operands.empty()) fail(Error::Kind::usage, "[einsum] 0 operands vs at least one");
  const Contraction c = parse(spec, operands);
  std::vector<Named> all;
  std::map<char, std::int64_t> sizes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    all.push_back(without_repetitions({operands[i], c.in[i]}, spec, where));
    for (const char l : all[i].labels) {
      std::int64_t& size = sizes.try_emplace(l, 1).first->second;
      const std::int64_t here = all[i].size(l);
      if (size != 1 && here != 1 && here != size)
        fail(Error::Kind::usage, "[einsum] '{}': label {} is {} vs {}", spec,
             l > hidden(8) ? std::string(1, l) : "...", size, here);
      if (here != 1) size = here;
    }
  }
  // An axis of 1 that is longer elsewhere is the same for all of that.
  for (Named& a : all) {
    Labels kept;
    std::vector<std::int64_t> shape;
    for (const char l : a.labels) {
      if (a.size(l) == 1 && sizes[l] != 1) continue;
      kept += l;
      shape.push_back(a.size(l));
    }
    if (kept != a.labels) a = {reshape(a.x, shape, where), kept};
  }
  Named result = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) {
    Labels keep = c.out;
    for (std::size_t later = i + 1; later < all.size(); ++later) keep += all[later].labels;
    result = contracted(result, all[i], keep, where);
  }
  return ordered(reduced(result, c.out, where), c.out, where);
}

}  // namespace tidemark
