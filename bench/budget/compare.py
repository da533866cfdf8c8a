#!/usr/bin/env python3
# Measured step time against measured process peak, ours beside PyTorch's three ways to save memory: a table, and a curve for each
# model as SVG. Every configuration is a process of its own, one at a time. Ours is asked for each peak that PyTorch reached, then for less.
#   compare.py BENCH_STEP [--threads N] [--steps N] [--out FOLDER] [--modes eager,blocks,…] [models…]
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

MODELS = {  # name: (batch, size or sequence)
    "gpt2-124m": (4, 512),
    "resnet50": (32, 128),
    "unet": (4, 128),
    "mobilenet-v2": (16, 128),
}
TORCH = ["eager", "blocks", "compile:1.0", "compile:0.7", "compile:0.5", "compile:0.3", "compile:0.1"]
HERE = pathlib.Path(__file__).resolve().parent
MIB = 2**20
# Resident beside the arena and the arguments: stacks, code of the libraries touched first by a step, the planner's leftovers.
BESIDE = 32 * MIB


def torch_side(common, steps, mode):
    command = [sys.executable, str(HERE / "torch_budget.py"), *common, str(steps), mode]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{result.stderr[-2000:]}")
    return json.loads(result.stdout.splitlines()[-1])


def our_side(bench_step, common, steps, budget):
    """None where the budget is refused."""
    command = [bench_step, *common] + ([str(budget)] if budget else [])
    result = subprocess.run(command, input="\n" * steps, capture_output=True, text=True)
    if result.returncode != 0:
        if "needs at least" not in result.stderr:
            sys.exit(f"{' '.join(command)}:\n{result.stderr[-2000:]}")
        return None
    lines = result.stdout.splitlines()
    words = dict(line.split()[:2] for line in lines if not line[0].isdigit())
    times = [float(line.split()[0]) for line in lines if line[0].isdigit()]
    return {"ms": statistics.median(times), "peak": int(words["peak"]), "planned": int(words["planned"])}


def svg(name, ours, torch, path):
    points = [(p["peak"] / MIB, p["ms"]) for _, p in ours] + [(p["peak"] / MIB, p["ms"]) for _, p in torch]
    w, h, pad = 640, 400, 60
    x1, y1 = max(p[0] for p in points) * 1.05, max(p[1] for p in points) * 1.1
    at = lambda x, y: (pad + x / x1 * (w - 2 * pad), h - pad - y / y1 * (h - 2 * pad))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" font-family="sans-serif" font-size="11">',
           f'<rect width="{w}" height="{h}" fill="white"/><text x="{w / 2}" y="24" text-anchor="middle" font-size="15">{name}: a training step against its peak</text>',
           f'<path d="M{pad} {pad}V{h - pad}H{w - pad}" fill="none" stroke="#444"/>',
           f'<text x="{w / 2}" y="{h - 16}" text-anchor="middle">measured process peak, MiB</text>',
           f'<text x="18" y="{h / 2}" text-anchor="middle" transform="rotate(-90 18 {h / 2})">milliseconds a step</text>']
    for i in range(1, 5):
        x, y = at(x1 * i / 4, y1 * i / 4)
        out.append(f'<text x="{x:.1f}" y="{h - pad + 15}" text-anchor="middle">{x1 * i / 4:.0f}</text>'
                   f'<text x="{pad - 6}" y="{y + 4:.1f}" text-anchor="end">{y1 * i / 4:.0f}</text>')
    for colour, label, side in (("#1565c0", "tidemark", ours), ("#d84315", "PyTorch", torch)):
        line = sorted((p["peak"] / MIB, p["ms"], n) for n, p in side)
        if label == "tidemark":
            out.append(f'<polyline fill="none" stroke="{colour}" points="' + " ".join("%.1f,%.1f" % at(x, y) for x, y, _ in line) + '"/>')
        for x, y, n in line:
            px, py = at(x, y)
            out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{colour}"><title>{label} {n}: {x:.0f} MiB, {y:.0f} ms</title></circle>')
            if label == "PyTorch":
                out.append(f'<text x="{px + 6:.1f}" y="{py - 6:.1f}" fill="{colour}">{n}</text>')
    out.append(f'<text x="{w - pad}" y="44" text-anchor="end" fill="#1565c0">tidemark</text><text x="{w - pad}" y="58" text-anchor="end" fill="#d84315">PyTorch</text></svg>')
    path.write_text("\n".join(out) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench_step")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--out", default="build/budget")
    parser.add_argument("--modes", default=",".join(TORCH), help="of PyTorch's ways, with commas")
    parser.add_argument("models", nargs="*")
    args = parser.parse_intermixed_args()
    folder = pathlib.Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    bench_step = str(pathlib.Path(args.bench_step).resolve())
    print("| model | way | budget, MiB | peak, MiB | ms a step |\n|---|---|---|---|---|")
    for name in args.models or MODELS:
        common = [name, *map(str, MODELS[name]), args.threads]
        row = lambda way, budget, p: print(f"| {name} | {way} | {budget} | {p['peak'] / MIB:.0f} | {p['ms']:.0f} |" if p else
                                           f"| {name} | {way} | {budget} | does not run | |", flush=True)
        torch, ours = [], []
        for mode in args.modes.split(","):
            p = torch_side(common, args.steps, mode)
            row("PyTorch " + mode, "", p)
            if p:
                torch.append((mode, p))
        p = our_side(bench_step, common, args.steps, 0)
        row("tidemark, no budget", "", p)
        ours.append(("no budget", p))
        peaks = sorted({t["peak"] for _, t in torch}, reverse=True)
        floor = min(peaks, default=p["peak"])
        for budget in peaks + [int(floor * f) for f in (0.9, 0.8, 0.7, 0.6, 0.5)]:
            p = our_side(bench_step, common, args.steps, budget - BESIDE)
            row("tidemark", f"{budget / MIB:.0f}", p)
            if p is None:
                break
            ours.append((f"{budget / MIB:.0f} MiB", p))
        (folder / f"{name}.json").write_text(json.dumps({"ours": ours, "torch": torch}, indent=1))
        svg(name, ours, torch, folder / f"{name}.svg")


main()
