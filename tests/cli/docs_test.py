# The docs keep their word: pages made from the code are up to date, examples are those that are compiled, commands run, links lead
# somewhere. Usage: docs_test.py PROGRAM SOURCE.
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import shlex
import shutil
import subprocess
import textwrap

from program import PROGRAM, SOURCE, Cli, main


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
        return f.read()


def pages():
    return ["README.md"] + sorted(os.path.relpath(p, SOURCE) for p in glob.glob(SOURCE + "/docs/**/*.md", recursive=True))


def blocks(text, language):
    return re.findall(r"^```" + language + r"\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


class Docs(Cli):
    def test_the_op_reference_is_up_to_date(self):
        self.assertEqual(self.run_it("generate", "ops").stdout, read("docs/ops.md"), "run tools/docs")

    def test_code_is_that_of_the_examples(self):
        sources = [textwrap.dedent(read(p)) for p in glob.glob(SOURCE + "/examples/*.cpp")]
        squeezed = [re.sub(r"\s+", " ", s) for s in sources]
        for page in ["README.md"] + sorted(glob.glob(SOURCE + "/docs/tutorials/*.md")):
            for block in blocks(read(page), "cpp"):
                wanted = re.sub(r"\s+", " ", block).strip()
                self.assertTrue(any(wanted in s for s in squeezed), (page, block))

    def test_commands_of_the_tutorials_run(self):
        for page in sorted(glob.glob(SOURCE + "/docs/tutorials/*.md")):
            for block in blocks(read(page), "console"):
                for line in block.splitlines():
                    self.assertTrue(line.startswith("$ tidemark "), (page, line))
                    result = subprocess.run([PROGRAM, *shlex.split(line)[2:]], capture_output=True, text=True, timeout=300, cwd=self.folder.name)
                    self.assertEqual(result.returncode, 0, (line, result.stderr))

    def test_examples_of_the_help_run(self):
        # What the examples begin with, as a reader who follows them has it.
        small = ["--batch", "1", "--seq", "64", "--set", "width=64,depth=4,heads=4,vocab=256,positions=64"]
        self.run_it("pose", "gpt2-124m", *small, "-o", self.path("problem.json"))
        self.file("buffers.csv", "id,lower,upper,size\na,0,3,4\nb,1,5,4\nc,3,6,8\n")
        verbs = [line.split()[0] for line in self.run_it("--help").stdout.split("Subcommands:")[1].splitlines() if line.startswith("  ")]
        # check reads what plan wrote, and pose writes another problem
        for verb in sorted(verbs, key=lambda v: {"check": 1, "pose": 2}.get(v, 0)):
            example = re.search(r"^Example: (.*)", self.run_it(verb, "--help").stdout, re.MULTILINE | re.DOTALL).group(1)
            for command in example.strip().replace("\n", " ").split("; "):
                words = shlex.split(command)
                self.assertEqual(words[0], "tidemark", command)
                if verb == "whatif":
                    words += ["--ask", "precision,module"]     # all of its questions take half a minute
                if verb == "report":
                    words += ["--points", "3"]
                result = subprocess.run([PROGRAM, *words[1:]], capture_output=True, text=True, timeout=300, cwd=self.folder.name)
                self.assertEqual(result.returncode, 0, (command, result.stderr))

    def test_links_lead_somewhere(self):
        for page in pages():
            prose = re.sub(r"```.*?```|`[^`\n]*`", "", read(page), flags=re.DOTALL)
            for target in re.findall(r"\]\(([^)#]+)\)", prose):
                if not target.startswith("http"):
                    self.assertTrue(os.path.exists(os.path.join(SOURCE, os.path.dirname(page), target)), (page, target))

    def test_every_kind_of_error_has_a_page(self):
        kinds = re.search(r"enum class Kind \{(.*?)\}", read("tidemark/base/error.h"), re.DOTALL).group(1)
        for kind in re.findall(r"\w+", kinds):
            self.assertIn(f"`{kind}`", read(f"docs/errors/{kind}.md").splitlines()[0])
            self.assertIn(f"({kind}.md)", read("docs/errors/README.md"))

    def test_every_verb_is_described(self):
        verbs = [line.split()[0] for line in self.run_it("--help").stdout.split("Subcommands:")[1].splitlines() if line.startswith("  ")]
        man, readme = self.run_it("generate", "man").stdout, read("README.md")
        for verb in verbs:
            self.assertIn(f".SS {verb}\n", man)
            self.assertIn(f"`{verb}`", readme)
            if "--json" in self.run_it(verb, "--help").stdout:
                self.assertTrue(os.path.exists(os.path.join(SOURCE, "docs/schemas", verb + ".json")), verb)
        self.assertNotIn("generate", verbs)
        if shutil.which("groff"):
            path = self.file("tidemark.1", man)
            result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", path], capture_output=True, text=True)
            self.assertEqual(result.stderr, "")

    def test_completions(self):
        bash = self.file("tidemark.bash", self.run_it("generate", "bash").stdout)
        def offered(*typed):
            words = " ".join(shlex.quote(w) for w in typed)
            script = f"source {bash}; COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _tidemark; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(offered("tidemark", "pl"), ["plan"])
        self.assertIn("gpt2-124m", offered("tidemark", "plan", "gpt"))
        self.assertIn("--budget", offered("tidemark", "plan", "gpt2-124m", "--bu"))
        self.assertIn("store_all", offered("tidemark", "plan", "x.json", "--planner", "st"))
        for shell in ("zsh", "fish"):
            text = self.run_it("generate", shell).stdout
            self.assertIn("plan", text)
            if shutil.which(shell):
                subprocess.run([shell, "-n", self.file("c." + shell, text)], check=True)
        self.run_it("generate", "poetry", code=1)


if __name__ == "__main__":
    main()
