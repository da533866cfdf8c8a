# Compares our counts with those of the Python package checkpoint_schedules, where both have a schedule.
# Usage: python schedules.py PATH/TO/tidemark   (in an environment with `pip install checkpoint_schedules`)
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
import warnings

import checkpoint_schedules as peers

warnings.simplefilter("ignore")


def ours(name, steps, **options):
    args = [sys.argv[1], "schedule", name, "--steps", str(steps), "--json"]
    for key, value in options.items():
        args += ["--" + key.replace("_", "-"), str(value)]
    return json.loads(subprocess.run(args, check=True, capture_output=True, text=True).stdout)["forward_steps"]


def theirs(schedule):
    return sum(a.n1 - a.n0 for a in schedule if isinstance(a, peers.Forward))


def main():
    differ = 0
    print(f"{'schedule':<14}{'steps':>6}{'slots':>6}{'disk':>6}{'ours':>9}{'theirs':>9}")
    for steps in (1, 2, 10, 57, 200, 500):
        for slots in (1, 2, 3, 5, 10, 25):
            for disk in (0, 3):
                rows = [("multistage", ours("multistage", steps, slots=slots, disk_slots=disk),
                         peers.MultistageCheckpointSchedule(steps, slots, disk))]
                if disk == 0:
                    rows.append(("revolve", ours("revolve", steps, slots=slots), peers.MultistageCheckpointSchedule(steps, slots, 0)))
                if disk == 0 and steps <= 200:
                    rows.append(("mixed", ours("mixed", steps, slots=slots), peers.MixedCheckpointSchedule(steps, slots)))
                for name, count, peer in rows:
                    other = theirs(peer)
                    if count != other:
                        differ += 1
                    if count != other or steps == 500:
                        print(f"{name:<14}{steps:>6}{slots:>6}{disk:>6}{count:>9}{other:>9}{'' if count == other else '  differ'}")
    print(f"{differ} differ")


main()
