#!/usr/bin/env python3
# Runs bench_step and torch_step.py side by side, one step each in turn, and prints the table of docs/performance.md:
# medians of wall clock and, in brackets, of processor time, which tells more where other jobs run beside.
#   compare.py BENCH_STEP [--threads N] [--rounds N] [models…]
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import pathlib
import statistics
import subprocess
import sys

MODELS = {  # name: (batch, size or sequence, memory format of PyTorch's convolutions)
    "resnet50": (8, 128, "channels_last"),
    "mobilenet-v2": (16, 128, "channels_last"),
    "gpt2-124m": (1, 256, ""),
    "bert-base": (2, 128, ""),
    "lstm": (20, 35, ""),
}
HERE = pathlib.Path(__file__).resolve().parent


class Side:
    def __init__(self, command):
        # Idle threads sleep on every side: spinning ones would be in the way of the others and in the processor time.
        env = {"OMP_WAIT_POLICY": "passive", **os.environ}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE, env=env)
        self.times, self.cpu = [], []

    def ready(self):
        word, count, *_ = self.process.stdout.readline().split()
        assert word == "ready"
        return int(count)

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        wall, cpu = map(float, self.process.stdout.readline().split())
        self.times.append(wall)
        self.cpu.append(cpu)

    def finish(self):
        self.process.stdin.close()
        lines = dict(line.split() for line in self.process.stdout.read().splitlines())
        self.process.wait()
        return int(lines["peak"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench_step")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    args = parser.parse_intermixed_args()
    print("| model | batch | ours, ms | eager, ms | torch.compile, ms | ours is faster by | ours, peak | eager, peak | torch.compile, peak |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in args.models or MODELS:
        batch, size, layout = MODELS[name]
        common = [name, str(batch), str(size), args.threads]
        torch_step = [sys.executable, str(HERE / "torch_step.py"), *common]
        sides = []
        # One after the other: compiling beside a warm-up would disturb both.
        for command in ([str(pathlib.Path(args.bench_step).resolve()), *common], torch_step + ["eager", layout], torch_step + ["compile", layout]):
            sides.append(Side(command))
            sides[-1].count = sides[-1].ready()
        counts = [side.count for side in sides]  # torch.nn.LSTM has a second bias that adds to the first
        assert max(counts) - min(counts) < 0.001 * max(counts), f"{name}: parameters differ: {counts}"
        for _ in range(args.rounds):
            for side in sides:
                side.step()
        ms, cpu = ([statistics.median(of) for of in lists] for lists in ([s.times for s in sides], [s.cpu for s in sides]))
        peaks = [side.finish() / 2**20 for side in sides]
        faster = f"{min(ms[1:]) / ms[0]:.2f} ({min(cpu[1:]) / cpu[0]:.2f}) x"
        print(f"| {name} | {batch} x {size} | " + " | ".join(f"{t:.0f} ({c:.0f})" for t, c in zip(ms, cpu)) + f" | {faster} | "
              + " | ".join(f"{p:.0f} MiB" for p in peaks) + " |", flush=True)


main()
