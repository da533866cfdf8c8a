#!/usr/bin/env python3
"""Writes a training step of a PyTorch model as a planning problem (docs/format.md): every ATen op of forward, loss and backward pass is a task.

    tools/problem_from_torch.py NAME [-o FILE] [--batch N] [--size S]       a model of torchvision, by its name there
    tools/problem_from_torch.py MODULE:FUNCTION [-o FILE]                   FUNCTION() returns (model, inputs, loss of the outputs)

Nothing is computed: tensors are on the device "meta", so a step of 100 GB is traced on a laptop. Needs PyTorch 1.13 or newer (Debian: python3-torch,
python3-torchvision). Seconds are modelled, by bytes moved and products made, with the rates given; those of a device of yours come from timing the ops.
"""
import argparse
import importlib
import json
import sys
import warnings

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten
except ImportError:
    sys.exit("[problem_from_torch] needs PyTorch 1.13 or newer; Debian has it as python3-torch (and torchvision as python3-torchvision)")

PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")


def storage(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def tensors(tree):
    return [x for x in tree_flatten(tree)[0] if isinstance(x, torch.Tensor)]


def convolution_backward(grad, x, weight, bias_sizes, *rest):
    """PyTorch 1.13 has none for meta tensors."""
    mask = rest[-1]
    bias = torch.empty(bias_sizes, device="meta") if mask[2] else None
    return torch.empty_like(x) if mask[0] else None, torch.empty_like(weight) if mask[1] else None, bias


class Recorder(TorchDispatchMode):
    """Buffers are storages; an op that changes one in place makes the next state of it, a buffer of its own that may take over its place."""

    def __init__(self, rates):
        super().__init__()
        self.rates = rates
        self.buffers, self.tasks, self.names = [], [], {}
        self.state = {}  # of each storage, the buffer that it is now
        self.alive = []  # storages, so that no address is seen twice

    def new_buffer(self, bytes_, **more):
        self.buffers.append({"name": f"b{len(self.buffers)}", "bytes": bytes_, **more})
        return len(self.buffers) - 1

    def buffer(self, tensor, **more):
        s = storage(tensor)
        if s._cdata not in self.state:
            self.alive.append(s)
            self.state[s._cdata] = self.new_buffer(s.nbytes(), **more)
        return self.state[s._cdata]

    def seconds(self, name, ins, outs):
        operations = 0
        if name == "convolution":
            operations = 2 * outs[0].numel() * ins[1].numel() // ins[1].shape[0]
        elif name == "convolution_backward":
            operations = 2 * sum(g is not None for g in outs[:2]) * ins[0].numel() * ins[2].numel() // ins[2].shape[0]
        elif name in PRODUCTS:
            operations = 2 * outs[0].numel() * [t for t in ins if t.dim() >= 2][-2].shape[-1]
        moved = sum(t.numel() * t.element_size() for t in ins + outs)
        return self.rates.latency + max(moved / self.rates.bandwidth, operations / self.rates.operations)

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        name = str(op).replace("aten.", "").replace(".default", "")
        base = name.split(".")[0]
        ins = tensors((args, kwargs or {}))
        reads = [self.buffer(t, resident=True, kind="constant") for t in ins]
        out = convolution_backward(*args) if base == "convolution_backward" else op(*args, **(kwargs or {}))
        outs = tensors(out)
        known = {storage(t)._cdata for t in ins}
        changed = [t for t in outs if storage(t)._cdata in known]
        if not outs or (len(changed) == len(outs) and not base.endswith("_")):
            return out  # a view
        writes, in_place = [], []
        for t in outs:
            before = self.state.get(storage(t)._cdata)
            if before is None:
                writes.append(self.buffer(t))
            elif self.buffers[before].get("resident"):
                continue  # a running statistic
            elif before not in [pair[0] for pair in in_place]:
                writes.append(self.new_buffer(self.buffers[before]["bytes"]))
                self.state[storage(t)._cdata] = writes[-1]
                in_place.append([before, writes[-1]])
        if writes:
            count = self.names[name] = self.names.get(name, -1) + 1
            task = {"name": f"{name}_{count}" if count else name, "kind": name, "reads": sorted(set(reads)),
                    "writes": writes, "seconds": self.seconds(base, ins, outs)}
            if in_place:
                task["in_place"] = in_place
            self.tasks.append(task)
        return out

    def problem(self, name, outputs):
        """Without tasks that nothing needs and buffers that nothing uses."""
        needed, tasks = set(outputs), []
        for task in reversed(self.tasks):
            if needed & set(task["writes"]):
                tasks.append(task)
                needed |= set(task["reads"])
        tasks.reverse()
        used = sorted({b for t in tasks for b in t["reads"] + t["writes"]} | set(outputs))
        place = {b: i for i, b in enumerate(used)}
        for task in tasks:
            task["reads"] = [place[b] for b in task["reads"]]
            task["writes"] = [place[b] for b in task["writes"]]
            if "in_place" in task:
                task["in_place"] = [[place[a], place[b]] for a, b in task["in_place"]]
        return {"format": "tidemark-problem", "version": 1, "name": name, "device": "modelled",
                "buffers": [self.buffers[b] for b in used], "tasks": tasks, "outputs": [place[b] for b in sorted(outputs)]}


def trace(name, model, inputs, loss, rates):
    model = model.to("meta").train()
    inputs = [x.to("meta") for x in inputs]
    recorder = Recorder(rates)
    for t in [*model.parameters(), *model.buffers()]:
        recorder.buffer(t, resident=True, kind="parameter")
    for t in inputs:
        recorder.buffer(t, resident=True, kind="input")
    with recorder:
        value = loss(model(*inputs))
        gradients = torch.autograd.grad(value, list(model.parameters()), allow_unused=True)
    outputs = {recorder.buffer(t) for t in [value, *(g for g in gradients if g is not None)]}
    return recorder.problem(name, {b for b in outputs if not recorder.buffers[b].get("resident")})


def cross_entropy(logits):
    return torch.nn.functional.cross_entropy(logits, torch.zeros(logits.shape[0], dtype=torch.long, device="meta"))


def vision_loss(out):
    """Of what a model of torchvision returns: logits, those of an auxiliary head too, or a map of them."""
    if isinstance(out, torch.Tensor):
        return cross_entropy(out)
    if hasattr(out, "aux_logits"):
        return cross_entropy(out.logits) + 0.4 * cross_entropy(out.aux_logits)
    return -torch.log_softmax(out["out"], 1)[:, 0].mean()


def vision_model(name, batch, size):
    import torchvision
    for family in (torchvision.models, torchvision.models.segmentation, torchvision.models.video):
        if not hasattr(family, name):
            continue
        arguments = {"weights": None}
        if family is torchvision.models.segmentation:
            arguments["weights_backbone"] = None
        if name == "inception_v3":
            arguments["init_weights"] = False
        shape = (3, 16, size, size) if family is torchvision.models.video else (3, size, size)
        return getattr(family, name)(**arguments), [torch.empty(batch, *shape, device="meta")], vision_loss
    sys.exit(f"[problem_from_torch] torchvision has no model '{name}'; one of your own is MODULE:FUNCTION")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-o", "--output", help="else standard output")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, default=224, help="of images, in pixels")
    parser.add_argument("--bandwidth", type=float, default=2.6e12, help="bytes a second")
    parser.add_argument("--operations", type=float, default=2.3e14, help="products and sums a second")
    parser.add_argument("--latency", type=float, default=2e-6, help="seconds that an op takes at least")
    rates = parser.parse_args()
    warnings.filterwarnings("ignore")
    if ":" in rates.model:
        module, function = rates.model.split(":", 1)
        sys.path.insert(0, "")
        name, made = function, getattr(importlib.import_module(module), function)()
    else:
        name, made = rates.model, vision_model(rates.model, rates.batch, rates.size)
    problem = trace(name, *made, rates)
    bytes_ = sum(b["bytes"] for b in problem["buffers"] if not b.get("resident"))
    print(f"{name}: {len(problem['tasks'])} tasks, {bytes_ / 2**30:.2f} GiB made", file=sys.stderr)
    with open(rates.output, "w") if rates.output else sys.stdout as out:
        json.dump(problem, out)
        out.write("\n")


if __name__ == "__main__":
    main()
