# The two verifiers of proofs, the program's and tools/verify_proof.py, say the same: of what is proven, and of proofs with a number changed.
# Usage: proof_test.py PROGRAM SOURCE [PROBLEMS].
# SPDX-License-Identifier: Apache-2.0
import copy
import importlib.util
import json
import os
import random
import re
import subprocess
import sys

from program import CHAIN, DONE, NO, SOURCE, Cli, main

TOOL = os.path.join(SOURCE, "tools", "verify_proof.py")
spec = importlib.util.spec_from_file_location("verify_proof", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)
PROBLEMS = int(sys.argv.pop(3)) if len(sys.argv) > 3 else 60


def random_problem(rng):
    """Forward and backward over a random graph, with everything that a problem may have."""
    buffers = [{"bytes": rng.randrange(1, 40), "resident": rng.random() < 0.7} for _ in range(2)]
    tiers = {"host": {"write_bytes_per_second": 40, "read_bytes_per_second": 25, "latency_seconds": 0.5, "bytes": 10**6},
             "disk": {"write_bytes_per_second": 9, "read_bytes_per_second": 30, "bytes": 10**6}}
    tiers = {name: tier for name, tier in tiers.items() if rng.random() < 0.3}
    for b in buffers:
        if not b["resident"] and tiers:
            b["start"] = rng.choice(list(tiers))
        b["resident"] = b["resident"] or not tiers
    tasks, there, updated, crossing = [], list(range(len(buffers))), set(), []
    half = rng.randrange(3, 8)
    for i in range(2 * half):
        # The backward half reads what the forward half made, the last first.
        reads = sorted({there[-1], crossing.pop() if i >= half else rng.choice(there[-3:])} | ({rng.choice(there)} if rng.random() < 0.1 else set()))
        made = [len(buffers) + n for n in range(1 if rng.random() < 0.8 else 2)]
        buffers += [{"bytes": rng.randrange(0, 100), "resident": False} for _ in made]
        task = {"reads": reads, "writes": made, "seconds": rng.randrange(0, 50) / 8}
        if rng.random() < 0.3:
            task["workspace"] = rng.randrange(0, 60)
        if rng.random() < 0.3:
            task["in_place"] = [[rng.choice(reads), made[0]]]
        if rng.random() < 0.1:
            task["once"] = True
        if rng.random() < 0.1:
            task["writes"], task["once"] = [*made, reads[0]], True
            updated.add(reads[0])
        tasks.append(task)
        there += made
        crossing += made[:1] if i < half else []
        if rng.random() < 0.3:  # another maker, an inverse as it may be
            tasks.append({"reads": rng.sample(there, 2), "writes": [], "seconds": rng.randrange(0, 50) / 8, "optional": True})
            tasks[-1]["writes"] = [b for b in [rng.choice(there)] if b not in tasks[-1]["reads"]]
        elif rng.random() < 0.2 and not updated & set(task["writes"]):  # the same another way
            tasks.append({"reads": reads, "writes": made, "seconds": task["seconds"] / 2, "workspace": rng.randrange(0, 90), "optional": True,
                          "instead_of": len(tasks) - 1, "once": task.get("once", False)})
    return {"format": "tidemark-problem", "version": 1, "name": "random", "align": rng.choice([1, 1, 8]), "buffers": buffers, "tasks": tasks,
            "outputs": sorted({there[-1], rng.choice(there)}), "tiers": tiers}


