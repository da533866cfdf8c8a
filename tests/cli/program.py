# What the tests of the program share: running it, reading what it says, and checking --json against docs/schemas.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import schema

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
DONE, WRONG, NO, INTERRUPTED = 0, 1, 2, 130

CHAIN = {
    "format": "tidemark-problem", "version": 1, "name": "chain",
    "buffers": [{"name": "x", "bytes": 10, "resident": True}] + [{"name": f"b{i}", "bytes": 100} for i in range(8)],
    "tasks": [{"name": "f0", "reads": [0], "writes": [1], "seconds": 1},
              {"name": "f1", "reads": [1], "writes": [2], "seconds": 1},
              {"name": "f2", "reads": [2], "writes": [3], "seconds": 1},
              {"name": "f3", "reads": [3], "writes": [4], "seconds": 1},
              {"name": "g3", "reads": [3, 4], "writes": [5], "seconds": 2},
              {"name": "g2", "reads": [2, 5], "writes": [6], "seconds": 2},
              {"name": "g1", "reads": [1, 6], "writes": [7], "seconds": 2},
              {"name": "g0", "reads": [0, 7], "writes": [8], "seconds": 2}],
    "outputs": [8]}


class Cli(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.chain = self.file("chain.json", json.dumps(CHAIN))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def file(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def run_it(self, *args, code=DONE):
        result = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, code, (args, result.stdout, result.stderr))
        self.assertNotIn("\033", result.stdout + result.stderr)
        if code in (WRONG, NO) and "--json" not in args:
            self.assertNotEqual(result.stderr, "", args)
        return result

    def says(self, code, words, *args):
        result = self.run_it(*args, code=code)
        self.assertIn(words, result.stdout + result.stderr)
        return result

    def json_of(self, name, *args, code=DONE):
        value = json.loads(self.run_it(*args, "--json", code=code).stdout)
        with open(os.path.join(SOURCE, "docs", "schemas", name + ".json")) as f:
            self.assertEqual(schema.errors(value, json.load(f)), [])
        return value

    @staticmethod
    def wait_until_caught(process):
        """Until the program has a handler for Ctrl-C, however slowly it starts."""
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status") as status:
                caught = next(line.split()[1] for line in status if line.startswith("SigCgt"))
            if int(caught, 16) >> (signal.SIGINT - 1) & 1:
                return
            time.sleep(0.01)

    def interrupt(self, *args, when=None, after=1.0):
        """Sends Ctrl-C once `when`() holds, or after some seconds."""
        process = subprocess.Popen([PROGRAM, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.wait_until_caught(process)
        if when is None:
            time.sleep(after)
        else:
            for _ in range(1200):
                if when() or process.poll() is not None:
                    break
                time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
