#!/usr/bin/env python3
# Confirms the bounds that a plan states from the proof it carries: docs/proofs.md once more, in its words and order. Shares nothing with what makes
# proofs, nor with the verifier that the program has (tidemark/plan/proof.cpp), and solves nothing. Standard Python only.
# Usage: verify_proof.py problem.json plan.json; exit code 0: what is stated is proven, 1: it is not. The problem is taken to be a valid one.
# SPDX-License-Identifier: Apache-2.0
import json
import math
import sys
from collections import Counter, defaultdict, namedtuple
from itertools import pairwise

WHOLE, MOST = 2**20, 2**60


class Refused(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Refused(what)


class Facts:
    """The definitions: what the problem says of every plan. Tasks and buffers are places in its lists."""

    def __init__(self, problem):
        def rounded(size):
            return -(-int(size) // align) * align

        tasks, buffers, align = problem["tasks"], problem["buffers"], int(problem.get("align", 1))
        sizes = [rounded(b["bytes"]) for b in buffers]
        self.resident = {b for b, buffer in enumerate(buffers) if buffer.get("resident")}
        self.given = {b for b, buffer in enumerate(buffers) if b in self.resident or "start" in buffer}
        self.size = [0 if b in self.resident else size for b, size in enumerate(sizes)]
        self.resident_bytes = sum(sizes) - sum(self.size)
        self.outputs, self.tiers = set(problem["outputs"]), list(problem.get("tiers", {}).values())
        self.seconds, self.once = [t["seconds"] for t in tasks], [t.get("once", False) for t in tasks]
        self.duty = [t.get("instead_of") if t.get("optional") else i for i, t in enumerate(tasks)]
        self.sole = {d for d, n in Counter(self.duty).items() if n == 1 and d is not None}
        self.reads = [set(t["reads"]) for t in tasks]
        self.makes = [set(t["writes"]) - set(t["reads"]) for t in tasks]
        self.fresh = [makes - {w for r, w in t.get("in_place", []) if r not in self.resident and sizes[r] >= sizes[w]}
                      for t, makes in zip(tasks, self.makes)]
        self.held = [self.resident_bytes + rounded(t.get("workspace", 0)) + sum(self.size[b] for b in fresh) for t, fresh in zip(tasks, self.fresh)]
        self.makers, self.firsts = [[] for _ in buffers], [[] for _ in buffers]
        self.follows, self.ends = [set() for _ in tasks], [set() for _ in tasks]
        updated, update, since = set(), {}, defaultdict(list)  # of a buffer: the last sole update, and what touches it from there on
        for t, task in enumerate(tasks):
            updates = self.reads[t].intersection(task["writes"])
            for b in self.makes[t]:
                self.makers[b].append(t)
                if b not in updated:
                    self.firsts[b].append(t)
            for b in self.reads[t] | self.makes[t]:
                if b in updates and task.get("optional"):
                    continue  # in the place of what it is instead of, wherever it stands
                if b in update:
                    self.follows[t].add(update[b])
                if b in updates and t in self.sole:
                    for earlier in since[b]:
                        self.ends[earlier].add(t)
                    self.follows[t] |= self.sole.intersection(since[b])
                    update[b], since[b] = t, []
                since[b].append(t)
            updated |= set() if task.get("optional") else updates
        for b in sorted((b for b, firsts in enumerate(self.firsts) if len(firsts) > 1), key=lambda b: -self.firsts[b][0]):
            self.firsts[b] = [m for m in self.firsts[b] if not any(self.only_from(b, y) for y in self.reads[m] - self.given)]

    def only_from(self, b, y):
        return all(b in self.reads[m] for m in self.firsts[y])


# Tasks that have run, that cannot have run, that do not run any more; buffers that are surely stored, and possibly.
Moment = namedtuple("Moment", "before after over least most")


def first_run(f, task, decisions, budget):
    """The moment when a task first runs, in every plan that agrees with the decisions."""
    expect(task in f.sole, "a moment is not a task that every plan runs")
    ties, before, todo = defaultdict(set), set(), [task]
    for by_order, a, b, holds in decisions:
        if by_order:
            ties[b if holds else a].add(a if holds else b)
    while todo:
        t = todo.pop()
        have_run = f.follows[t] | ties[t] | {f.firsts[b][0] for b in f.reads[t] - f.given if len(f.firsts[b]) == 1}
        todo += have_run - before
        before |= have_run
    can_run, there, waiting, more = set(), set(f.given), set(range(len(f.reads))) - {task}, True
    while more:
        more = False
        for t in sorted(waiting):
            if f.follows[t] | ties[t] <= can_run and f.reads[t] <= there:
                there.update(b for b in f.makes[t] if t in f.firsts[b])
                can_run.add(t)
                more = True
        waiting -= can_run
    over = {t for t, ends in enumerate(f.ends) if (f.once[t] and t in before) or ends & before}
    least, most = set(f.reads[task]), there - f.fresh[task] | f.reads[task]
    for by_order, t, b, holds in decisions:
        for stored in (least, most) if not by_order and t == task else ():
            (stored.add if holds else stored.discard)(b)
    room = budget - f.held[task] - sum(f.size[b] for b in least)
    return Moment(before, waiting | {task}, over, least, {b for b in most if b in least or f.size[b] <= room})


def rows(node, name, width, more=False):
    """Lists of so many whole numbers, or that many and more."""
    for row in node.get(name, []):
        expect((len(row) >= width if more else len(row) == width) and all(type(x) is int and 0 <= x <= MOST for x in row), f"{name}: {row}")
    return node.get(name, [])


def added_up(f, m, node, prices, budget, scale):
    """The least number of units that the rows leave; m: the moments from the start to the end."""
    k, total, cost = len(m) - 2, 0, Counter()  # the cost of each unknown
    links = rows(node, "links", 2)
    weights = WHOLE - sum(w for _, w in links), WHOLE - sum(r for r, _ in links)  # of runs before and after the moment
    expect(not links or (len(links) == len(f.tiers) and k == 1 and min(weights) >= 0), "links: not parts for each tier at one moment")

    def units(seconds):
        return math.floor(min(seconds * scale, MOST))

    def copying(tier, bytes, way):
        return units(tier.get("latency_seconds", 0) + bytes / tier[way + "_bytes_per_second"])

    for b, size in enumerate(f.size if links else []):
        cost["away", b] = min((r * copying(tier, size, "read") + (0 if b in f.given else w * copying(tier, size, "write"))) // WHOLE
                              for (r, w), tier in zip(links, f.tiers))
    for t, seconds in enumerate(f.seconds):
        for l in range(k + 1):
            cost["run", l, l, t] = units(seconds) * weights[l > 0] // WHOLE
    for i, (held, p, s) in enumerate(prices, 1):
        total += p * (held - budget) >> s
        for b, size in enumerate(f.size):
            cost["stored", i, b] += p * size >> s
    for i, j, t, b, y in rows(node, "need", 5):
        expect(i <= j <= k and b in f.reads[t], "need: not what a task reads in stages")
        cost["run", i, j, t] += y
    for i, j, l, b, y in rows(node, "keep", 5):
        expect(i < l <= j + 1 <= k + 1 and (l <= k or b in f.outputs), "keep: not at a moment behind stages, or an output at the end")
        cost["stored", l, b] += y
    for i, j, _, b, y in [*node.get("need", []), *node.get("keep", [])]:
        cost["stored", i, b] -= y
        for maker in f.makers[b]:
            cost["run", i, j, maker] -= y
        if f.tiers and i > 0 and b not in f.resident:
            cost["away", b] -= y
    for t, y, *ends in rows(node, "parts", 4, more=True):
        expect(t < len(f.reads) and all(a < b for a, b in pairwise(ends)) and ends[-1] <= k + 1, "parts: not stages in order")
        cost["run", ends[0], ends[-1] - 1, t] += y
        for a, b in pairwise(ends):
            cost["run", a, b - 1, t] -= y

    def range_of(kind, x, i=0, j=0):
        if kind == "run":
            return x in m[i].after and x in m[j + 1].before, x not in m[j + 1].after and x not in m[i].over
        return (x in m[i].least, x in m[i].most) if kind == "stored" else (False, True)

    first_runs = dict.fromkeys(f.duty, MOST)  # what it costs that required work is done once
    for (kind, *stages, x), c in cost.items():
        least, most = range_of(kind, x, *stages)
        total += c if least or (most and c < 0) else 0
        if kind == "run" and stages[0] == stages[1] and most:
            first_runs[f.duty[x]] = min(first_runs[f.duty[x]], 0 if least else max(c, 0))
    return total + sum(c for duty, c in first_runs.items() if duty is not None)


def proven(f, node, budget, scale, decisions=()):
    """In units, of the plans that agree with the decisions; infinity: there are none."""
    if "cases" in node:
        name = "order" if "order" in node else "stored"
        ((a, b),) = rows({name: [node[name]]}, name, 2)
        expect(name == "order" or (a < len(f.reads) and b < len(f.size)), "stored: not a task and a buffer")
        expect(name == "stored" or (a != b and {a, b} <= f.sole), "order: not two tasks that every plan runs")
        expect(len(node["cases"]) == 2, "not two cases")
        return min(proven(f, case, budget, scale, (*decisions, (name == "order", a, b, holds))) for case, holds in zip(node["cases"], (True, False)))
    everything = set(range(len(f.size)))
    start, end = Moment(set(), set(range(len(f.reads))), set(), f.given, f.given), Moment(f.sole, set(), set(), everything, everything)
    listed = rows(node, "moments", 3)
    expect(not listed or (budget >= 0 and (len(listed) == 1 or not f.tiers)), "moments: without a budget, or several beside tiers")
    moments = [first_run(f, task, decisions, budget) for task, _, _ in listed]
    expect(all(task in later.before for (task, _, _), later in zip(listed, moments[1:])), "a moment does not surely come after the one before it")
    impossible = node.get("impossible", False)
    least = added_up(f, [start, *moments, end], node, [(f.held[task], p, s) for task, p, s in listed], budget, 0 if impossible else scale)
    expect(not impossible or least > 0, "a case said to be impossible is not shown to be")
    return math.inf if impossible else least


def verify(problem, plan):
    """Throws Refused, or says what is proven."""
    proof, said, f = plan.get("proof", {}), [], Facts(problem)
    seconds, peak, unit = plan.get("seconds_bound"), plan.get("peak_bound"), int(proof.get("unit_exponent", 0))
    expect(seconds is None or plan.get("bound_order") != "given", "seconds_bound holds for the given order only, which no proof covers")
    expect((seconds is None and peak is None) or (proof.get("version") == 4 and -900 <= unit <= 900), "no proof of version 4")
    if seconds is not None:
        units = proven(f, proof["seconds"], min(int(plan.get("budget", -1)), MOST * 2), 2.0**-unit) if "seconds" in proof else 0
        least = units if units == math.inf else math.ldexp(units, unit)
        expect(seconds <= least + 1e-9 * abs(least), f"seconds_bound is {seconds}, but the proof gives {least}")
        said.append(f"no plan within {plan.get('budget', 'any number of')} bytes takes less than {seconds} s")
    if peak is not None:
        at_the_end = f.resident_bytes + sum(f.size[b] for b in f.outputs)
        shown = "peak" in proof and proven(f, proof["peak"], peak - 1, 1) == math.inf
        expect(peak <= at_the_end or shown, f"peak_bound is {peak}, but the proof does not show it")
        said.append(f"no plan has a peak below {peak} bytes")
    return "; ".join(said) or "nothing, for no bound is stated"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: verify_proof.py problem.json plan.json")
    sys.setrecursionlimit(20000)
    try:
        with open(sys.argv[1]) as of_problem, open(sys.argv[2]) as of_plan:
            print("proven:", verify(json.load(of_problem), json.load(of_plan)))
    except Refused as e:
        sys.exit(f"not proven: {e}")
    except (OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as e:
        sys.exit(f"not proven: a file is not what it should be: {e!r}")
