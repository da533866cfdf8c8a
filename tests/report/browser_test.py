# The report in headless Chromium: it loads without console errors and without the network, hover and search work, and a
# hundred thousand buffers fit. Usage: browser_test.py PROGRAM. Exit code 77: no browser here, which is said.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
SHOTS = os.environ.get("TIDEMARK_SCREENSHOTS")     # a folder: pictures to look at are left there

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.chrome.service import Service
    MISSING = [] if shutil.which("chromium") and shutil.which("chromedriver") else ["chromium or chromium-driver"]
except ImportError:
    # Debian's packages are for the system's own interpreter, which need not be the first on the path.
    if os.path.exists("/usr/bin/python3") and "TIDEMARK_TRIED" not in os.environ:
        os.execve("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv, {**os.environ, "TIDEMARK_TRIED": "1"})
    MISSING = ["python3-selenium"]
if MISSING:
    print("SKIPPED: the report is not tested in a browser: no", ", ".join(MISSING), "(tools/setup --browser installs it)")
    sys.exit(77)

MODEL = ["gpt2-124m", "--batch", "2", "--seq", "32", "--set", "width=32,depth=4,heads=2,vocab=64,positions=32", "--model-threads", "1"]


def run(*args):
    result = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, (args, result.stdout, result.stderr)


def large_problem(tasks):
    """A chain and its way back, every buffer used twice; names as a network would have them."""
    buffers = [{"name": "x", "bytes": 64, "resident": True}] + [{"name": f"blocks.{i // 20}.layer.{i % 20}", "bytes": 64 * (1 + i * 7919 % 1000)} for i in range(tasks)]
    half, list_ = tasks // 2, []
    for i in range(half):
        list_.append({"name": buffers[i + 1]["name"], "kind": "forward", "reads": [i], "writes": [i + 1], "seconds": 1e-5 * (1 + i % 7)})
    for i in range(half):
        list_.append({"name": buffers[half + i + 1]["name"], "kind": "backward", "reads": [half + i, half - i], "writes": [half + i + 1], "seconds": 2e-5})
    return {"format": "tidemark-problem", "version": 1, "name": "large", "buffers": buffers, "tasks": list_, "outputs": [2 * half]}


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        options = webdriver.ChromeOptions()
        for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1500", "--user-data-dir=" + os.path.join(cls.folder.name, "profile")]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = shutil.which("chromium")
        cls.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        cls.driver.set_page_load_timeout(120)
        problem, a, b = (cls.path(n) for n in ["problem.json", "a.json", "b.json"])
        run("pose", *MODEL, "-o", problem)
        run("plan", problem, "--budget", "70%", "--time", "200ms", "-o", a)
        run("plan", problem, "--budget", "100%", "--time", "200ms", "-o", b)
        run("report", *MODEL, "--budget", "70%", "--time", "200ms", "--points", "4", "--point-time", "300ms", "-o", cls.path("model.html"))
        run("report", problem, "--plan", a, "--diff", b, "--points", "0", "-o", cls.path("diff.html"))

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def open(self, name):
        self.driver.get("file://" + self.path(name))
        self.assertTrue(self.js("return window.tidemarkReport !== undefined"))

    def js(self, code, *args):
        return self.driver.execute_script(code, *args)

    def shot(self, name):
        if SHOTS:
            self.driver.save_screenshot(os.path.join(SHOTS, name + ".png"))

    def tearDown(self):
        errors = [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        self.assertEqual(errors, [])
        self.assertEqual(self.js("return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length"), 0)

    def hover(self, life):
        x, y = self.js("return window.tidemarkReport.centreOf(arguments[0])", life)
        box = self.js("const b = document.getElementById('arena').getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]")
        arena = self.driver.find_element(By.ID, "arena")
        ActionChains(self.driver).move_to_element_with_offset(arena, round(x - box[0]), round(y - box[1])).perform()
        return self.driver.find_element(By.ID, "tip").text

    def view(self):
        return self.js("const v = window.tidemarkReport.view; return [v.t0, v.t1, v.a0, v.a1]")

    def test_hover_says_what_a_buffer_is(self):
        self.open("model.html")
        life = self.js("return window.tidemarkReport.largest()")
        said = self.hover(life)
        self.assertIn(self.js("return window.tidemarkReport.nameOf(arguments[0])", life), said)
        for words in ["f32(", "KiB at ", "made by ", ".cpp:", "runs ", "read "]:
            self.assertIn(words, said)
        self.assertRegex(said, "Kept over|Freed over|Goes as soon")
        self.shot("model_light")
        ActionChains(self.driver).move_to_element(self.driver.find_element(By.TAG_NAME, "h1")).perform()
        self.assertFalse(self.driver.find_element(By.ID, "tip").is_displayed())

    def test_search_finds_and_goes_there(self):
        self.open("model.html")
        box = self.driver.find_element(By.ID, "search")
        ActionChains(self.driver).send_keys("/").perform()
        self.assertTrue(self.js("return document.activeElement.id === 'search'"))
        box.send_keys("blocks.1")
        found = self.driver.find_element(By.ID, "found").text
        self.assertRegex(found, r"^[1-9]\d* found$")
        before = self.view()
        box.send_keys(Keys.ENTER)
        self.assertIn("1 of ", self.driver.find_element(By.ID, "found").text)
        self.assertNotEqual(self.view(), before)
        box.send_keys(Keys.ESCAPE)
        self.assertEqual(self.driver.find_element(By.ID, "found").text, "")
        box.send_keys("no such thing")
        self.assertEqual(self.driver.find_element(By.ID, "found").text, "0 found")

    def test_keyboard_wheel_and_drag_move_the_view(self):
        self.open("model.html")
        arena = self.driver.find_element(By.ID, "arena")
        whole = self.view()
        ActionChains(self.driver).move_to_element(arena).scroll_from_origin(webdriver.common.actions.wheel_input.ScrollOrigin.from_element(arena), 0, -300).perform()
        zoomed = self.view()
        self.assertLess(zoomed[1] - zoomed[0], whole[1] - whole[0])
        ActionChains(self.driver).drag_and_drop_by_offset(arena, 100, 0).perform()
        self.assertLess(self.view()[0], zoomed[0])
        ActionChains(self.driver).send_keys("+").send_keys(Keys.ARROW_RIGHT).perform()
        self.assertLess(self.view()[1] - self.view()[0], zoomed[1] - zoomed[0])
        ActionChains(self.driver).send_keys("0").perform()
        self.assertEqual(self.view(), whole)
        ActionChains(self.driver).send_keys("p").perform()
        self.assertNotEqual(self.view(), whole)

    def test_dark_and_light(self):
        self.open("model.html")
        colour = "return getComputedStyle(document.body).backgroundColor"
        before = self.js(colour)
        self.driver.find_element(By.ID, "theme").click()
        self.assertNotEqual(self.js(colour), before)
        self.shot("model_dark")
        self.driver.find_element(By.ID, "theme").click()
        self.assertEqual(self.js(colour), before)

    def test_tables_and_curve(self):
        self.open("model.html")
        self.assertGreater(len(self.driver.find_elements(By.CSS_SELECTOR, "#at-peak tr")), 3)
        self.assertGreater(len(self.driver.find_elements(By.CSS_SELECTOR, "#recomputed tr")), 1)
        memory = self.driver.find_element(By.ID, "memory").text
        for row in ["parameters", "optimizer state", "peak"]:
            self.assertIn(row, memory)
        self.assertTrue(self.driver.find_element(By.ID, "frontier").is_displayed())
        self.driver.find_element(By.CSS_SELECTOR, "#at-peak tr").click()
        self.shot("model_followed")

    def test_two_plans(self):
        self.open("diff.html")
        text = self.driver.find_element(By.ID, "difference").text
        self.assertIn(" vs ", text)
        self.assertIn("made again", text)
        self.assertFalse(self.driver.find_element(By.ID, "frontier").is_displayed())
        self.shot("diff")

    def test_a_hundred_thousand_buffers(self):
        with open(self.path("large.json"), "w") as f:
            json.dump(large_problem(100_000), f)
        run("plan", self.path("large.json"), "--planner", "store_all", "--budget", "1TiB", "--time", "1s", "-o", self.path("large_plan.json"))
        run("report", self.path("large.json"), "--plan", self.path("large_plan.json"), "--points", "0", "-o", self.path("large.html"))
        self.assertLess(os.path.getsize(self.path("large.html")), 5_000_000)
        # Every forward task twice: half as many runs and lives more.
        run("plan", self.path("large.json"), "--planner", "sqrt_n", "--budget", "1TiB", "--time", "1s", "-o", self.path("again_plan.json"))
        run("report", self.path("large.json"), "--plan", self.path("again_plan.json"), "--points", "0", "-o", self.path("again.html"))
        self.assertLess(os.path.getsize(self.path("again.html")), 5_000_000)
        self.open("large.html")
        self.assertEqual(self.js("return window.tidemarkReport.lives"), 100_000)
        life = self.js("return window.tidemarkReport.largest()")
        self.assertIn("made by forward", self.hover(life))
        print("one drawing of 100,000 buffers:", round(self.js("return window.tidemarkReport.drawNow()")), "ms")
        self.shot("large")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
