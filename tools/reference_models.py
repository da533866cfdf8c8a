# The zoo's architectures written again in PyTorch, from their papers, on a table of named parameters: an independent
# second opinion for tests/nn/references_test.cpp. A model is a function (net, batch, sizes) -> (logits, loss).
# SPDX-License-Identifier: Apache-2.0
import math

import torch
import torch.nn.functional as F


def linear(net, name, x, out):
    return x @ net(f"{name}.w", (x.shape[-1], out)) + net(f"{name}.b", (out,))


def conv(net, name, x, out, kernel, stride=1, padding=0, groups=1, bias=True):
    w = net(f"{name}.w", (out, x.shape[1] // groups, kernel, kernel))
    b = net(f"{name}.b", (out,)) if bias else None
    return F.conv2d(x, w, b, stride, padding, 1, groups)


def layer_norm(net, name, x, eps=1e-5):
    c = x.shape[-1]
    return F.layer_norm(x, (c,), net(f"{name}.scale", (c,)), net(f"{name}.shift", (c,)), eps)


def batch_norm(net, param, stats, x):
    c = x.shape[1]
    mean, variance = net.stats(stats, c)
    return F.batch_norm(x, mean, variance, net(f"{param}.scale", (c,)), net(f"{param}.shift", (c,)), True, 0.1, 1e-5)


def conv_norm(net, name, x, out, kernel, stride=1, padding=0, groups=1, stats=None):
    y = conv(net, f"{name}.conv", x, out, kernel, stride, padding, groups, bias=False)
    return batch_norm(net, f"{name}.norm", stats or name, y)


def tokens_loss(logits, labels):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def mlp(net, batch, s):
    x = batch["x"]
    for i in range(s["depth"]):
        x = F.relu(linear(net, f"layers.{i}", x, s["hidden"]))
    x = linear(net, f"layers.{s['depth']}", x, s["classes"])
    return x, F.cross_entropy(x, batch["label"])


def vgg(net, batch, s):
    x = batch["image"]
    for stage in range(5):
        for i in range(2 if stage < 2 else s["long"]):
            x = F.relu(conv(net, f"stages.{stage}.{i}", x, s["width"] << min(stage, 3), 3, padding=1))
        x = F.max_pool2d(x, 2)
    x = F.adaptive_avg_pool2d(x, (7, 7)).flatten(1)
    x = F.relu(linear(net, "classifier.0", x, s["hidden"]))
    x = F.relu(linear(net, "classifier.1", x, s["hidden"]))
    x = linear(net, "classifier.2", x, s["classes"])
    return x, F.cross_entropy(x, batch["label"])


def resnet(net, batch, s):
    x = F.relu(conv_norm(net, "stem", batch["image"], s["width"], 7, 2, 3))
    x = F.max_pool2d(x, 3, 2, 1)
    for stage in range(4):
        width = s["width"] << stage
        for i in range(s[f"blocks{stage + 1}"]):
            name, stride = f"stages.{stage}.{i}", 2 if stage > 0 and i == 0 else 1
            if s["bottleneck"]:
                y = F.relu(conv_norm(net, f"{name}.layers.0", x, width, 1))
                y = F.relu(conv_norm(net, f"{name}.layers.1", y, width, 3, stride, 1))
                y = conv_norm(net, f"{name}.layers.2", y, 4 * width, 1)
            else:
                y = F.relu(conv_norm(net, f"{name}.layers.0", x, width, 3, stride, 1))
                y = conv_norm(net, f"{name}.layers.1", y, width, 3, 1, 1)
            if stride != 1 or x.shape[1] != y.shape[1]:
                x = conv_norm(net, f"{name}.shortcut", x, y.shape[1], 1, stride)
            x = F.relu(y + x)
    x = linear(net, "classifier", x.mean((2, 3)), s["classes"])
    return x, F.cross_entropy(x, batch["label"])


def mobilenet_v2(net, batch, s):
    def at(channels):
        scaled = channels * s["width"] / 100
        rounded = max(8, int(scaled + 4) // 8 * 8)
        return rounded + 8 if rounded < 0.9 * scaled else rounded

    x = F.relu6(conv_norm(net, "stem", batch["image"], at(32), 3, 2, 1))
    settings = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    number = 0
    for expansion, channels, repeats, first_stride in settings:
        for i in range(repeats):
            name, stride, y = f"blocks.{number}", first_stride if i == 0 else 1, x
            hidden = x.shape[1] * expansion
            if expansion != 1:
                y = F.relu6(conv_norm(net, f"{name}.expand", y, hidden, 1))
            y = F.relu6(conv_norm(net, f"{name}.depthwise", y, hidden, 3, stride, 1, hidden))
            y = conv_norm(net, f"{name}.project", y, at(channels), 1)
            x = x + y if stride == 1 and x.shape[1] == y.shape[1] else y
            number += 1
    x = F.relu6(conv_norm(net, "head", x, max(1280, at(1280)), 1))
    x = linear(net, "classifier", x.mean((2, 3)), s["classes"])
    return x, F.cross_entropy(x, batch["label"])


def densenet(net, batch, s):
    def norm_conv(name, x, out, kernel):
        x = F.relu(batch_norm(net, f"{name}.norm", name, x))
        return conv(net, f"{name}.conv", x, out, kernel, padding=kernel // 2, bias=False)

    x = F.relu(conv_norm(net, "stem", batch["image"], s["width"], 7, 2, 3))
    x = F.max_pool2d(x, 3, 2, 1)
    for b in range(4):
        for i in range(s[f"layers{b + 1}"]):
            y = norm_conv(f"blocks.{b}.{i}.narrow", x, 4 * s["growth"], 1)
            x = torch.cat([x, norm_conv(f"blocks.{b}.{i}.grow", y, s["growth"], 3)], 1)
        if b < 3:
            x = F.avg_pool2d(norm_conv(f"transitions.{b}", x, x.shape[1] // 2, 1), 2)
    x = F.relu(batch_norm(net, "norm", "norm", x))
    x = linear(net, "classifier", x.mean((2, 3)), s["classes"])
    return x, F.cross_entropy(x, batch["label"])


def unet(net, batch, s):
    def double(name, stats, x, out):
        x = F.relu(conv_norm(net, f"{name}.first", x, out, 3, 1, 1, stats=f"{stats}.first"))
        return F.relu(conv_norm(net, f"{name}.second", x, out, 3, 1, 1, stats=f"{stats}.second"))

    x, skips = batch["image"], []
    for level in range(s["depth"] + 1):
        x = double(f"down.{level}", f"down.{level}", F.max_pool2d(x, 2) if level else x, s["width"] << level)
        skips.append(x)
    skips.pop()
    for i in range(s["depth"]):
        out = x.shape[1] // 2
        w, b = net(f"up.{i}.up.w", (x.shape[1], out, 2, 2)), net(f"up.{i}.up.b", (out,))
        x = torch.cat([skips.pop(), F.conv_transpose2d(x, w, b, 2)], 1)
        x = double(f"up.{i}.convs", f"up.{i}", x, out)
    x = conv(net, "classifier", x, s["classes"], 1)
    return x, F.cross_entropy(x, batch["label"])


def segnet(net, batch, s):
    def width(stage):
        return s["width"] << min(stage, 3)

    x, pools = batch["image"], []
    for stage in range(5):
        for i in range(2 if stage < 2 else 3):
            x = F.relu(conv_norm(net, f"encoder.{stage}.{i}", x, width(stage), 3, 1, 1))
        size = x.shape
        x, indices = F.max_pool2d(x, 2, return_indices=True)
        pools.append((indices, size))
    for d, stage in enumerate(reversed(range(5))):
        indices, size = pools.pop()
        x = F.max_unpool2d(x, indices, 2, output_size=size)
        convs = 1 if stage == 0 else 2 if stage < 2 else 3
        for i in range(convs):
            out = width(stage - 1) if i + 1 == convs and stage > 0 else width(stage)
            x = F.relu(conv_norm(net, f"decoder.{d}.{i}", x, out, 3, 1, 1))
    x = conv(net, "classifier", x, s["classes"], 3, padding=1)
    return x, F.cross_entropy(x, batch["label"])


def self_attention(net, name, x, heads, causal):
    b, t, c = x.shape
    q, k, v = linear(net, f"{name}.qkv", x, 3 * c).reshape(b, t, 3, heads, c // heads).permute(2, 0, 3, 1, 4)
    scores = q @ k.transpose(-1, -2) / math.sqrt(c // heads)
    if causal:
        scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
    y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)
    return linear(net, f"{name}.out", y, c)


def feed_forward(net, name, x, hidden, approximate):
    return linear(net, f"{name}.down", F.gelu(linear(net, f"{name}.up", x, hidden), approximate=approximate), x.shape[-1])


def vit(net, batch, s):
    c = s["width"]
    x = conv(net, "patches", batch["image"], c, s["patch"], s["patch"]).flatten(2).transpose(1, 2)
    x = torch.cat([net("class_token", (1, 1, c)).expand(x.shape[0], 1, c), x], 1)
    x = x + net("positions", (1, x.shape[1], c))
    for i in range(s["depth"]):
        x = x + self_attention(net, f"blocks.{i}.attn", layer_norm(net, f"blocks.{i}.norm1", x, 1e-6), s["heads"], False)
        x = x + feed_forward(net, f"blocks.{i}.mlp", layer_norm(net, f"blocks.{i}.norm2", x, 1e-6), s["hidden"], "none")
    x = linear(net, "classifier", layer_norm(net, "norm", x, 1e-6)[:, 0], s["classes"])
    return x, F.cross_entropy(x, batch["label"])


def bert(net, batch, s):
    c = s["width"]
    words = net("embeddings.words", (s["vocab"], c))
    x = words[batch["tokens"]] + net("embeddings.segments", (2, c))[batch["segments"]]
    x = x + net("embeddings.positions", (s["positions"], c))[: x.shape[1]]
    x = layer_norm(net, "embeddings.norm", x, 1e-12)
    for i in range(s["depth"]):
        x = layer_norm(net, f"blocks.{i}.norm1", x + self_attention(net, f"blocks.{i}.attn", x, s["heads"], False), 1e-12)
        x = layer_norm(net, f"blocks.{i}.norm2", x + feed_forward(net, f"blocks.{i}.mlp", x, s["hidden"], "none"), 1e-12)
    pooled = torch.tanh(linear(net, "pooler", x[:, 0], c))
    return x, tokens_loss(x @ words.T, batch["labels"]) + F.cross_entropy(pooled[:, :2], batch["follows"])


def gpt2(net, batch, s):
    c = s["width"]
    words = net("words", (s["vocab"], c))
    x = words[batch["tokens"]] + net("positions", (s["positions"], c))[: batch["tokens"].shape[1]]
    for i in range(s["depth"]):
        x = x + self_attention(net, f"blocks.{i}.attn", layer_norm(net, f"blocks.{i}.norm1", x), s["heads"], True)
        x = x + feed_forward(net, f"blocks.{i}.mlp", layer_norm(net, f"blocks.{i}.norm2", x), 4 * c, "tanh")
    x = layer_norm(net, "norm", x) @ words.T
    return x, tokens_loss(x, batch["labels"])


def llama(net, batch, s):
    c, heads, groups = s["width"], s["heads"], s["groups"]
    d = c // heads

    def norm(name, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * net(name, (c,))

    words = net("words", (s["vocab"], c))
    x = words[batch["tokens"]]
    b, t, _ = x.shape
    # Frequencies as Llama 3.1 and later define them.
    plain = 500000.0 ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    wavelength = 2 * math.pi / plain
    smooth = (8192 / wavelength - 1) / (4 - 1)
    frequency = torch.where(wavelength > 8192, plain / 32, torch.where(wavelength < 8192 / 4, plain, (1 - smooth) * plain / 32 + smooth * plain))
    angle = torch.outer(torch.arange(t, dtype=torch.float64), frequency)
    cos, sin = torch.cat([angle, angle], -1).cos()[:, None], torch.cat([angle, angle], -1).sin()[:, None]

    def rotate(x):
        half = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], -1)
        return x * cos + half * sin

    for i in range(s["depth"]):
        p = f"blocks.{i}"
        y = norm(f"{p}.norm1", x)
        q = rotate((y @ net(f"{p}.attn.wq", (c, c))).reshape(b, t, heads, d))
        k = rotate((y @ net(f"{p}.attn.wk", (c, groups * d))).reshape(b, t, groups, d))
        v = (y @ net(f"{p}.attn.wv", (c, groups * d))).reshape(b, t, groups, d)
        k, v = (z.repeat_interleave(heads // groups, 2).transpose(1, 2) for z in (k, v))
        y = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + y @ net(f"{p}.attn.wo", (c, c))
        y = norm(f"{p}.norm2", x)
        gate = F.silu(y @ net(f"{p}.mlp.gate", (c, s["hidden"])))
        x = x + (gate * (y @ net(f"{p}.mlp.up", (c, s["hidden"])))) @ net(f"{p}.mlp.down", (s["hidden"], c))
    x = norm("norm", x) @ words.T
    return x, tokens_loss(x, batch["labels"])


def lstm(net, batch, s):
    c = s["hidden"]
    x = net("words", (s["vocab"], c))[batch["tokens"].T]
    for i in range(s["depth"]):
        w_in, w_hidden, bias = net(f"layers.{i}.w_in", (c, 4 * c)), net(f"layers.{i}.w_hidden", (c, 4 * c)), net(f"layers.{i}.b", (4 * c,))
        h = cell = torch.zeros(x.shape[1], c, dtype=x.dtype)
        outputs = []
        for step in x:
            gate_in, forget, new, out = (step @ w_in + h @ w_hidden + bias).chunk(4, -1)
            cell = forget.sigmoid() * cell + gate_in.sigmoid() * new.tanh()
            h = out.sigmoid() * cell.tanh()
            outputs.append(h)
        x = torch.stack(outputs)
    x = linear(net, "decoder", x, s["vocab"])
    return x, tokens_loss(x, batch["labels"].T)
