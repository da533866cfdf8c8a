# The program from outside: exit codes, messages, and --json against docs/schemas. Usage: cli_test.py PROGRAM SOURCE.
# SPDX-License-Identifier: Apache-2.0
import copy
import glob
import json
import os
import subprocess

import schema
from program import DONE, INTERRUPTED, NO, PROGRAM, SOURCE, WRONG, Cli, main


class Planning(Cli):
    def test_help_has_examples(self):
        top = self.run_it("--help").stdout
        verbs = [line.split()[0] for line in top.split("Subcommands:")[1].splitlines() if line.startswith("  ")]
        self.assertGreaterEqual(len(verbs), 4)
        for verb in verbs:
            self.assertIn(f"Example: tidemark {verb} ", self.run_it(verb, "--help").stdout)
        self.assertIn("tidemark", self.run_it("--version").stdout)

    def test_wrong_use(self):
        self.run_it(code=WRONG)
        for extra in [], ["--help"]:
            self.says(WRONG, "unknown verb 'plam'; did you mean 'plan'?", "plam", *extra)
            self.says(WRONG, "unknown verb 'frobnicate'; one of models plan", "frobnicate", *extra)
        self.says(WRONG, "did you mean 'frontier'?", "front")
        self.run_it("plan", code=WRONG)
        self.run_it("plan", self.chain, code=WRONG)
        self.says(WRONG, "bananas", "plan", self.chain, "--budget", "8bananas")
        self.says(WRONG, "512.5", "plan", self.chain, "--budget", "512.5")
        self.says(WRONG, "planner", "plan", self.chain, "--budget", "60%", "--planner", "guess")
        self.says(WRONG, "soon", "plan", self.chain, "--budget", "60%", "--time", "soon")
        self.says(WRONG, "threads", "plan", self.chain, "--budget", "60%", "--threads", "0")
        self.says(WRONG, "telepathy", "plan", self.chain, "--budget", "60%", "--without", "telepathy")
        self.run_it("plan", self.chain, "--budget", "60%", "--seed", "x", code=WRONG)
        # What would mean nothing is refused, not passed over.
        for option in [["--batch", "4"], ["--seq", "4"], ["--size", "32"], ["--set", "width=8"], ["--optimizer", "sgd"], ["--dtype", "bf16"],
                       ["--device", "h200"], ["--model-threads", "1"]]:
            self.says(WRONG, option[0] + " is for models", "plan", self.chain, "--budget", "60%", *option)
        # Nothing is taken for another number than was written.
        pose = ["pose", "mlp", "-o", self.path("posed.json")]
        for option in "--batch", "--size", "--seq":
            self.says(WRONG, option + " 0 vs between 1 and", *pose, option, "0")
            self.says(WRONG, option + " -2 vs between 1 and", *pose, option, "-2")
        self.says(WRONG, "--batch is what is looked for", "fit", "mlp", "--budget", "1GiB", "--batch", "0")
        self.says(WRONG, "--batch 99999999 vs between 1 and", *pose, "--batch", "99999999")
        self.says(WRONG, "beyond what a number holds", *pose, "--batch", "99999999999999999999")
        for text in "0x10", "1e3", "2.5", "x", "":
            self.says(WRONG, f"--batch '{text}' is no whole number", *pose, "--batch", text)
        self.says(WRONG, "--model-threads -1 vs between 1 and 1024", *pose, "--model-threads", "-1")
        self.says(WRONG, "--model-threads 5000 vs", *pose, "--model-threads", "5000")
        for text in "hidden=99999999999999999999", "hidden=", "=3", "hidden", "hidden=4x":
            self.says(WRONG, f"--set {text} is not of the form", *pose, "--set", text)
        self.says(WRONG, "gives hidden twice", *pose, "--set", "hidden=8,hidden=16")
        self.says(WRONG, "size hidden = 0 vs a positive number", *pose, "--set", "hidden=0")
        self.says(WRONG, "--effort -5 is neither", "plan", self.chain, "--budget", "60%", "--effort", "-5")
        self.says(WRONG, "--rate 'inf' is no number", "train", "mlp", "--steps", "1", "--rate", "inf")
        self.says(WRONG, "--clip 'nan' is no number", "train", "mlp", "--steps", "1", "--clip", "nan")
        self.assertIn("--batch INT", self.run_it("pose", "--help").stdout)
        self.assertNotIn("--batch INT=", self.run_it("pose", "--help").stdout)
        plan = self.path("plan.json")
        self.run_it("plan", self.chain, "--budget", "100%", "-o", plan)
        self.says(WRONG, "exclude each other", "show", self.chain, "--what", "program", "--plan", plan, "--budget", "60%")

    def test_files(self):
        missing = self.path("missing.json")
        self.says(WRONG, missing, "plan", missing, "--budget", "60%")
        self.says(WRONG, missing, "check", self.chain, missing)
        self.says(WRONG, missing, "pack", missing)
        garbage = self.file("garbage.json", '{"format": "tidemark-problem",\n nonsense')
        self.says(WRONG, "line 2, column 2", "plan", garbage, "--budget", "60%")
        self.says(WRONG, "line 2, column 2", "check", self.chain, garbage)
        # JSON of another kind is no plan; a plan that breaks the format is an invalid one.
        for text in ["{}", "[]", "3", '{"format": "tidemark-problem", "version": 1}', '{"format": 7}']:
            self.says(WRONG, "not a plan", "check", self.chain, self.file("other.json", text))
        self.says(WRONG, "not a plan", "check", self.chain, self.chain)
        for value, why in ("[" * 2000 + "]" * 2000, "nested deeper"), ("1e400", "out of range"):
            self.says(WRONG, why, "check", self.chain, self.file("unread.json", '{"format": "tidemark-plan", "proof": %s}' % value))
        self.says(NO, "version", "check", self.chain, self.file("other.json", '{"format": "tidemark-plan", "version": 9}'))
        self.run_it("plan", self.folder.name, "--budget", "60%", code=WRONG)
        binary = self.path("binary.json")
        with open(binary, "wb") as f:
            f.write(bytes(range(256)))
        self.run_it("plan", binary, "--budget", "60%", code=WRONG)
        self.says(WRONG, "is not a folder", "plan", self.chain, "--budget", "60%", "-o", self.path("no/such/plan.json"))
        self.says(WRONG, "is a folder", "plan", self.chain, "--budget", "60%", "-o", self.folder.name)
        if os.path.exists("/dev/full"):
            with open("/dev/full", "w") as full:
                result = subprocess.run([PROGRAM, "schedule", "revolve", "--steps", "10", "--slots", "2"], stdout=full,
                                        stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual(result.returncode, WRONG)
            self.assertIn("standard output", result.stderr)

    def test_profiles(self):
        mine = self.path("mine.json")
        small = ["--batch", "2", "--set", "inputs=8,hidden=8"]
        told = self.says(DONE, "kernels", "profile", "--model", "mlp", *small, "--repeats", "3", "-o", mine).stdout
        self.assertIn("matmul f32", told)
        with open(mine) as f:
            text = f.read()
        with open(os.path.join(SOURCE, "docs", "schemas", "profile.json")) as f:
            self.assertEqual(schema.errors(json.loads(text), json.load(f)), [])
        self.says(DONE, " 0 kernels;", "profile", "--model", "mlp", *small, "-o", mine)
        self.assertEqual(self.json_of("profile", "profile", "--model", "mlp", *small, "-o", mine), json.loads(text))
        def seconds(path):
            with open(path) as f:
                return {p["key"]: p["seconds"] for p in json.load(f)["points"]}
        alone = seconds(mine)
        # So small a step is far from what kernels take one by one, with cold caches.
        self.run_it("profile", "--model", "mlp", *small, "--in-step", "-o", mine)
        self.assertEqual(alone.keys(), seconds(mine).keys())
        self.assertNotEqual(alone, seconds(mine))
        self.says(WRONG, "--seq means nothing to mlp", "profile", "--model", "mlp", "--seq", "4", "-o", mine)
        self.says(WRONG, "are for --model", "profile", "--batch", "4", "-o", mine)
        self.says(WRONG, "this machine", "profile", "--device", "h200", "-o", mine)
        self.says(DONE, "--device " + mine, "plan", "mlp", *small, "--budget", "100%", "--device", mine)
        self.says(DONE, "NVIDIA H200", "plan", "mlp", *small, "--budget", "100%", "--device", "h200")
        self.says(DONE, "shipped profile", "plan", "mlp", *small, "--budget", "100%")
        self.says(WRONG, "h200", "plan", "mlp", "--budget", "100%", "--device", "h300")
        cut = self.file("cut.json", text[: len(text) // 2])
        self.says(WRONG, "[profile]", "plan", "mlp", "--budget", "100%", "--device", cut)
        self.says(WRONG, "[profile]", "profile", "--model", "mlp", *small, "-o", cut)
        with open(cut) as f:
            self.assertEqual(f.read(), text[: len(text) // 2], "what is not understood is not written over")
        other = self.file("other.json", text.replace('"threads": ', '"threads": 9'))
        self.says(WRONG, "write another file", "profile", "--model", "mlp", *small, "-o", other)

    def test_plan_and_check(self):
        plan = self.path("plan.json")
        for budget in ["100%", "75%", "10kB"]:
            for extra in [[], ["--no-offsets"]]:
                result = self.run_it("plan", self.chain, "--budget", budget, "--time", "100ms", "-o", plan, *extra)
                for word in ["time", "peak", "over the floor", "store all"]:
                    self.assertIn(word, result.stdout)
                self.says(DONE, "valid", "check", self.chain, plan)
                verdict = self.json_of("check", "check", self.chain, plan)
                self.assertTrue(verdict["valid"])
                printed = self.json_of("plan", "plan", self.chain, "--budget", budget, "--time", "100ms", *extra)
                self.assertEqual("arena" in printed, not extra)
                self.assertEqual(printed["problem"], "chain")

    def test_plan_is_kept_for_the_same_seed_and_effort(self):
        def steps(seed):
            return self.json_of("plan", "plan", self.chain, "--budget", "75%", "--effort", "50", "--time", "20s", "--seed", seed)["steps"]
        self.assertEqual(steps("7"), steps("7"))

    def test_every_planner(self):
        listing = self.run_it("plan", "--help").stdout.split("Planners:")[1].splitlines()
        names = [line.split()[0] for line in listing if line.startswith("  ") and line[2] != " "]
        self.assertIn("store_all", names)
        for name in names:
            result = subprocess.run([PROGRAM, "plan", self.chain, "--budget", "100%", "--time", "200ms", "--planner", name],
                                    capture_output=True, text=True, timeout=60)
            # One that does not apply to this problem, or is not built in, says so.
            self.assertIn(result.returncode, (DONE, WRONG, NO), (name, result.stderr))
            self.assertNotIn("[internal]", result.stderr, name)

    def test_warm_start(self):
        plan = self.path("plan.json")
        self.run_it("plan", self.chain, "--budget", "75%", "--time", "100ms", "-o", plan)
        self.run_it("plan", self.chain, "--budget", "80%", "--time", "100ms", "--warm", plan)
        with open(plan) as f:
            broken = json.load(f)
        broken["steps"] = broken["steps"][1:]
        del broken["arena"]
        self.says(WRONG, "reads a buffer that is not live", "plan", self.chain, "--budget", "80%", "--warm",
                  self.file("broken.json", json.dumps(broken)))
        with open(self.chain) as f:
            other = json.load(f)
        other["name"] = "other"
        other["buffers"], other["tasks"], other["outputs"] = other["buffers"][:5], other["tasks"][:4], [4]
        self.says(WRONG, "it is a plan of another problem, 'chain'", "plan", self.file("other.json", json.dumps(other)), "--budget", "100%",
                  "--warm", plan)

    def test_what_a_planner_does_not_heed_is_refused(self):
        plan = self.path("plan.json")
        self.run_it("plan", self.chain, "--budget", "100%", "--time", "100ms", "-o", plan)
        asked = ["plan", self.chain, "--budget", "100%", "--time", "200ms", "--planner"]
        for option in ["--warm", plan], ["--without", "reorder"], ["--threads", "2"], ["--target-gap", "1%"], ["--seed", "3"]:
            self.says(WRONG, " ".join(option[:1]), *asked, "greedy", *option)
            self.run_it(*asked, "solve", *option)
        self.run_it(*asked, "annealing", "--seed", "3")
        self.run_it(*asked, "store_all", "--without", "in_place")
        self.run_it(*asked, "greedy", "--without", "bounds")

    def test_names_do_not_reach_the_terminal_as_commands(self):
        with open(self.chain) as f:
            problem = json.load(f)
        problem["name"] = "a\x1b[2Jb\u009bc\x07"
        problem["buffers"][1]["name"] = "x\x1b]0;title\x07\ny"
        problem["tasks"][0]["name"] = "t\x1b[2J\ncheck    valid"
        path = self.file("hostile.json", json.dumps(problem))
        told = self.run_it("plan", path, "--budget", "80%", "--time", "100ms").stdout
        self.assertIn("a?[2Jb?c?", told)
        refused = self.run_it("plan", path, "--budget", "200", code=NO)
        shown = self.run_it("show", path, "--what", "program", "--budget", "100%").stdout
        self.assertNotIn("\ncheck    valid", shown)
        for text in told, refused.stderr, refused.stdout, shown:
            self.assertFalse([c for c in text if (c < " " and c != "\n") or "\x7f" <= c < "\xa0"], repr(text))

    def test_infeasible(self):
        self.says(NO, "too small", "plan", self.chain, "--budget", "200")
        answer = self.json_of("plan", "plan", self.chain, "--budget", "200", code=NO)
        self.assertEqual(answer["status"], "infeasible")
        self.assertEqual(answer["steps"], [])
        plan = self.path("no.json")
        self.run_it("plan", self.chain, "--budget", "200", "-o", plan, code=NO)
        self.run_it("check", self.chain, plan)
        self.says(NO, "--planner solve may find one", "plan", self.chain, "--budget", "60%", "--planner", "store_all")

    def test_bound(self):
        answer = self.json_of("bound", "bound", self.chain, "--budget", "75%")
        self.assertGreaterEqual(answer["seconds_bound"], answer["floor_seconds"])
        self.assertEqual(answer["floor_seconds"], 12)
        self.assertEqual(answer["peak_bound"], 310)
        proof = self.path("proof.json")
        self.says(DONE, "at least", "bound", self.chain, "--budget", "75%", "-o", proof)
        least = self.json_of("plan", "plan", self.chain, "--budget", "min")
        answer = self.json_of("bound", "bound", self.chain, "--budget", "min")
        self.assertEqual(answer["budget"], least["peak"])
        self.assertLessEqual(answer["seconds_bound"], least["seconds"] * (1 + 1e-9))
        self.assertEqual(self.json_of("check", "check", self.chain, proof)["proof"], "verified")
        self.says(NO, "no plan fits", "bound", self.chain, "--budget", "309", "-o", proof)
        self.says(DONE, "infeasible", "check", self.chain, proof)
        with open(proof) as f:
            lie = json.load(f)
        lie["peak_bound"] += 1
        self.says(NO, "proof", "check", self.chain, self.file("lie.json", json.dumps(lie)))
        # A proof of something else is none that there is no plan.
        self.assertEqual(self.json_of("check", "check", self.chain, proof)["proof"], "verified")
        with open(proof) as f:
            lie = json.load(f)
        del lie["peak_bound"]
        lie["smallest_peak"] = 310
        unproven = self.file("unproven.json", json.dumps(lie))
        self.assertEqual(self.json_of("check", "check", self.chain, unproven)["proof"], "none")
        self.says(DONE, "the planner's word", "check", self.chain, unproven)
        # Where the list fits as it stands, there is a plan.
        false = dict(lie, budget=10**15, smallest_peak=2 * 10**15)
        self.says(NO, "everything kept", "check", self.chain, self.file("false.json", json.dumps(false)))
        lie["proof"] = {"version": 3, "rows": []}
        self.says(NO, "version 3", "check", self.chain, self.file("earlier.json", json.dumps(lie)))

    def test_no_plan_at_any_budget(self):
        # What ends in the tier is larger than it.
        with open(self.chain) as f:
            problem = json.load(f)
        problem["tiers"] = {"host": {"write_bytes_per_second": 1, "read_bytes_per_second": 1, "latency_seconds": 0,
                                     "bytes": 1}}
        problem["buffers"][problem["outputs"][0]]["end"] = "host"
        none = self.file("none.json", json.dumps(problem))
        for verb in (["smallest"], ["plan", "--budget", "min"], ["frontier"]):
            self.says(NO, "no plan", verb[0], none, *verb[1:], "--time", "100ms")
        result = self.run_it("smallest", none, "--time", "100ms", "--json", code=NO)
        self.assertNotIn("smallest_peak", json.loads(result.stdout))

    def test_smallest(self):
        answer = self.json_of("smallest", "smallest", self.chain, "--time", "100ms")
        self.assertLessEqual(answer["peak_bound"], answer["smallest_peak"])
        self.assertLessEqual(answer["smallest_peak"], 610)
        plan = self.path("plan.json")
        self.says(DONE, "smallest", "smallest", self.chain, "--time", "100ms", "-o", plan)
        self.run_it("check", self.chain, plan)
        least = self.json_of("plan", "plan", self.chain, "--budget", "min", "--time", "100ms")
        self.assertGreaterEqual(least["peak"], answer["peak_bound"])
        self.assertEqual(least["peak_bound"], answer["peak_bound"])
        self.assertLessEqual(least["seconds_bound"], least["seconds"])
        self.assertGreaterEqual(least["seconds_bound"], 12)
        self.run_it("plan", self.chain, "--budget", "min", "--time", "100ms", "-o", plan)
        self.assertEqual(self.json_of("check", "check", self.chain, plan)["proof"], "verified")
        self.says(WRONG, "store_all", "plan", self.chain, "--budget", "min", "--planner", "store_all")

    def test_problems_from_pipes_and_by_any_name(self):
        with open(self.chain) as f:
            problem = f.read()
        piped = subprocess.run([PROGRAM, "plan", "/dev/stdin", "--budget", "100%", "--effort", "0", "--json"], input=problem, capture_output=True,
                               text=True, timeout=120)
        self.assertEqual(piped.returncode, DONE, piped.stderr)
        self.assertEqual(json.loads(piped.stdout)["seconds"], 12)
        named = self.path("chain.txt")
        with open(named, "w") as f:
            f.write(problem)
        self.says(DONE, "optimal", "plan", named, "--budget", "100%", "--effort", "0")
        self.says(WRONG, "neither a file nor a model", "plan", os.path.dirname(named), "--budget", "100%")
        self.says(WRONG, "neither a file nor a model", "plan", "no-such-model", "--budget", "100%")

    def test_frontier(self):
        points = self.json_of("frontier", "frontier", self.chain, "--points", "5", "--effort", "40", "--time", "60s")
        self.assertGreaterEqual(len(points), 2)
        for a, b in zip(points, points[1:]):
            self.assertLess(a["budget"], b["budget"])
            self.assertGreaterEqual(a["seconds"], b["seconds"])
            self.assertGreaterEqual(a["seconds_bound"], b["seconds_bound"])
            saved = (a["seconds"] - b["seconds"]) * 2**30 / (b["budget"] - a["budget"])
            self.assertAlmostEqual(a["seconds_per_gib"], saved, delta=1e-6 * saved)
        for p in points:
            self.assertLessEqual(p["peak"], p["budget"])
            self.assertLessEqual(p["seconds_bound"], p["seconds"] * (1 + 1e-9))
        self.assertEqual(points[-1]["seconds"], 12)
        self.says(DONE, "over floor", "frontier", self.chain, "--points", "3", "--effort", "40", "--time", "60s", "--no-offsets")
        self.says(WRONG, "points", "frontier", self.chain, "--points", "1")

    def test_check_says_no(self):
        plan = self.path("plan.json")
        self.run_it("plan", self.chain, "--budget", "100%", "--no-offsets", "-o", plan)
        with open(plan) as f:
            good = json.load(f)
        for words, change in [("seconds is the true one", {"seconds": 1}), ("unknown field", {"colour": "red"}),
                              ("not live", {"steps": [["run", 1]]}), ("steps are run", {"steps": [["jump", 1]]}),
                              ("not a place", {"steps": [["run", 99]]}), ("the plan is for", {"problem_hash": "0"})]:
            bad = copy.deepcopy(good)
            bad.update(change)
            path = self.file("bad.json", json.dumps(bad))
            self.says(NO, words, "check", self.chain, path)
            self.assertFalse(self.json_of("check", "check", self.chain, path, code=NO)["valid"])

    def test_goldens(self):
        folders = [os.path.join(SOURCE, "tests/plan/goldens"), os.path.join(SOURCE, "../shared/problems/goldens")]
        for path in [p for folder in folders for p in glob.glob(folder + "/*.json")]:
            with open(path) as f:
                golden = json.load(f)
            problem = self.file("problem.json", json.dumps(golden["problem"]))
            with open(os.path.join(SOURCE, "docs/schemas/problem.json")) as f:
                self.assertEqual(schema.errors(golden["problem"], json.load(f)), [])
            for item in golden["plans"]:
                plan = self.file("plan.json", json.dumps(item["plan"]))
                self.run_it("check", problem, plan, code=DONE if item["valid"] else NO)

    def test_pack(self):
        csv = self.file("p.csv", "id,lower,upper,size\na,0,3,4\nb,1,5,4\nc,3,6,8\n")
        out = self.path("out.csv")
        answer = self.json_of("pack", "pack", csv, "--minimise", "-o", out)
        self.assertGreaterEqual(answer["bytes"], answer["lower_bound"])
        self.assertEqual(answer["lower_bound"], 12)
        with open(out) as f:
            self.assertIn("offset", f.readline())
        self.run_it("pack", csv, "--capacity", "1KiB")
        self.says(NO, "none exists", "pack", csv, "--capacity", "11")
        self.says(WRONG, "exclude", "pack", csv, "--capacity", "11", "--minimise")
        self.says(WRONG, "align", "pack", csv, "--align", "0")
        self.says(NO, "rounded up to --align", "pack", csv, "--align", "8", "--capacity", "12")
        self.run_it("pack", self.file("bad.csv", "id,lower,upper,size\na,0,3,-4\n"), code=WRONG)

    def test_schedule(self):
        answer = self.json_of("schedule", "schedule", "revolve", "--steps", "1000", "--slots", "10")
        self.assertEqual(answer["forward_steps"], 4636)
        self.assertEqual(answer["reverse_steps"], 1000)
        self.assertEqual(answer["snapshots"], 10)
        self.says(DONE, "4636", "schedule", "revolve", "--steps", "1000", "--slots", "10")
        self.run_it("schedule", "revolve", "--steps", "0", "--slots", "10", code=WRONG)
        self.run_it("schedule", "revolve", "--steps", "10", "--slots", "0", code=WRONG)
        self.says(WRONG, "revolve", "schedule", "revolver", "--steps", "10")
        self.says(WRONG, "--slots means nothing to sqrt", "schedule", "sqrt", "--steps", "10", "--slots", "3")
        self.says(WRONG, "give one of them", "schedule", "periodic", "--steps", "10")
        self.says(WRONG, "give one of them", "schedule", "periodic", "--steps", "10", "--period", "3", "--slots", "2")
        self.says(WRONG, "fewer steps or slots", "schedule", "disk_revolve", "--steps", "100000", "--slots", "100")
        self.assertEqual(answer["cost"], 4636)
        for name, slots in [("h_revolve", ["--slots", "3", "--disk-slots", "5"]), ("disk_revolve", ["--slots", "3"])]:
            asked = ["schedule", name, "--steps", "100", *slots, "--disk-write", "5", "--disk-read", "2.5"]
            answer = self.json_of("schedule", *asked)
            rows = {line[:15].strip(): line[15:].strip() for line in self.run_it(*asked).stdout.splitlines()}
            writes, reads = [int(n) for n in rows["of them to disk"].split(",")]
            self.assertGreater(writes, 0)
            self.assertEqual(answer["cost"], answer["forward_steps"] + 5 * writes + 2.5 * reads)
            self.assertTrue(rows["cost"].startswith(f"{answer['cost']:g} forward steps: {answer['forward_steps']} of runs"), rows["cost"])

    def test_nothing_has_to_run(self):
        path = self.file("idle.json", json.dumps({"format": "tidemark-problem", "version": 1, "name": "idle", "buffers": [{"bytes": 8}],
                                                  "tasks": [{"reads": [], "writes": [0], "seconds": 1, "optional": True}], "outputs": []}))
        plan = self.path("idle.plan.json")
        for arguments in ["-b", "2000"], ["-b", "min"], ["-b", "2000", "--planner", "dtr"]:
            answer = json.loads(self.run_it("plan", path, *arguments, "--time", "200ms", "--json", "-o", plan).stdout)
            self.assertEqual((answer["status"], answer["steps"], answer["seconds"]), ("optimal", [], 0), arguments)
            self.assertIn("optimal", self.run_it("plan", path, *arguments, "--time", "200ms").stdout)
            checked = json.loads(self.run_it("check", path, plan, "--json").stdout)
            self.assertEqual((checked["valid"], checked["seconds"]), (True, 0), arguments)
        self.assertEqual(json.loads(self.run_it("smallest", path, "--time", "200ms", "--json").stdout)["smallest_peak"], 0)
        self.assertEqual(len(json.loads(self.run_it("frontier", path, "--time", "200ms", "--json").stdout)), 1)
        self.run_it("show", path, "--what", "program")

    def test_interrupt_keeps_the_best_plan(self):
        # A ladder on which the bound is not met at once, so that the search is still running.
        n = 60
        problem = {"format": "tidemark-problem", "version": 1, "name": "ladder", "outputs": [2 * n],
                   "buffers": [{"bytes": 10, "resident": True}] + [{"bytes": 64 + 37 * i % 101} for i in range(2 * n)], "tasks": []}
        for i in range(n):
            problem["tasks"].append({"reads": [i] if i < 2 else [i, i - 1], "writes": [i + 1], "seconds": 1 + 13 * i % 7})
        for i in range(n):
            problem["tasks"].append({"reads": [n + i, n - i] if i else [n], "writes": [n + i + 1], "seconds": 2 + 11 * i % 5})
        path, plan = self.file("ladder.json", json.dumps(problem)), self.path("plan.json")
        code, out, err = self.interrupt("plan", path, "--budget", "60%", "--time", "300s", "-o", plan)
        self.assertEqual(code, INTERRUPTED, (out, err))
        self.assertIn("best plan so far", err)
        self.run_it("check", path, plan)



if __name__ == "__main__":
    main()
