"""dtrain.World against the plan that `dtrain plan` prints. Needs DTRAIN (the command) and DTRAIN_LIBRARY."""
import json
import os
import subprocess
import unittest
from unittest import mock

import dtrain

DTRAIN = os.environ["DTRAIN"]
LAYOUTS = (
    ["--nodes", "n[1-2]", "--tasks-per-node", "8", "--tp", "4", "--pp", "2"],
    ["--nodes", "n[1-4]", "--tasks-per-node", "2", "--tp", "2", "--cp", "2"],
    ["--nodes", "n[1-2]", "--tasks-per-node", "4", "--tp", "2", "--ep", "2", "--etp", "1"],
    ["--nodes", "n1", "--tasks-per-node", "6", "--pp", "3", "--dtrain-order", "pp-tp-cp-ep-dp"],
    ["--nodes", "n[1-3]", "--tasks-per-node", "2", "--distribution", "cyclic", "--dp", "6"],
)


def plan(arguments, *more):
    return subprocess.run([DTRAIN, "plan", *arguments, *more], check=True, capture_output=True, text=True).stdout


def world_of(wire, size, task, **more):
    """The World of one task, without a step."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    variables.update(SLURM_DTRAIN_PLAN=wire.strip(), SLURM_STEP_NUM_TASKS=str(size), SLURM_PROCID=str(task), **more)
    with mock.patch.dict(os.environ, variables, clear=True):
        return dtrain.World()


class Layouts(unittest.TestCase):
    def test_every_rank_of_every_layout(self):
        for arguments in LAYOUTS:
            with self.subTest(" ".join(arguments)):
                self.check_layout(arguments)

    def check_layout(self, arguments):
        wire = plan(arguments, "--wire")
        expected = json.loads(
            plan(arguments, "--json", "--groups", "tp,cp,dp,pp,dp-cp", "--expert-groups", "tp,ep,dp")
        )
        for rank in expected["ranks"]:
            with world_of(wire, len(expected["ranks"]), rank["procid"]) as world:
                self.check_rank(world, rank, expected)

    def check_rank(self, world, rank, expected):
        self.assertEqual((world.rank, world.size), (rank["rank"], len(expected["ranks"])))
        self.assertEqual(world.node_name(world.rank), rank["node"])
        for axis in dtrain.AXES:
            self.assertEqual(world.coord(axis), rank[axis])
            is_expert = axis in ("etp", "edp", "ep")
            lists = expected["expert_groups" if is_expert else "groups"][axis[-2:]]
            self.assertEqual([list(group.members) for group in world.groups(axis)], lists)
            own = world.group(axis)
            self.assertEqual(list(own.members), lists[own.index])
            self.assertEqual(own.members[own.rank], world.rank)
            self.assertEqual([g.index for g in world.groups(axis) if g.rank >= 0], [own.index])
        self.assertEqual(world.group("cp", "dp").members, world.group("dp", "cp").members)
        self.assertIn(list(world.group("dp", "cp").members), expected["groups"]["dp-cp"])


class Refusals(unittest.TestCase):
    def setUp(self):
        self.wire = plan(LAYOUTS[0], "--wire")

    def refused(self, words, *arguments, **more):
        with self.assertRaises(dtrain.Error) as caught:
            world_of(self.wire, *arguments, **more)
        self.assertIn(words, str(caught.exception))

    def test_a_plan_of_another_step(self):
        self.refused("the plan has 16 ranks, Slurm's variables say that this is task 0 of 8", 8, 0)
        self.refused("this is task 16 of 16", 16, 16)

    def test_a_rank_variable_that_differs(self):
        self.refused("RANK=3 in the environment, the plan says 2", 16, 2, RANK="3")

    def test_a_malformed_plan(self):
        self.wire = "nonsense"
        self.refused("SLURM_DTRAIN_PLAN", 16, 0)

    def test_names_and_numbers(self):
        with world_of(self.wire, 16, 0) as world:
            rows = (
                ("'xp' is no axis: expected tp, cp, dp", lambda: world.group("xp")),
                ("'tp' is an axis of the dense grid", lambda: world.group("tp", "ep")),
                ("is empty", lambda: world.group()),
                ("there is no rank 16: the world has ranks 0 to 15", lambda: world.node_name(16)),
            )
            for words, call in rows:
                with self.subTest(words), self.assertRaisesRegex(dtrain.Error, words):
                    call()
        with self.assertRaisesRegex(dtrain.Error, "this World was closed"):
            world.rank

    def test_a_library_that_is_not_there(self):
        with self.assertRaisesRegex(dtrain.Error, "cannot load /no/lib.so"):
            dtrain.World("/no/lib.so")


class Alone(unittest.TestCase):
    def test_without_slurm_the_world_has_one_rank(self):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        with mock.patch.dict(os.environ, variables, clear=True), dtrain.World() as world:
            self.assertEqual((world.rank, world.size, world.local_rank, world.node_count), (0, 1, 0, 1))
            self.assertEqual([world.group(axis).members for axis in dtrain.AXES], [(0,)] * len(dtrain.AXES))


if __name__ == "__main__":
    unittest.main()
