# The verbs that take a model: verify, bench, fit, whatif, explain, show, models, pose. Usage: models_test.py PROGRAM SOURCE.
# SPDX-License-Identifier: Apache-2.0
import json
import os

import schema
from program import DONE, INTERRUPTED, NO, SOURCE, WRONG, Cli, main

MLP = ["mlp", "--batch", "256", "--set", "inputs=64,hidden=32,depth=3", "--model-threads", "1"]
GPT = ["gpt2-124m", "--batch", "2", "--seq", "16", "--set", "width=16,depth=3,heads=2,vocab=64,positions=64", "--model-threads", "1"]
QUICK = ["--time", "50ms"]


class Models(Cli):
    def test_models(self):
        models = {m["name"]: m["parameters"] for m in self.json_of("models", "models")}
        self.assertEqual(models["gpt2-124m"], 124439808)
        self.assertEqual(models["resnet50"], 25557032)
        self.says(DONE, "124,439,808", "models")

    def test_wrong_models_and_sizes(self):
        for verb in [["plan", "--budget", "60%"], ["verify", "--budget", "60%"], ["fit", "--budget", "1GiB"], ["whatif", "--budget", "60%"],
                     ["bench"], ["train"], ["show"], ["report"], ["pose"], ["frontier"], ["smallest"], ["bound", "--budget", "60%"]]:
            self.says(WRONG, "resnet50", verb[0], "resnet51", *verb[1:])     # names the models there are
        self.says(WRONG, "resnet50", "explain", "resnet51", "x")
        self.says(WRONG, "between 1 and", "plan", "mlp", "--batch", "-1", "--budget", "60%")
        self.says(WRONG, "between 1 and", "plan", "mlp", "--batch", "100000000000", "--budget", "60%")
        self.says(WRONG, "hidden", "plan", "mlp", "--set", "wings=2", "--budget", "60%")
        self.says(WRONG, "width=128", "plan", "mlp", "--set", "hidden", "--budget", "60%")
        self.says(WRONG, "width=128", "plan", "mlp", "--set", "hidden=many", "--budget", "60%")
        self.says(WRONG, "adagrad", "plan", "mlp", "--optimizer", "adagrad", "--budget", "60%")
        self.says(WRONG, "positions", "plan", *GPT[:3], "--seq", "4096", "--budget", "60%")
        self.says(WRONG, "mlp has no sequences: --seq", "pose", "mlp", "--seq", "5")
        self.says(WRONG, "gpt2-124m has no pictures: --size", "plan", "gpt2-124m", "--size", "64", "--budget", "60%")
        self.says(WRONG, "none of f32 bf16 f16", "plan", "mlp", "--dtype", "int3", "--budget", "60%")
        self.says(WRONG, "without -o", "pose", "mlp", "--json")

    def test_larger_than_the_machine(self):
        huge = ["mlp", "--set", "inputs=262144,hidden=262144,depth=4"]     # a TiB of parameters
        for verb in [["verify", "--budget", "60%"], ["train"]]:
            self.says(NO, "free on this machine; what helps", verb[0], *huge, *verb[1:])
        self.says(NO, "too much for this machine", "bench", *huge, "--steps", "1")
        long = ["mlp", "--set", "inputs=64,hidden=65536,depth=2", "--batch", "1048576", "--optimizer", "sgd"]     # activations alone
        self.says(NO, "all values of a step of mlp take", "train", *long)

    def test_interrupted_while_planning(self):
        text = ["gpt2-1.5b", "--set", "vocab=256,width=64,heads=2", "--batch", "1", "--seq", "8", "--model-threads", "1"]
        for verb in [["verify", "--budget", "20%"], ["train", "--budget", "20%"], ["bench", "--budget", "20%"], ["emit", "--budget", "20%"],
                     ["report", "--budget", "20%", "-o", self.path("page.html")], ["show", "--what", "program", "--budget", "20%"]]:
            code, out, err = self.interrupt(verb[0], *text, *verb[1:], "--time", "60s", after=0.3)
            self.assertEqual(code, INTERRUPTED, (verb, out, err))
            self.assertIn("tidemark: interrupted", err, verb)

    def test_plan_of_a_model(self):
        for extra in [[], ["--optimizer", "sgd"]]:
            out = self.run_it("plan", *GPT, *extra, "--budget", "110%", *QUICK).stdout
            for words in ["memory at the peak", "parameters", "what was done", "largest values", "blocks.", "f32("]:
                self.assertIn(words, out)
            self.assertEqual("optimizer state" in out, True)     # sgd: its step count
        plan = self.path("plan.json")
        self.run_it("plan", *GPT, "--budget", "110%", *QUICK, "-o", plan)
        problem = self.path("problem.json")
        figures = self.json_of("pose", "pose", *GPT, "-o", problem)
        self.assertGreater(figures["store_all"], figures["resident"])
        self.run_it("check", problem, plan)
        # Types and lines travel in the file, where the format lets planners pass over them.
        with open(os.path.join(SOURCE, "docs/schemas/problem.json")) as f, open(problem) as g:
            self.assertEqual(schema.errors(json.load(g), json.load(f)), [])
        out = self.run_it("explain", problem, "blocks.1.mlp.matmul", "--plan", plan).stdout
        self.assertIn("transformer.cpp:", out)
        self.assertIn("f32(2,16,64)", out)

    def test_verify(self):
        for model, budget in [(MLP, "95%"), (GPT, "min")]:
            answer = self.json_of("verify", "verify", *model, "--budget", budget, *QUICK)
            self.assertTrue(answer["bitwise_equal"])
            self.assertEqual(answer["peak_predicted"], answer["peak_measured"])
            self.assertLessEqual(answer["peak_measured"], answer["budget"])
        out = self.says(DONE, "the same", "verify", *MLP, "--budget", "min", "--optimizer", "sgd", "--steps", "3", *QUICK).stdout
        self.assertIn("predicted", out)
        # As it is commonly trained in bf16 and f16: the same promise.
        for dtype in "bf16", "f16":
            self.assertTrue(self.json_of("verify", "verify", *GPT, "--dtype", dtype, "--budget", "min", *QUICK)["bitwise_equal"])
        refused = self.says(NO, "does not fit", "verify", *MLP, "--budget", "10KiB").stderr
        self.assertNotIn(".tiers", refused)     # a cure of C++, not of the program
        self.says(WRONG, "steps", "verify", *MLP, "--budget", "60%", "--steps", "0")
        self.says(WRONG, "lots", "verify", *MLP, "--budget", "lots")
        self.says(WRONG, "none of", "verify", self.chain, "--budget", "60%")     # a problem cannot be run

    def test_other_means(self):
        for means in [["--host", "64MiB"], ["--disk", self.folder.name + ":64MiB"], ["--micro-batches", "2"], ["--micro-batches", "split", "--makers", "off"]]:
            self.assertTrue(self.json_of("verify", "verify", *GPT, "--budget", "min", *means, *QUICK)["bitwise_equal"], means)
        least = {}
        for parts in ["1", "4"]:
            least[parts] = self.json_of("plan", "plan", "mlp", "--batch", "2048", *MLP[3:], "--budget", "min", "--micro-batches", parts, *QUICK)["peak"]
        self.assertLess(least["4"], least["1"])
        problem = json.loads(self.run_it("pose", *GPT, "--host", "64MiB").stdout)
        self.assertEqual([(name, t["bytes"]) for name, t in problem["tiers"].items()], [("host", 64 << 20)])
        self.says(WRONG, "folder:20GiB", "plan", *GPT, "--budget", "60%", "--disk", "20GiB")
        self.says(WRONG, "is no folder", "verify", *GPT, "--budget", "60%", "--disk", "/nowhere:1GiB")
        self.says(WRONG, "no number of parts", "verify", *GPT, "--budget", "60%", "--micro-batches", "few")
        self.says(WRONG, "give a number", "plan", *GPT, "--budget", "60%", "--micro-batches", "split")
        self.says(WRONG, "neither on nor off", "verify", *GPT, "--budget", "60%", "--makers", "maybe")
        self.says(WRONG, "--host is for models", "plan", self.chain, "--budget", "60%", "--host", "1GiB")

    def test_bench(self):
        lines = self.json_of("bench", "bench", *MLP, "--budget", "95%,min", "--steps", "1", *QUICK)
        self.assertEqual(len(lines), 3)
        for line in lines:
            self.assertEqual(line["peak_predicted"], line["peak_measured"])
            self.assertTrue(line["libraries"]["known"])
            self.assertEqual(line["libraries"]["steps"], 2)
        self.assertLessEqual(lines[2]["peak_measured"], lines[0]["peak_measured"])
        self.assertIn("by 1 looked at since", self.says(DONE, "store all", "bench", *MLP, "--steps", "1").stdout)
        self.says(NO, "too small", "bench", *MLP, "--budget", "10KiB", "--steps", "1")

    def test_fit(self):
        sizes = ["mlp", "--set", "inputs=64,hidden=32,depth=3", "--model-threads", "1", "--most", "4096"]
        answer = self.json_of("fit", "fit", *sizes, "--budget", "1MiB", *QUICK)
        self.assertLessEqual(answer["peak"], answer["budget"])
        self.assertEqual(answer["budget"], 1 << 20)
        # Twice as much does not fit, and the batch itself does.
        self.run_it("plan", *sizes[:-2], "--batch", str(answer["batch"]), "--budget", "1MiB", *QUICK)
        self.run_it("plan", *sizes[:-2], "--batch", str(2 * answer["batch"]), "--budget", "1MiB", *QUICK, code=NO)
        self.assertGreater(answer["refused"], answer["batch"])
        self.assertLess(answer["refused"], 2 * answer["batch"])
        self.json_of("fit", "fit", *sizes, "--budget", "1MiB", "--goal", "throughput", *QUICK)
        text = ["gpt2-124m", "--batch", "2", "--set", "width=16,depth=1,heads=2,vocab=64,positions=64", "--model-threads", "1"]
        longest = self.json_of("fit", "fit", *text, "--budget", "1GiB", "--vary", "seq", "--most", "64", *QUICK)
        self.assertEqual((longest["seq"], longest["refused"], longest["proven"]), (64, 0, True))
        self.says(DONE, "looked at", "fit", *sizes, "--budget", "1MiB", "--multiple-of", "8", *QUICK)
        self.says(NO, "does not fit", "fit", *sizes, "--budget", "10KiB", *QUICK)
        self.says(WRONG, "bytes", "fit", *sizes, "--budget", "60%")
        self.says(WRONG, "--retries", "fit", *sizes, "--budget", "1MiB", "--retries", "-1")
        self.says(WRONG, "none of", "fit", *sizes, "--budget", "1MiB", "--goal", "glory")
        self.says(WRONG, "none of", "fit", *sizes, "--budget", "1MiB", "--vary", "mind")
        self.says(WRONG, "no sequence to vary", "fit", *sizes, "--budget", "1MiB", "--vary", "seq")
        self.says(WRONG, "--batch is what is looked for", "fit", *sizes, "--budget", "1MiB", "--batch", "8")

    def test_whatif(self):
        rows = self.json_of("whatif", "whatif", *GPT, "--budget", "400KiB", "--ask", "budget,optimizer,precision,checkpointing,module", *QUICK)
        asked = {r["question"] for r in rows}
        self.assertEqual(asked, {"budget", "optimizer", "precision", "checkpointing", "module"})
        peak = {(r["question"], r["choice"]): r for r in rows}
        # bf16 halves the activations and adds a narrow copy of each parameter: by how much is the plan's to say.
        wide, narrow = (self.json_of("pose", "pose", *GPT, "--dtype", d, "-o", self.path("p.json")) for d in ("f32", "bf16"))
        self.assertEqual([peak["precision", "f32"]["store_all"], peak["precision", "bf16"]["store_all"]], [wide["store_all"], narrow["store_all"]])
        self.assertLess(narrow["store_all"], wide["store_all"])
        self.assertLess(peak["optimizer", "sgd"]["store_all"], peak["optimizer", "adamw"]["store_all"])
        self.assertTrue(any(r["choice"].startswith("blocks.") for r in rows if r["question"] == "module"), rows)
        out = self.says(DONE, "largest: ", "whatif", *MLP, "--budget", "1MiB", "--ask", "batch,length", *QUICK).stdout
        self.assertIn("most samples a second", out)
        self.says(WRONG, "none of", "whatif", *MLP, "--budget", "1MiB", "--ask", "weather")

    def test_emit(self):
        path = self.path("step.cpp")
        answer = self.json_of("emit", "emit", *MLP, "--budget", "100%", *QUICK, "-o", path)
        with open(path) as f:
            self.assertEqual(answer["lines"], f.read().count("\n"))
        self.assertLessEqual(answer["arena"], answer["peak"])
        self.says(WRONG, "without -o", "emit", *MLP, "--json")

    def test_explain(self):
        values = self.json_of("explain", "explain", *GPT, "blocks.*", "--budget", "110%", *QUICK)
        self.assertGreater(len(values), 10)
        self.assertTrue(any("remake_seconds" in v or "live_if_kept" in v for v in values))
        out = self.run_it("explain", *GPT, "blocks.1.mlp.matmul", "--budget", "110%", *QUICK).stdout
        for words in ["value", "made by", "done", "transformer.cpp:", "a GiB less"]:
            self.assertIn(words, out)
        self.says(NO, "no value is called", "explain", *GPT, "blocks.99.nothing", "--budget", "80%")
        # By hand: at 75 % the chain's b1 or b2 is freed and made again.
        by_name = {v["name"]: v for v in self.json_of("explain", "explain", self.chain, "*", "--budget", "75%", "--time", "200ms")}
        self.assertEqual(by_name["x"]["done"], "resident")
        again = [v for v in by_name.values() if v["makes"] > 1]
        self.assertTrue(again)
        for v in again:
            self.assertEqual(v["done"], "made again")
            self.assertEqual(v["seconds_spent"], v["makes"] - 1)
            self.assertGreater(v["live_if_kept"], 385)     # else it would have been kept

    def test_show(self):
        for what, words in [("graph", "matmul"), ("gradient", "return"), ("step", "update"), ("program", "live")]:
            lines = self.json_of("show", "show", *MLP, "--what", what, "--budget", "100%", *QUICK)["lines"]
            self.assertTrue(any(words in line for line in lines), (what, lines[:5]))
        self.assertIn("mlp.cpp:", self.run_it("show", *MLP).stdout + self.run_it("show", *GPT).stdout)
        program = self.run_it("show", self.chain, "--what", "program", "--budget", "75%", "--time", "200ms").stdout
        self.assertIn(" again", program)
        self.assertIn("drop", program)
        out = self.path("program.txt")
        self.run_it("show", self.chain, "--what", "program", "-o", out, *QUICK)
        self.says(NO, "no line", "show", *MLP, "--find", "zebra")
        self.says(WRONG, "none of", "show", *MLP, "--what", "soul")
        self.says(WRONG, "program", "show", self.chain, "--what", "graph")
        self.says(NO, "no plan", "show", self.chain, "--what", "program", "--budget", "200")

    def test_report_and_trace(self):
        page, trace, plan = self.path("report.html"), self.path("trace.json"), self.path("plan.json")
        self.run_it("plan", self.chain, "--budget", "75%", "--time", "100ms", "-o", plan)
        self.json_of("report", "report", self.chain, "--budget", "100%", "--time", "100ms", "--point-time", "50ms", "--points", "3",
                     "--diff", plan, "--perfetto", trace, "-o", page)
        with open(page) as f:
            html = f.read()
        self.assertNotIn("http://", html)
        self.assertNotIn("https://", html)
        for words in ["This plan vs the other", "Memory at the peak", "<canvas"]:
            self.assertIn(words, html)
        with open(trace) as f:
            events = json.load(f)["traceEvents"]
        self.assertEqual(sum(e["ph"] == "X" for e in events), 8)
        self.assertEqual(sum(e["ph"] == "C" for e in events), 8)
        self.assertEqual({e["name"] for e in events if e["ph"] == "M"}, {"thread_name"})
        self.says(NO, "no plan", "report", self.chain, "--budget", "200", "-o", page)
        self.says(WRONG, "is not a folder", "report", self.chain, "-o", self.path("no/page.html"))
        self.says(WRONG, "points", "report", self.chain, "-o", page, "--points", "1")


if __name__ == "__main__":
    main()
