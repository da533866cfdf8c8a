# tools/problem_from_torch.py: the problem is one, with every op of the step, and plans. Usage: torch_test.py PROGRAM SOURCE. Exit code 77: no PyTorch here,
# or no torchvision and all else is right, which is said.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import unittest

from program import DONE, SOURCE, Cli, main

MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 8)
    def forward(self, x):
        return self.last(torch.dropout(torch.relu_(self.norm(self.first(x)).view(-1, 64)), 0.5, True))

def net():
    return Net(), [torch.empty(32, 64, device="meta")], lambda y: y.sum()

def values():
    return Net(), [torch.empty(32, 64, device="meta")], lambda y: y[y > 0].sum()

def lacking():
    def loss(y):
        raise NotImplementedError("by the model, not by an op")
    return Net(), [torch.empty(32, 64, device="meta")], loss

def convolution(dtype=torch.float, layer=torch.nn.Conv2d):
    return layer(256, 64, 3, padding=1).to(dtype), [torch.empty(32, 256, 64, 64, device="meta", dtype=dtype)], lambda y: y.sum()

def half():
    return convolution(torch.half)

def transposed():
    return convolution(layer=torch.nn.ConvTranspose2d)

def three():
    return 3
"""


def python_with(*modules):
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode == 0:
            return python
    return None


VISION = python_with("torch", "torchvision")
PYTHON = VISION or python_with("torch")


class Torch(Cli):
    def trace(self, *args, **environment):
        self.file("mine.py", MODEL)
        command = [PYTHON, os.path.join(SOURCE, "tools/problem_from_torch.py"), *args]
        return subprocess.run(command, cwd=self.folder.name, capture_output=True, text=True, env={**os.environ, **environment})

    def problem(self, *args):
        done = self.trace(*args, "-o", "problem.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("problem.json")) as f:
            return json.load(f)

    def refuses(self, words, *args, **environment):
        wrong = self.trace(*args, **environment)
        self.assertEqual(wrong.returncode, 1)
        self.assertEqual(wrong.stdout, "")
        lines = [line for line in wrong.stderr.splitlines() if "GiB made" not in line]
        self.assertEqual(len(lines), 1, wrong.stderr)  # and no traceback
        self.assertIn("[problem_from_torch] ", lines[0])
        self.assertIn(words, lines[0])

    def test_a_model_of_ones_own(self):
        problem = self.problem("mine:net")
        kinds = [t["kind"] for t in problem["tasks"]]
        self.assertEqual(kinds.count("addmm"), 2)
        self.assertEqual([k for k in kinds if k.startswith("view") or k == "t"], [])  # views are their base
        relu = problem["tasks"][kinds.index("relu_")]
        self.assertEqual(relu["in_place"], [[relu["reads"][0], relu["writes"][0]]])  # the next state of what the norm made
        drawn = [t["kind"] for t in problem["tasks"] if t.get("random")]
        self.assertEqual(len(drawn), 1)
        self.assertRegex(drawn[0], "^(bernoulli|native_dropout)")
        self.assertEqual(len(problem["outputs"]), 7)  # the loss and the gradients of six parameters
        self.assertEqual(sum(b.get("resident", False) and b["bytes"] == 64 * 64 * 4 for b in problem["buffers"]), 1)
        self.says(DONE, "over the floor", "plan", self.path("problem.json"), "--budget", "100%", "--time", "50ms")

    def test_convolutions(self):
        rates = ("--latency", "0", "--bandwidth", "1e30", "--operations", "1")
        for model, product in (("mine:convolution", 2 * 32 * 64 * 64 * 64 * 256 * 9), ("mine:transposed", 2 * 32 * 64 * 64 * 256 * 64 * 9)):
            seconds = {t["kind"]: t["seconds"] for t in self.problem(model, *rates)["tasks"]}
            self.assertAlmostEqual(seconds["convolution"] / product, 1)
            self.assertAlmostEqual(seconds["convolution_backward"] / product, 1)  # of the weight; the input has no gradient, the bias is a sum
        problem = self.problem("mine:half")
        backward = next(t for t in problem["tasks"] if t["kind"] == "convolution_backward")
        self.assertEqual([problem["buffers"][b]["bytes"] for b in backward["writes"]], [2 * 64 * 256 * 9, 2 * 64])

    def test_what_is_refused_in_one_line(self):
        self.refuses("cannot import 'nowhere'", "nowhere:net")
        self.refuses("'mine' has no function 'nothing'", "mine:nothing")
        self.refuses("names no module", ":net")
        self.refuses("mine:three does not return", "mine:three")
        self.refuses("depends on values", "mine:values")
        self.refuses("cannot write /nowhere/net.json", "mine:net", "-o", "/nowhere/net.json")
        self.assertIn("by the model, not by an op", self.trace("mine:lacking").stderr)  # with the traceback: that is the user's own code
        os.mkdir(self.path("hidden"))
        self.file("hidden/torchvision.py", "raise ImportError('hidden')\n")
        self.refuses("python3-torchvision", "resnet18", PYTHONPATH=self.path("hidden"))

    @unittest.skipUnless(VISION, "no torchvision here")
    def test_models_of_torchvision(self):
        problem = self.problem("squeezenet1_1", "--batch", "16", "--size", "128")
        self.assertGreater(len(problem["tasks"]), 100)
        self.assertEqual(len([t for t in problem["tasks"] if t.get("random")]), 1)
        self.says(DONE, "over the floor", "plan", self.path("problem.json"), "--budget", "60%", "--time", "50ms", "--no-offsets")
        self.assertGreater(len(self.problem("alexnet", "--batch", "2")["tasks"]), 50)  # pools that PyTorch 1.13 cannot do on meta tensors
        self.refuses("resnet51", "resnet51")
        self.refuses("no model 'resnet'", "resnet")  # a module there
        self.refuses("--size 8", "squeezenet1_1", "--size", "8")


if __name__ == "__main__":
    if not PYTHON:
        print("SKIPPED: no PyTorch here (Debian: python3-torch)")
        sys.exit(77)
    try:
        main()
    except SystemExit as done:
        if done.code or VISION:
            raise
        print("SKIPPED: the models of torchvision, which is not here (Debian: python3-torchvision); all else is right")
        sys.exit(77)
