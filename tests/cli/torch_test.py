# tools/problem_from_torch.py: the problem is one, with every op of the step, and plans. Usage: torch_test.py PROGRAM SOURCE. Exit code 77: no PyTorch here,
# which is said.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys

from program import DONE, SOURCE, Cli, main

MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 8)
    def forward(self, x):
        return self.last(torch.relu_(self.norm(self.first(x)).view(-1, 64)))

def net():
    return Net(), [torch.empty(32, 64, device="meta")], lambda y: y.sum()
"""


def python_with_torch():
    for python in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(python) and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    print("SKIPPED: no PyTorch here (Debian: python3-torch)")
    sys.exit(77)


PYTHON = python_with_torch()


class Torch(Cli):
    def test_a_model_of_ones_own(self):
        self.file("mine.py", MODEL)
        out = self.path("net.json")
        done = subprocess.run([PYTHON, os.path.join(SOURCE, "tools/problem_from_torch.py"), "mine:net", "-o", out], cwd=self.folder.name, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out) as f:
            problem = json.load(f)
        kinds = [t["kind"] for t in problem["tasks"]]
        self.assertEqual(kinds.count("addmm"), 2)
        self.assertEqual([k for k in kinds if k.startswith("view") or k == "t"], [])  # views are their base
        relu = problem["tasks"][kinds.index("relu_")]
        self.assertEqual(relu["in_place"], [[relu["reads"][0], relu["writes"][0]]])  # the next state of what the norm made
        self.assertEqual(len(problem["outputs"]), 7)  # the loss and the gradients of six parameters
        self.assertEqual(sum(b.get("resident", False) and b["bytes"] == 64 * 64 * 4 for b in problem["buffers"]), 1)
        self.says(DONE, "over the floor", "plan", out, "--budget", "100%", "--time", "50ms")

    def test_a_model_that_torchvision_does_not_have(self):
        wrong = subprocess.run([PYTHON, os.path.join(SOURCE, "tools/problem_from_torch.py"), "resnet51"], capture_output=True, text=True)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("resnet51", wrong.stderr)


if __name__ == "__main__":
    main()
