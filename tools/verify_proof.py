#!/usr/bin/env python3
# Confirms the bounds that a plan states from the proof it carries: docs/proofs.md once more, in its words and order. Shares nothing with what makes
# proofs, nor with the verifier that the program has (tidemark/plan/proof.cpp), and solves nothing. Standard Python only.
# Usage: verify_proof.py problem.json plan.json; exit code 0: what is stated is proven, 1: it is not. The problem is taken to be a valid one.
# SPDX-License-Identifier: Apache-2.0
import json
import math
import sys
from collections import Counter, defaultdict, namedtuple

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
        self.resident = [b.get("resident", False) for b in buffers]
        self.given = [b.get("resident", False) or "start" in b for b in buffers]
        self.size = [0 if resident else size for size, resident in zip(sizes, self.resident)]
        self.buffers, self.resident_bytes = set(range(len(sizes))), sum(sizes) - sum(self.size)
        self.outputs, self.tiers = set(problem["outputs"]), list(problem.get("tiers", {}).values())
        self.seconds, self.once = [t["seconds"] for t in tasks], [t.get("once", False) for t in tasks]
        self.duty = [t.get("instead_of") if t.get("optional") else i for i, t in enumerate(tasks)]
        self.sole = {d for d, n in Counter(self.duty).items() if n == 1 and d is not None}
        self.reads, self.fresh, self.held = [set(t["reads"]) for t in tasks], [], []
        self.makers, self.firsts = [[] for _ in buffers], [[] for _ in buffers]
        self.follows, self.ends = [set() for _ in tasks], [set() for _ in tasks]
        updated, update, since = set(), {}, defaultdict(list)  # of a buffer: the last sole update, and what touches it from there on
        for t, task in enumerate(tasks):
            made, pairs = set(task["writes"]) - self.reads[t], task.get("in_place", [])
            self.fresh.append(made - {w for r, w in pairs if not self.resident[r] and sizes[r] >= sizes[w]})
            self.held.append(self.resident_bytes + rounded(task.get("workspace", 0)) + sum(self.size[b] for b in self.fresh[t]))
            for b in made:
                self.makers[b].append(t)
                if b not in updated:
                    self.firsts[b].append(t)
            updates = self.reads[t].intersection(task["writes"])
            for b in self.reads[t] | made:
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

    def leave_out(self, never_first):
        for b, m, y in never_first:
            expect(m in self.makers[b] and y in self.reads[m], "never_first: not a maker of a buffer and what it reads")
            self.firsts[b] = [first for first in self.firsts[b] if first != m]
        for b, _, y in never_first:
            expect(not self.given[y] and all(b in self.reads[m] for m in self.firsts[y]), "never_first: it can be made without the buffer")


# Tasks that have run, that cannot have run, that do not run any more; buffers that are surely stored, and possibly.
Moment = namedtuple("Moment", "before after over least most")


def first_run(f, task, after, decisions):
    """The moment when a task first runs, in every plan that agrees with the decisions."""
    expect(task in f.sole, "a moment is not a task that every plan runs")
    ties, before, todo = defaultdict(set), set(), [task]
    for by_order, a, b, holds in decisions:
        if by_order:
            ties[b if holds else a].add(a if holds else b)
    while todo:
        t = todo.pop()
        have_run = f.follows[t] | ties[t] | {f.firsts[b][0] for b in f.reads[t] if not f.given[b] and len(f.firsts[b]) == 1}
        todo += have_run - before
        before |= have_run
    absent = {b for b, firsts in enumerate(f.firsts) if not f.given[b] and after.issuperset(firsts)}
    for t in after - {task}:
        expect(not after.isdisjoint(f.follows[t] | ties[t]) or not absent.isdisjoint(f.reads[t]), "after: a task that can run before the moment")
    over = {t for t, ends in enumerate(f.ends) if (f.once[t] and t in before) or not before.isdisjoint(ends)}
    kept, gone = ({b for by_order, t, b, holds in decisions if not by_order and t == task and holds == stored} for stored in (True, False))
    most = f.buffers - absent - f.fresh[task] | f.reads[task]
    return Moment(before, after, over, (f.reads[task] | kept) - gone, (most | kept) - gone)


def rows(node, name, kinds, f, moments=()):
    """Lists of as many numbers as `kinds` has: a task, a buffer, a moment of the list, or any."""
    most = {"t": len(f.reads) - 1, "b": len(f.size) - 1, "m": len(moments) - 1, ".": MOST}
    for row in node.get(name, []):
        expect(len(row) == len(kinds) and all(type(x) is int and 0 <= x <= most[kind] for x, kind in zip(row, kinds)), f"{name}: {row}")
    return node.get(name, [])


