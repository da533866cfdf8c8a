#!/usr/bin/env python3
# PyTorch's side of bench/budget: one process for one model and way to save memory. Runs the steps, prints one line of JSON:
# {"ms": median, "peak": most resident bytes of the steps above what the process has between steps, and what the model, its
# optimizer and the batch hold}: what importing and compiling left in the process is not counted.
#   torch_budget.py MODEL BATCH SIZE THREADS STEPS eager|blocks|compile:0.5
# SPDX-License-Identifier: Apache-2.0
import ctypes
import gc
import json
import pathlib
import statistics
import sys
import time

import torch
import torch._functorch.config
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "step"))
from torch_models import MODELS, Block, Bottleneck, Inverted, conv_norm  # noqa: E402


class Double(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.body = nn.Sequential(conv_norm(i, o, 3), nn.ReLU(True), conv_norm(o, o, 3), nn.ReLU(True))

    def forward(self, x):
        return self.body(x)


class UNet(nn.Module):
    def __init__(self, width=64, depth=4, classes=2):
        super().__init__()
        sizes = [width << i for i in range(depth + 1)]
        self.down = nn.ModuleList(Double(a, b) for a, b in zip([3] + sizes, sizes))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * s, s, 2, 2) for s in reversed(sizes[:-1]))
        self.merge = nn.ModuleList(Double(2 * s, s) for s in reversed(sizes[:-1]))
        self.classifier = nn.Conv2d(width, classes, 1)

    def forward(self, x, y):
        skips = []
        for level, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if level else x)
            skips.append(x)
        skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skips.pop(), up(x)], 1))
        return F.cross_entropy(self.classifier(x), y)


MODELS["unet"] = (UNet, lambda b, s: (torch.randn(b, 3, s, s), torch.randint(2, (b, s, s))))
IMAGES = {"resnet50", "mobilenet-v2", "unet"}


def status(field):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))


def checkpoint_blocks(model):
    """Every residual block, transformer block or double convolution keeps its input alone."""
    for module in model.modules():
        if isinstance(module, (Block, Bottleneck, Inverted, Double)):
            inner = module.forward
            module.forward = lambda *args, inner=inner: checkpoint(inner, *args, use_reentrant=False)


def main():
    name, batch, size, threads, steps, mode = sys.argv[1], *map(int, sys.argv[2:6]), sys.argv[6]
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    torch.randn(1000, 1000) @ torch.randn(1000, 1000)
    make, batch_of = MODELS[name]
    model, data = make(), batch_of(batch, size)
    if name in IMAGES:
        model = model.to(memory_format=torch.channels_last)
        data = (data[0].to(memory_format=torch.channels_last), *data[1:])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    loss_of = model
    if mode == "blocks":
        checkpoint_blocks(model)
    elif mode.startswith("compile:"):
        torch._functorch.config.activation_memory_budget = float(mode.split(":")[1])
        loss_of = torch.compile(model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(*data)
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    step()
    optimizer.zero_grad(set_to_none=True)
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    held = [*model.parameters(), *model.buffers(), *data]
    held += [t for state in optimizer.state.values() for t in state.values() if torch.is_tensor(t)]
    before = status("VmRSS") - sum(t.numel() * t.element_size() for t in held)
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps({"ms": statistics.median(times), "peak": status("VmHWM") - before}), flush=True)


main()
