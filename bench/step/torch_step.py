#!/usr/bin/env python3
# PyTorch's side of bench/step: one process for one model and mode. Prints `ready <parameters>`; then for every line read
# runs a training step and prints its milliseconds, by the clock and of the processors; at the end of input prints `peak <bytes>`: the most resident memory
# of the steps, above what the process had before the model was made.
#   torch_step.py MODEL BATCH SIZE THREADS eager|compile [channels_last]
# SPDX-License-Identifier: Apache-2.0
import sys
import time

import torch

from torch_models import MODELS


def status(field):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(field))


def main():
    name, batch, size, threads, mode = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    torch.randn(1000, 1000) @ torch.randn(1000, 1000)
    before = status("VmRSS")
    make, batch_of = MODELS[name]
    model = make()
    data = batch_of(batch, size)
    if "channels_last" in sys.argv:
        model = model.to(memory_format=torch.channels_last)
        data = (data[0].to(memory_format=torch.channels_last), *data[1:])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    loss_of = torch.compile(model) if mode == "compile" else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(*data)
        loss.backward()
        optimizer.step()
        return loss.item()

    first = step()
    step()
    # From here on: the high-water mark of the steps alone, without compilation.
    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")
    print("ready", sum(p.numel() for p in model.parameters()), first, flush=True)
    for _ in sys.stdin:
        begin, cpu = time.perf_counter(), time.process_time()
        step()
        print((time.perf_counter() - begin) * 1e3, (time.process_time() - cpu) * 1e3, flush=True)
    print("peak", status("VmHWM") - before, flush=True)


main()
