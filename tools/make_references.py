#!/usr/bin/env python3
# Writes tests/nn/references/*.json: losses, logits, gradients and running statistics of every zoo model at a small size,
# computed by PyTorch in float64 from values that C++ reproduces exactly. Needs torch and numpy; ./test does not run it.
#   python3 tools/make_references.py [model…]
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys

import numpy as np
import torch

import reference_models as models


def fnv1a(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def philox_words(name, n):
    """Word 0 of Philox4x32-10 for the counters 0 … n-1 under the key fnv1a(name)."""
    key, low = fnv1a(name), np.uint64(0xFFFFFFFF)
    x = [np.arange(n, dtype=np.uint64) & low] + [np.zeros(n, dtype=np.uint64) for _ in range(3)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        s = np.uint64(32)
        x = [(p1 >> s) ^ x[1] ^ np.uint64(k0), p1 & low, (p0 >> s) ^ x[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return x[0]


def uniform(name, n):
    """In [-1, 1), exact in float32."""
    return (philox_words(name, n) >> np.uint64(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)


def parameter(name, shape):
    n = int(np.prod(shape))
    v = uniform(name, n)
    if len(shape) == 1:
        around_one = name.endswith("scale") or name.rsplit(".", 1)[-1] in ("norm", "norm1", "norm2")
        v = np.float32(1) + np.float32(0.2) * v if around_one else np.float32(0.1) * v
    else:
        fan = shape[0] if len(shape) == 2 else n // shape[0]
        v = v * np.float32(np.sqrt(3.0 / fan))
    return torch.tensor(v.astype(np.float64).reshape(shape))


class Net:
    """Parameters by name, made when first asked for."""

    def __init__(self):
        self.parameters, self.state = {}, {}

    def __call__(self, name, shape):
        if name not in self.parameters:
            self.parameters[name] = parameter(name, shape).requires_grad_()
        return self.parameters[name]

    def stats(self, name, channels):
        self.state[name + ".mean"] = torch.zeros(channels, dtype=torch.float64)
        self.state[name + ".variance"] = torch.ones(channels, dtype=torch.float64)
        return self.state[name + ".mean"], self.state[name + ".variance"]


def floats(name, shape):
    v = uniform("input." + name, int(np.prod(shape))) * np.float32(np.sqrt(3.0))
    return torch.tensor(v.astype(np.float64).reshape(shape))


def integers(name, shape, below):
    w = philox_words("input." + name, int(np.prod(shape)))
    return torch.tensor(((w * np.uint64(below)) >> np.uint64(32)).astype(np.int64).reshape(shape))


def images(b, size, classes):
    return {"image": floats("image", (b, 3, size, size)), "label": integers("label", (b,), classes)}


def pixels(b, size, classes):
    return {"image": floats("image", (b, 3, size, size)), "label": integers("label", (b, size, size), classes)}


def text(b, t, vocab):
    return {"tokens": integers("tokens", (b, t), vocab), "labels": integers("labels", (b, t), vocab)}


RESNET = {"width": 8, "classes": 7}
CASES = {
    "mlp": (models.mlp, {"batch": 5}, {"inputs": 12, "hidden": 17, "depth": 2, "classes": 6}, {},
            lambda o, s: {"x": floats("x", (o["batch"], s["inputs"])), "label": integers("label", (o["batch"],), s["classes"])}),
    "vgg16": (models.vgg, {"batch": 2, "size": 64}, {"width": 4, "hidden": 20, "classes": 7}, {"long": 3}, None),
    "vgg19": (models.vgg, {"batch": 2, "size": 64}, {"width": 4, "hidden": 20, "classes": 7}, {"long": 4}, None),
    "resnet18": (models.resnet, {"batch": 3, "size": 64}, RESNET | {"blocks1": 2, "blocks2": 2, "blocks3": 2, "blocks4": 2}, {"bottleneck": False}, None),
    "resnet50": (models.resnet, {"batch": 3, "size": 64}, RESNET | {"blocks1": 2, "blocks2": 2, "blocks3": 2, "blocks4": 1}, {"bottleneck": True}, None),
    "resnet152": (models.resnet, {"batch": 3, "size": 64}, RESNET | {"blocks1": 1, "blocks2": 2, "blocks3": 3, "blocks4": 1}, {"bottleneck": True}, None),
    "mobilenet-v2": (models.mobilenet_v2, {"batch": 3, "size": 64}, {"width": 25, "classes": 7}, {}, None),
    "densenet121": (models.densenet, {"batch": 3, "size": 64}, {"growth": 4, "width": 8, "classes": 7, "layers1": 2, "layers2": 3, "layers3": 2, "layers4": 2}, {}, None),
    "unet": (models.unet, {"batch": 2, "size": 32}, {"channels": 3, "width": 4, "depth": 3, "classes": 3}, {}, pixels),
    "segnet": (models.segnet, {"batch": 2, "size": 64}, {"width": 4, "classes": 5}, {}, pixels),
    "vit-b-16": (models.vit, {"batch": 2, "size": 32}, {"patch": 8, "width": 24, "depth": 2, "heads": 3, "hidden": 40, "classes": 7}, {}, None),
    "bert-base": (models.bert, {"batch": 2, "seq": 11}, {"vocab": 29, "positions": 16, "width": 24, "depth": 2, "heads": 3, "hidden": 40}, {},
                  lambda o, s: text(o["batch"], o["seq"], s["vocab"]) | {"segments": integers("segments", (o["batch"], o["seq"]), 2), "follows": integers("follows", (o["batch"],), 2)}),
    "gpt2-124m": (models.gpt2, {"batch": 2, "seq": 11}, {"vocab": 29, "positions": 16, "width": 24, "depth": 2, "heads": 3}, {}, text),
    "gpt2-355m": (models.gpt2, {"batch": 1, "seq": 13}, {"vocab": 31, "positions": 13, "width": 32, "depth": 3, "heads": 4}, {}, text),
    "gpt2-774m": (models.gpt2, {"batch": 3, "seq": 7}, {"vocab": 23, "positions": 16, "width": 40, "depth": 1, "heads": 5}, {}, text),
    "gpt2-1.5b": (models.gpt2, {"batch": 1, "seq": 40}, {"vocab": 29, "positions": 64, "width": 50, "depth": 1, "heads": 2}, {}, text),
    "llama-1b": (models.llama, {"batch": 2, "seq": 9}, {"vocab": 29, "width": 32, "depth": 2, "heads": 4, "groups": 2, "hidden": 48}, {}, text),
    "lstm": (models.lstm, {"batch": 3, "seq": 6}, {"vocab": 23, "hidden": 10, "depth": 2}, {}, text),
}


def summary(t):
    """Norm, sum, and three elements."""
    f = t.detach().reshape(-1)
    n = f.numel()
    values = [f.norm().item(), f.sum().item(), f[0].item(), f[n // 2].item(), f[n - 1].item()]
    return [float(f"{v:.10g}") for v in values]


def make(name, folder):
    model, options, sizes, extra, batch_of = CASES[name]
    if batch_of is None:
        batch_of = images
    if batch_of in (images, pixels):
        batch = batch_of(options["batch"], options["size"], sizes["classes"])
    elif batch_of is text:
        batch = text(options["batch"], options["seq"], sizes["vocab"])
    else:
        batch = batch_of(options, sizes)
    net = Net()
    logits, loss = model(net, batch, sizes | extra)
    loss.backward()
    gradients = {k: p.grad if p.grad is not None else torch.zeros_like(p) for k, p in net.parameters.items()}
    lines = ["{", f' "model": {json.dumps(name)}, "options": {json.dumps(options)}, "sizes": {json.dumps(sizes)},',
             f' "loss": {loss.item():.12g}, "logits": {json.dumps(summary(logits))},', ' "gradients": {']
    lines += [",\n".join(f"  {json.dumps(k)}: {json.dumps([list(g.shape)] + summary(g))}" for k, g in gradients.items()), ' },', ' "state": {']
    lines += [",\n".join(f"  {json.dumps(k)}: {json.dumps([list(v.shape)] + summary(v))}" for k, v in net.state.items()), " }", "}"]
    path = folder / f"{name}.json"
    path.write_text("\n".join(lines) + "\n")
    print(f"{name}: loss {loss.item():.6f}, {len(gradients)} gradients, {path.stat().st_size} bytes")


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    out = pathlib.Path(__file__).resolve().parent.parent / "tests" / "nn" / "references"
    out.mkdir(exist_ok=True)
    for case in sys.argv[1:] or CASES:
        make(case, out)
