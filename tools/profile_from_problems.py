#!/usr/bin/env python3
"""A device profile of rooflines from problem files whose tasks are ATen ops timed one by one.

  tools/profile_from_problems.py --device 'NVIDIA H200' -o profiles/h200.json problem.json...

The files have kinds, seconds and bytes, no shapes. Products (m,k) x (k,n) -> (m,n): arithmetic is 2 sqrt(a b c) for the numbers
of elements a, b, c of the three matrices. Convolutions: 2 y w / channels, where the channels are those of the bias, or of the
batch norm that reads the result. Everything else is judged by its bytes. Each of our ops gets the fit of the ATen ops that do the
same work (GROUPS); the device's own roofline is the elementwise one with the products' arithmetic.
"""
import argparse
import json
import math

ELEMENTWISE = ["add.Tensor", "mul.Tensor", "relu", "threshold_backward", "gelu", "gelu_backward", "tanh", "tanh_backward",
               "hardtanh", "hardtanh_backward", "pow.Tensor_Scalar", "mul.Scalar", "add_.Tensor"]
GROUPS = {
    "fused": ELEMENTWISE, "add": ELEMENTWISE, "mul": ELEMENTWISE, "relu": ELEMENTWISE, "assign": ELEMENTWISE,
    "fused_fold": ["sum.dim_IntList"], "sum": ["sum.dim_IntList"],
    "matmul": ["mm", "addmm"], "attention": ["mm", "addmm"], "attention_backward": ["mm", "addmm"],
    "conv2d": ["convolution"], "conv2d_backward_data": ["convolution_backward"],
    "conv2d_backward_weights": ["convolution_backward"],
    "batch_norm": ["cudnn_batch_norm"], "batch_norm_backward": ["cudnn_batch_norm_backward"],
    "layer_norm": ["native_layer_norm"], "layer_norm_backward": ["native_layer_norm_backward"],
    "softmax": ["_softmax", "_log_softmax"], "cross_entropy": ["_log_softmax"],
    "cross_entropy_backward": ["_log_softmax_backward_data"],
    "max_pool2d": ["max_pool2d_with_indices"], "max_unpool2d": ["max_pool2d_with_indices_backward"],
    "contiguous": ["clone"], "concat": ["cat"],
}
NEVER = 1e30


def points_of(problem):
    buffers, tasks = problem["buffers"], problem["tasks"]
    readers = {}
    for t in tasks:
        for b in t["reads"]:
            readers.setdefault(b, []).append(t)
    for t in tasks:
        elements = lambda ids: [buffers[b]["bytes"] / 4 for b in ids]
        reads, writes, kind = elements(t["reads"]), elements(t["writes"]), t["kind"]
        flops, seconds, traffic = 0.0, t["seconds"], 4 * (sum(reads) + sum(writes))
        if kind in ("mm", "addmm"):
            largest = sorted(reads)[-2:]
            if len(largest) < 2:
                continue
            flops = 2 * math.sqrt(largest[0] * largest[1] * writes[0])
        elif kind == "convolution":
            channels = reads[2] if len(reads) > 2 else channels_after(t, buffers, readers)
            if not channels:
                continue
            flops = 2 * writes[0] * reads[1] / channels if reads[1] < reads[0] else 2 * writes[0] * reads[0] / channels
        elif kind == "convolution_backward":
            # Both halves in one task; the rate of arithmetic is the forward's, the traffic and the time are halved.
            seconds, traffic = seconds / 2, traffic / 2
        yield kind, flops, traffic, seconds


def channels_after(task, buffers, readers):
    for reader in readers.get(task["writes"][0], []):
        if reader["kind"] == "cudnn_batch_norm":
            return min(buffers[b]["bytes"] for b in reader["reads"]) / 4
    return None


def rates(points, constant, amount):
    all_rates = sorted(p[amount] / (p[2] - constant) for p in points if p[2] > constant and p[amount] > 0)
    if not all_rates:
        return [NEVER]
    return sorted({all_rates[q * (len(all_rates) - 1) // 24] for q in range(25)}) + [NEVER]


def fit(points):
    """As fit_roofline in tidemark/runtime/profile.cpp: least error in the logarithm, weighted by the root of the seconds."""
    least, best = min(p[2] for p in points), None
    for part in (0, 0.3, 0.6, 0.9, 1.0):
        c = part * least
        for f in rates(points, c, 0):
            for b in rates(points, c, 1):
                error = sum(math.sqrt(s) * abs(math.log((max(x / f, y / b) + c or 1e-12) / s)) for x, y, s in points)
                if best is None or error < best[0]:
                    best = (error, f, b, c)
    weight = sum(math.sqrt(p[2]) for p in points)
    return {"flops_per_second": best[1], "bytes_per_second": best[2], "seconds_per_task": best[3]}, best[0] / weight


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--device", required=True)
    args.add_argument("-o", required=True)
    args.add_argument("problems", nargs="+")
    args = args.parse_args()
    by_kind = {}
    for path in args.problems:
        with open(path) as f:
            for kind, *point in points_of(json.load(f)):
                by_kind.setdefault(kind, []).append(tuple(point))
    ops = {}
    for op, kinds in GROUPS.items():
        points = [p for k in kinds for p in by_kind.get(k, [])]
        points = sorted(points)[:: max(1, len(points) // 400)]
        if points:
            ops[op + " f32"], error = fit(points)
            print(f"{op:28s} {len(points):5d} points, off by {100 * (math.exp(error) - 1):5.1f} % on average")
    conv = ops.get("conv2d f32")
    for op in ("conv2d_backward_data f32", "conv2d_backward_weights f32"):
        if conv and op in ops:
            ops[op]["flops_per_second"] = conv["flops_per_second"]
    device = dict(ops["fused f32"], flops_per_second=ops["matmul f32"]["flops_per_second"])
    rounded = lambda r: {k: float(f"{v:.4g}") for k, v in r.items()}
    with open(args.o, "w") as f:
        f.write('{"format":"tidemark-profile","version":1,"device":%s,"threads":0,"library":"",\n' % json.dumps(args.device))
        f.write('"made":"rooflines fitted by tools/profile_from_problems.py to ATen ops timed one by one, float32 with TF32 products",\n')
        f.write('"roofline":%s,\n"ops":{\n' % json.dumps(rounded(device)))
        f.write(",\n".join(f"{json.dumps(k)}:{json.dumps(rounded(v))}" for k, v in sorted(ops.items())))
        f.write('},\n"points":[]}\n')


if __name__ == "__main__":
    main()
