#!/usr/bin/env python3
# Measured step time against measured process peak, ours beside PyTorch's three ways to save memory: a table, and a curve for each
# model as SVG. Every configuration is a process of its own, one at a time. Ours is asked for each peak that PyTorch reached, then for less.
#   compare.py BENCH_STEP [--threads N] [--steps N] [--out FOLDER] [--modes eager,blocks,…] [--sides torch,ours] [models…]
#   compare.py --table FOLDER…
# Every row is written to FOLDER/rows.jsonl as it is measured, and one that is there is not measured again: a run that was cut off goes
# on where it was, and models, modes and sides can be run apart. --table joins the rows of folders and draws.
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
BELOW = (0.9, 0.8, 0.7, 0.6, 0.5)   # of the least peak that PyTorch reached
HERE = pathlib.Path(__file__).resolve().parent
MIB = 2**20
# Resident beside the arena and the arguments: stacks, code of the libraries touched first by a step, the planner's leftovers.
BESIDE = 32 * MIB


def torch_side(common, steps, mode):
    """None where it does not run."""
    command = [sys.executable, str(HERE / "torch_budget.py"), *common, str(steps), mode]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        print(f"{' '.join(command)}:\n{result.stderr[-2000:]}", file=sys.stderr)
        return None
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


class Rows:
    """{model, way, budget, ms, peak}: way is PyTorch's mode or "tidemark"; ms and peak are left out where it does not run."""

    def __init__(self, folders):
        self.file = pathlib.Path(folders[0]) / "rows.jsonl"
        self.all = []
        for folder in folders:
            path = pathlib.Path(folder) / "rows.jsonl"
            if path.exists():
                # A line that a run was cut off in is measured again.
                self.all += [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]

    def find(self, model, way, budget):
        return next((r for r in self.all if (r["model"], r["way"], r["budget"]) == (model, way, budget)), None)

    def of(self, model, ours):
        return [r for r in self.all if r["model"] == model and (r["way"] == "tidemark") == ours]

    def measure(self, model, way, budget, f):
        row = self.find(model, way, budget)
        if row is None:
            row = {"model": model, "way": way, "budget": budget, **(f() or {})}
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with open(self.file, "a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
            self.all.append(row)
        print(text_of(row), flush=True)
        return row


def text_of(row):
    way = ("" if row["way"] == "tidemark" else "PyTorch ") + row["way"] + ("" if row["budget"] or row["way"] != "tidemark" else ", no budget")
    budget = f"{row['budget'] / MIB:.0f}" if row["budget"] else ""
    return f"| {row['model']} | {way} | {budget} | " + (f"{row['peak'] / MIB:.0f} | {row['ms']:.0f} |" if "ms" in row else "does not run | |")


def svg(name, ours, torch, path):
    points = [(p["peak"] / MIB, p["ms"]) for p in ours + torch]
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
        line = sorted((p["peak"] / MIB, p["ms"], p["way"] if label == "PyTorch" else f"{p['budget'] / MIB:.0f} MiB") for p in side)
        if label == "tidemark":
            out.append(f'<polyline fill="none" stroke="{colour}" points="' + " ".join("%.1f,%.1f" % at(x, y) for x, y, _ in line) + '"/>')
        for x, y, n in line:
            px, py = at(x, y)
            out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{colour}"><title>{label} {n}: {x:.0f} MiB, {y:.0f} ms</title></circle>')
            if label == "PyTorch":
                out.append(f'<text x="{px + 6:.1f}" y="{py - 6:.1f}" fill="{colour}">{n}</text>')
    out.append(f'<text x="{w - pad}" y="44" text-anchor="end" fill="#1565c0">tidemark</text><text x="{w - pad}" y="58" text-anchor="end" fill="#d84315">PyTorch</text></svg>')
    path.write_text("\n".join(out) + "\n")


HEADING = "| model | way | budget, MiB | peak, MiB | ms a step |\n|---|---|---|---|---|"


def measure(args):
    rows = Rows([args.out])
    bench_step = str(pathlib.Path(args.bench_step).resolve())
    print(HEADING)
    for name in args.models or MODELS:
        common = [name, *map(str, MODELS[name]), args.threads]
        if "torch" in args.sides:
            for mode in args.modes.split(","):
                rows.measure(name, mode, 0, lambda: torch_side(common, args.steps, mode))
        if "ours" not in args.sides:
            continue
        lone = rows.measure(name, "tidemark", 0, lambda: our_side(bench_step, common, args.steps, 0))
        peaks = sorted({r["peak"] for r in rows.of(name, ours=False) if "peak" in r}, reverse=True)
        floor = min(peaks, default=lone["peak"])
        for budget in peaks + [int(floor * f) for f in BELOW]:
            if "ms" not in rows.measure(name, "tidemark", budget, lambda: our_side(bench_step, common, args.steps, budget - BESIDE)):
                break
        draw(rows, name, pathlib.Path(args.out))


def draw(rows, name, folder):
    sides = [[r for r in rows.of(name, ours) if "ms" in r] for ours in (True, False)]
    if all(sides):
        svg(name, *sides, folder / f"{name}.svg")


def table(folders):
    """Every peak that PyTorch reached with ours beside it: at that budget or, where that was not asked for, at the next below."""
    rows = Rows(folders)
    print(HEADING)
    for name in [m for m in MODELS if rows.of(m, True) or rows.of(m, False)]:
        for row in rows.of(name, False) + sorted(rows.of(name, True), key=lambda r: -(r["budget"] or 1e18)):
            print(text_of(row))
        draw(rows, name, pathlib.Path(folders[0]))
    print("\n| model | PyTorch | its peak, MiB | its ms | ours at that peak, ms | ours is faster by |\n|---|---|---|---|---|---|")
    for name in MODELS:
        for row in rows.of(name, False):
            ours = [r for r in rows.of(name, True) if "ms" in r and r["budget"] and r["budget"] <= row.get("peak", 0)]
            if "ms" not in row or not ours:
                continue
            best = max(ours, key=lambda r: r["budget"])
            print(f"| {name} | {row['way']} | {row['peak'] / MIB:.0f} | {row['ms']:.0f} | {best['ms']:.0f} | {row['ms'] / best['ms']:.2f} x |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bench_step", help="the program; a folder with --table")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--out", default="build/budget")
    parser.add_argument("--modes", default=",".join(TORCH), help="of PyTorch's ways, with commas")
    parser.add_argument("--sides", default="torch,ours", help="ours is asked for the peaks that the folder has of PyTorch")
    parser.add_argument("--table", action="store_true", help="measure nothing: join the rows of these folders, draw into the first")
    parser.add_argument("models", nargs="*", help="models; folders with --table")
    args = parser.parse_intermixed_args()
    table([args.bench_step, *args.models]) if args.table else measure(args)


main()