class Proofs(Cli):
    def both(self, problem, plan):
        """Whether the bounds are proven, by the tool and by the program."""
        try:
            tool.verify(copy.deepcopy(problem), copy.deepcopy(plan))
            by_tool = True
        except (tool.Refused, LookupError, TypeError, ValueError, AttributeError):
            by_tool = False
        told = json.loads(self.run_any("check", self.problem, self.file("plan.json", json.dumps(plan)), "--json").stdout)
        return by_tool, told["valid"] and told["proof"] == "verified"

    def run_any(self, *args):
        for code in DONE, NO:
            try:
                return self.run_it(*args, code=code)
            except AssertionError:
                if code == NO:
                    raise

    def test_they_say_the_same(self):
        rng = random.Random(7)
        with_rows = refused = 0
        for _ in range(PROBLEMS):
            problem = random_problem(rng)
            self.problem = self.file("problem.json", json.dumps(problem))
            self.run_any("bound", self.problem, "--budget", f"{rng.randrange(30, 95)}%", "--time", "30ms", "-o", self.path("bound.json"))
            with open(self.path("bound.json")) as f:
                plan = json.load(f)
            self.assertEqual(self.both(problem, plan), (True, True), (problem, plan))
            text = json.dumps(plan["proof"])
            with_rows += "need" in text
            numbers = [m for m in re.finditer(r"\d+", text) if text[m.start() - 1] in " [,-"]
            for m in rng.sample(numbers, min(6, len(numbers))):
                changed = rng.choice([0, 1, int(m.group()) + 1, int(m.group()) * 2, int(m.group()) // 2])
                tampered = {**plan, "proof": json.loads(text[: m.start()] + str(changed) + text[m.end():])}
                by_tool, by_program = self.both(problem, tampered)
                self.assertEqual(by_tool, by_program, (problem, tampered))
                refused += not by_tool
        self.assertGreater(with_rows, PROBLEMS / 8)
        self.assertGreater(refused, PROBLEMS / 2)

    def test_they_say_the_same_of_models_and_of_tiers(self):
        rng = random.Random(8)
        slow_link = copy.deepcopy(CHAIN)
        slow_link["tiers"] = {"host": {"write_bytes_per_second": 9, "read_bytes_per_second": 9, "bytes": 10**6}}
        for task in slow_link["tasks"][:4]:
            task["once"] = True
        asked = [("unet", "30%", "parts keep"), ("gpt2-124m", "50%", "need order"), (slow_link, "320", "links")]
        for model, budget, names in asked:
            self.problem = self.path("problem.json")
            if isinstance(model, str):
                self.run_it("pose", model, "--device", "h200", "-o", self.problem)
            else:
                self.file("problem.json", json.dumps(model))
            self.run_it("bound", self.problem, "--budget", budget, "--time", "1s", "-o", self.path("bound.json"))
            with open(self.problem) as f, open(self.path("bound.json")) as g:
                problem, plan = json.load(f), json.load(g)
            self.assertEqual(self.both(problem, plan), (True, True))
            text = json.dumps(plan["proof"])
            for name in names.split():
                begin = text.find(f'"{name}": [')
                if begin < 0 and name != "links":
                    continue  # what a second comes to depends on the machine
                self.assertGreater(begin, 0, (model, name))
                number = rng.choice([m for m in re.finditer(r"\d+", text[begin: text.find('"', begin + len(name) + 4)])])
                changed = text[: begin + number.start()] + str(int(number.group()) * 2 + 1) + text[begin + number.end():]
                by_tool, by_program = self.both(problem, {**plan, "proof": json.loads(changed)})
                self.assertEqual(by_tool, by_program, (model, name, number))

    def test_the_lower_of_two_decisions_about_the_same_counts(self):
        """With buffer 0 stored, task 2 of this one has no room for its run; with none of it, there is a plan."""
        problem = {"format": "tidemark-problem", "version": 1, "name": "line", "buffers": [{"bytes": 10}, {"bytes": 1}, {"bytes": 1}], "outputs": [2],
                   "tasks": [{"reads": [] if i == 0 else [i - 1], "writes": [i], "seconds": 1} for i in range(3)]}
        self.problem = self.file("problem.json", json.dumps(problem))
        leaf, impossible = {"moments": [[2, 0, 0]]}, {"impossible": True, "moments": [[2, 1, 0]]}

        def decided(yes, no):
            return {"stored": [2, 0], "cases": [yes, no]}

        for tree, proven in ((decided(impossible, leaf), True), (decided(leaf, impossible), False), (decided(leaf, decided(impossible, leaf)), True),
                             (decided(decided(impossible, leaf), leaf), True), (decided(decided(leaf, impossible), leaf), False)):
            plan = {"format": "tidemark-plan", "version": 1, "status": "timed_out", "steps": [], "budget": 11, "seconds_bound": 3,
                    "proof": {"version": 4, "unit_exponent": -40, "seconds": tree}}
            self.assertEqual(self.both(problem, plan), (proven, proven), tree)

    def test_it_runs_alone(self):
        plan = self.path("plan.json")
        self.run_it("plan", self.chain, "--budget", "75%", "--time", "100ms", "-o", plan)
        with open(plan) as f:
            stated = json.load(f)
        for change, code, words in ({}, 0, "proven: no plan within"), ({"seconds_bound": stated["seconds"] * 2}, 1, "but the proof gives"), (
                {"peak_bound": 10**9}, 1, "not shown to be"), ({"proof": {"version": 3}}, 1, "version 4"):
            path = self.file("changed.json", json.dumps({**stated, **change}))
            told = subprocess.run([sys.executable, TOOL, self.chain, path], capture_output=True, text=True, timeout=60)
            self.assertEqual((told.returncode, words in told.stdout + told.stderr), (code, True), told)


if __name__ == "__main__":
    main()