def added_up(f, m, node, prices, budget, scale):
    """The least number of units that the rows leave; m: the moments from the start to the end."""
    k, total, cost = len(m) - 2, 0, Counter()  # the cost of each unknown

    def units(seconds):
        return math.floor(min(seconds * scale, MOST))

    def supply(i, j, b, y):
        cost["stored", i, b] -= y
        for maker in f.makers[b]:
            cost["run", i, j, maker] -= y
        if f.tiers and i > 0 and not f.resident[b]:
            cost["away", b] -= y

    def copying(tier, bytes, way):
        return units(tier.get("latency_seconds", 0) + bytes / tier[way + "_bytes_per_second"])

    links = rows(node, "links", "..", f)
    weights = WHOLE - sum(w for _, w in links), WHOLE - sum(r for r, _ in links)
    expect(not links or (len(links) == len(f.tiers) and k == 1 and min(weights) >= 0), "links: not parts for each tier at one moment")
    for b, size in enumerate(f.size if links else []):
        cost["away", b] = min((r * copying(tier, size, "read") + (0 if f.given[b] else w * copying(tier, size, "write"))) // WHOLE
                              for (r, w), tier in zip(links, f.tiers))
    floors = {}
    for t, duty in enumerate(f.duty):
        for l in range(k + 1):
            cost["run", l, l, t] = units(f.seconds[t]) * weights[l > 0] // WHOLE
            cheapest = 0 if t in m[l].after and t in m[l + 1].before else cost["run", l, l, t]
            floors[duty] = min(cheapest, floors.get(duty, cheapest))
    for t, y in rows(node, "floors", "t.", f):
        expect(f.duty[t] == t, "floors: not a required task")
        floors[t] = y
    floors[None] = 0  # what is nobody's duty
    total += sum(floors.values())
    for t, duty in enumerate(f.duty):
        for l in range(k + 1):
            cost["run", l, l, t] -= floors[duty]
    for i, (held, p, s) in enumerate(prices, 1):
        total += p * (held - budget) >> s
        for b, size in enumerate(f.size):
            cost["stored", i, b] += p * size >> s
    for i, j, t, b, y in rows(node, "need", "..tb.", f):
        expect(i <= j <= k and b in f.reads[t], "need: not what a task reads in stages")
        cost["run", i, j, t] += y
        supply(i, j, b, y)
    for i, j, l, b, y in rows(node, "keep", "...b.", f):
        expect(i < l <= j + 1 <= k + 1 and (l <= k or b in f.outputs), "keep: not at a moment behind stages, or an output at the end")
        cost["stored", l, b] += y
        supply(i, j, b, y)
    for i, j, t, y in rows(node, "sum", "..t.", f):
        expect(i <= j <= k, "sum: not stages")
        cost["run", i, j, t] += y
        for l in range(i, j + 1):
            cost["run", l, l, t] -= y
    for i, j, t, y in rows(node, "first", "..t.", f):
        expect(i <= j <= k and t in f.sole, "first: not stages and a task that every plan runs")
        total += y
        for stages in [(i, j), *((l, l) for l in range(k + 1) if not i <= l <= j)]:
            cost[("run", *stages, t)] -= y

    def range_of(kind, x, i=0, j=0):
        if kind == "run":
            return x in m[i].after and x in m[j + 1].before, x not in m[j + 1].after and x not in m[i].over
        return (x in m[i].least, x in m[i].most) if kind == "stored" else (False, True)

    for (kind, *stages, x), c in cost.items():
        least, most = range_of(kind, x, *stages)
        total += c if least or (most and c < 0) else 0
    return total


def proven(f, node, texts, budget, scale, decisions=()):
    """In units, of the plans that agree with the decisions; infinity: there are none."""
    if "cases" in node:
        name, kinds = ("order", "tt") if "order" in node else ("stored", "tb")
        ((a, b),) = rows({name: [node[name]]}, name, kinds, f)
        expect(name == "stored" or (a != b and {a, b} <= f.sole), "order: not two tasks that every plan runs")
        expect(len(node["cases"]) == 2, "not two cases")
        cases = zip(node["cases"], (True, False))
        return min(proven(f, case, texts, budget, scale, (*decisions, (name == "order", a, b, holds))) for case, holds in cases)
    given = {b for b in f.buffers if f.given[b]}
    moments, prices, last = [Moment(set(), set(range(len(f.reads))), set(), given, given)], [], None
    for place, p, s in rows(node, "moments", "m..", f, texts):
        ((task,),) = rows({"task": [[texts[place]["task"]]]}, "task", "t", f)
        ranges = rows(texts[place], "after", "tt", f)
        expect(all(a <= b for a, b in ranges) and all(a[1] < b[0] for a, b in zip(ranges, ranges[1:])), "after: not ranges of tasks in order")
        after = {t for first, last_one in ranges for t in range(first, last_one + 1)} | {task}
        moments.append(first_run(f, task, after, decisions))
        prices.append((f.held[task], p, s))
        expect(last is None or last in moments[-1].before, "a moment does not surely come after the one before it")
        last = task
    expect(not prices or (budget >= 0 and (len(prices) == 1 or not f.tiers)), "moments: without a budget, or several beside tiers")
    least = added_up(f, [*moments, Moment(f.sole, set(), set(), f.buffers, f.buffers)], node, prices, budget, 0 if node.get("impossible") else scale)
    expect(not node.get("impossible") or least > 0, "a case said to be impossible is not shown to be")
    return math.inf if node.get("impossible") else least


def verify(problem, plan):
    """Throws Refused, or says what is proven."""
    proof, said, f = plan.get("proof", {}), [], Facts(problem)
    seconds, peak, texts, unit = plan.get("seconds_bound"), plan.get("peak_bound"), proof.get("moments", []), proof.get("unit_exponent", 0)
    expect(seconds is None or plan.get("bound_order") != "given", "seconds_bound holds for the given order only, which no proof covers")
    expect((seconds is None and peak is None) or (proof.get("version") == 3 and -900 <= unit <= 900), "no proof of version 3")
    f.leave_out(rows(proof, "never_first", "btb", f))
    if seconds is not None:
        units = proven(f, proof["seconds"], texts, plan.get("budget", -1), 2.0**-unit) if "seconds" in proof else 0
        least = units if units == math.inf else math.ldexp(units, unit)
        expect(seconds <= least + 1e-9 * abs(least), f"seconds_bound is {seconds}, but the proof gives {least}")
        said.append(f"no plan within {plan.get('budget', 'any number of')} bytes takes less than {seconds} s")
    if peak is not None:
        at_the_end = f.resident_bytes + sum(f.size[b] for b in f.outputs)
        shown = "peak" in proof and proven(f, proof["peak"], texts, peak - 1, 1) == math.inf
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
