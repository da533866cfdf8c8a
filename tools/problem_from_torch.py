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
SIZES = {"inception_v3": 299, "r3d_18": 112, "mc3_18": 112, "r2plus1d_18": 112}  # of the images that they are made for; 224 elsewhere


def stop(words):
    sys.exit(f"[problem_from_torch] {words}")


def storage(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def tensors(tree):
    return [x for x in tree_flatten(tree)[0] if isinstance(x, torch.Tensor)]


def convolution_backward(grad, x, weight, bias_sizes, *rest):
    mask = rest[-1]
    bias = grad.new_empty(bias_sizes) if mask[2] else None
    return torch.empty_like(x) if mask[0] else None, torch.empty_like(weight) if mask[1] else None, bias


def max_pool3d(x, kernel, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    shape = list(x.shape[:-3])
    for n, k, s, p, d in zip(x.shape[-3:], *([*v] * (3 // len(v)) for v in (kernel, stride or kernel, padding, dilation))):
        out = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        shape.append(out - (ceil_mode and (out - 1) * s >= n + p))  # no window begins in the padding behind
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.long)


def like_second(grad, x, *rest):
    return torch.empty_like(x)


# For ops that PyTorch 1.13 cannot do on meta tensors; newer ones take them too, so that the problem is the same.
STAND_INS = {
    "convolution_backward": convolution_backward,
    "max_pool3d_with_indices": max_pool3d,
    "max_pool3d_with_indices_backward": like_second,
    "_adaptive_avg_pool2d_backward": like_second,
    "_adaptive_avg_pool3d_backward": like_second,
}


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

    def seconds(self, name, args, ins, outs):
        operations = 0
        if name == "convolution":
            x, weight, transposed = args[0], args[1], args[6]
            operations = 2 * (x if transposed else outs[0]).numel() * weight.numel() // weight.shape[0]
        elif name == "convolution_backward":
            grad, x, weight, transposed, mask = *args[:3], args[7], args[-1]
            operations = 2 * (mask[0] + mask[1]) * (x if transposed else grad).numel() * weight.numel() // weight.shape[0]
        elif name in PRODUCTS:
            operations = 2 * outs[0].numel() * [t for t in ins if t.dim() >= 2][-2].shape[-1]
        moved = sum(t.numel() * t.element_size() for t in ins + outs)
        return self.rates.latency + max(moved / self.rates.bandwidth, operations / self.rates.operations)

    def call(self, op, base, args, kwargs):
        if base in STAND_INS:
            return STAND_INS[base](*args, **kwargs)
        try:
            return op(*args, **kwargs)
        except NotImplementedError:
            if {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape} & set(op.tags):
                stop(f"what {base} gives depends on values, and none are computed")
            stop(f"PyTorch {torch.__version__} has no meta kernel for {base}; a newer one may")

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        name = str(op).replace("aten.", "").replace(".default", "")
        base = name.split(".")[0]
        ins = tensors((args, kwargs or {}))
        reads = [self.buffer(t, resident=True, kind="constant") for t in ins]
        out = self.call(op, base, args, kwargs or {})
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
                    "writes": writes, "seconds": self.seconds(base, args, ins, outs)}
            if torch.Tag.nondeterministic_seeded in op.tags:
                task["random"] = True
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
    """Of what a model of torchvision returns: logits, those of auxiliary heads too, or a map of them."""
    if isinstance(out, torch.Tensor):
        return cross_entropy(out)
    if hasattr(out, "logits"):
        value = cross_entropy(out.logits)
        for field in out._fields:
            if field.startswith("aux_logits"):
                value = value + 0.4 * cross_entropy(getattr(out, field))
        return value
    return -torch.log_softmax(out["out"], 1)[:, 0].mean()


def vision_model(name, batch, size):
    try:
        import torchvision
    except ImportError:
        stop(f"'{name}' is a model of torchvision, which is missing; Debian has it as python3-torchvision")
    for family in (torchvision.models, torchvision.models.segmentation, torchvision.models.video):
        if name not in torchvision.models.list_models(family):
            continue
        arguments = {"weights": None}
        if family is torchvision.models.segmentation:
            arguments["weights_backbone"] = None
        if name in ("googlenet", "inception_v3"):
            arguments["init_weights"] = False
        shape = (3, 16, size, size) if family is torchvision.models.video else (3, size, size)
        return getattr(family, name)(**arguments), [torch.empty(batch, *shape, device="meta")], vision_loss
    stop(f"torchvision has no model '{name}'; one of your own is MODULE:FUNCTION")


def own_model(name):
    module, function = name.split(":", 1)
    sys.path.insert(0, "")
    if module[:1] in ("", "."):
        stop(f"'{name}' names no module; one of your own is MODULE:FUNCTION")
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        stop(f"cannot import '{module}': {error}")
    if not callable(getattr(found, function, None)):
        stop(f"module '{module}' has no function '{function}'")
    made = getattr(found, function)()
    if not isinstance(made, (tuple, list)) or len(made) != 3 or not isinstance(made[0], torch.nn.Module):
        stop(f"{name} does not return (model, inputs, loss of the outputs)")
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-o", "--output", help="else standard output")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, help="of images, in pixels; else 224, or what the model needs")
    parser.add_argument("--bandwidth", type=float, default=2.6e12, help="bytes a second")
    parser.add_argument("--operations", type=float, default=2.3e14, help="products and sums a second")
    parser.add_argument("--latency", type=float, default=2e-6, help="seconds that an op takes at least")
    rates = parser.parse_args()
    warnings.filterwarnings("ignore")
    name = rates.model
    if ":" in name:
        problem = trace(name.split(":", 1)[1], *own_model(name), rates)
    else:
        size = SIZES.get(name, 224) if rates.size is None else rates.size
        made = vision_model(name, rates.batch, size)
        try:
            problem = trace(name, *made, rates)
        except (AssertionError, RuntimeError, ValueError) as error:
            why = (str(error).strip() or type(error).__name__).splitlines()[0]
            stop(f"{name} cannot be traced with --batch {rates.batch} --size {size}: {why}")
    bytes_ = sum(b["bytes"] for b in problem["buffers"] if not b.get("resident"))
    print(f"{problem['name']}: {len(problem['tasks'])} tasks, {bytes_ / 2**30:.2f} GiB made", file=sys.stderr)
    try:
        with open(rates.output, "w") if rates.output else sys.stdout as out:
            json.dump(problem, out)
            out.write("\n")
    except OSError as error:
        stop(f"cannot write {rates.output or 'standard output'}: {error.strerror}")


if __name__ == "__main__":
    main()
