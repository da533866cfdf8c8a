# The models of bench/step as one would write them in PyTorch: nn modules, fused attention, nn.LSTM.
# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn.functional as F
from torch import nn


def conv_norm(i, o, kernel, stride=1, groups=1):
    return nn.Sequential(nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(o))


class Bottleneck(nn.Module):
    def __init__(self, i, width, stride):
        super().__init__()
        self.body = nn.Sequential(conv_norm(i, width, 1), nn.ReLU(True), conv_norm(width, width, 3, stride), nn.ReLU(True),
                                  conv_norm(width, 4 * width, 1))
        self.shortcut = conv_norm(i, 4 * width, 1, stride) if stride != 1 or i != 4 * width else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x), True)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_norm(3, 64, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1))
        blocks, i = [], 64
        for stage, count in enumerate([3, 4, 6, 3]):
            for b in range(count):
                blocks.append(Bottleneck(i, 64 << stage, 2 if stage and b == 0 else 1))
                i = 256 << stage
        self.blocks, self.classifier = nn.Sequential(*blocks), nn.Linear(2048, 1000)

    def forward(self, x, y):
        return F.cross_entropy(self.classifier(self.blocks(self.stem(x)).mean((2, 3))), y)


class Inverted(nn.Module):
    def __init__(self, i, o, stride, expansion):
        super().__init__()
        h = i * expansion
        layers = [conv_norm(i, h, 1), nn.ReLU6(True)] if expansion != 1 else []
        layers += [conv_norm(h, h, 3, stride, h), nn.ReLU6(True), conv_norm(h, o, 1)]
        self.body, self.residual = nn.Sequential(*layers), stride == 1 and i == o

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        layers, i = [conv_norm(3, 32, 3, 2), nn.ReLU6(True)], 32
        for expansion, o, repeats, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
            for r in range(repeats):
                layers.append(Inverted(i, o, stride if r == 0 else 1, expansion))
                i = o
        self.body = nn.Sequential(*layers, conv_norm(i, 1280, 1), nn.ReLU6(True))
        self.classifier = nn.Linear(1280, 1000)

    def forward(self, x, y):
        return F.cross_entropy(self.classifier(self.body(x).mean((2, 3))), y)


class Attention(nn.Module):
    def __init__(self, c, heads, causal):
        super().__init__()
        self.qkv, self.out, self.heads, self.causal = nn.Linear(c, 3 * c), nn.Linear(c, c), heads, causal

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, c, heads, causal, pre, approximate, eps):
        super().__init__()
        self.norm1, self.norm2, self.attn, self.pre = nn.LayerNorm(c, eps), nn.LayerNorm(c, eps), Attention(c, heads, causal), pre
        self.mlp = nn.Sequential(nn.Linear(c, 4 * c), nn.GELU(approximate), nn.Linear(4 * c, c))

    def forward(self, x):
        if self.pre:
            x = x + self.attn(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attn(x))
        return self.norm2(x + self.mlp(x))


class Gpt2(nn.Module):
    def __init__(self, vocab=50257, positions=1024, c=768, depth=12, heads=12):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocab, c), nn.Embedding(positions, c)
        self.blocks = nn.Sequential(*[Block(c, heads, True, True, "tanh", 1e-5) for _ in range(depth)])
        self.norm = nn.LayerNorm(c)
        nn.init.normal_(self.words.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.01)

    def forward(self, x, y):
        h = self.norm(self.blocks(self.words(x) + self.positions.weight[: x.shape[1]]))
        return F.cross_entropy(F.linear(h, self.words.weight).flatten(0, 1), y.flatten())


class Bert(nn.Module):
    def __init__(self, vocab=30522, c=768, depth=12, heads=12):
        super().__init__()
        self.words, self.positions, self.segments = nn.Embedding(vocab, c), nn.Embedding(512, c), nn.Embedding(2, c)
        self.norm = nn.LayerNorm(c, 1e-12)
        self.blocks = nn.Sequential(*[Block(c, heads, False, False, "none", 1e-12) for _ in range(depth)])
        self.pooler = nn.Linear(c, c)
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, x, y, segments, follows):
        h = self.blocks(self.norm(self.words(x) + self.segments(segments) + self.positions.weight[: x.shape[1]]))
        words = F.cross_entropy(F.linear(h, self.words.weight).flatten(0, 1), y.flatten())
        return words + F.cross_entropy(torch.tanh(self.pooler(h[:, 0]))[:, :2], follows)


class Lstm(nn.Module):
    def __init__(self, vocab=10000, hidden=650):
        super().__init__()
        self.words, self.layers, self.decoder = nn.Embedding(vocab, hidden), nn.LSTM(hidden, hidden, 2), nn.Linear(hidden, vocab)

    def forward(self, x, y):
        h, _ = self.layers(self.words(x.T))
        return F.cross_entropy(self.decoder(h).flatten(0, 1), y.T.flatten())


def tokens(b, t, vocab):
    return torch.randint(vocab, (b, t)), torch.randint(vocab, (b, t))


def images(b, size):
    return torch.randn(b, 3, size, size), torch.randint(1000, (b,))


# name -> (module, batch of (batch, size or sequence))
MODELS = {
    "resnet50": (ResNet50, images),
    "mobilenet-v2": (MobileNetV2, images),
    "gpt2-124m": (Gpt2, lambda b, t: tokens(b, t, 50257)),
    "bert-base": (Bert, lambda b, t: (*tokens(b, t, 30522), torch.randint(2, (b, t)), torch.randint(2, (b,)))),
    "lstm": (Lstm, lambda b, t: tokens(b, t, 10000)),
}
