"""dtrain.torch's calls of torch, on a double of it: which groups a rank makes, and in which order."""
import os
import subprocess
import sys
import types
import unittest
from unittest import mock

import dtrain

DTRAIN = os.environ["DTRAIN"]
LAYOUT = ["--nodes", "n[1-2]", "--tasks-per-node", "4", "--tp", "2", "--pp", "2"]
RANKS = 8


def double(is_new, calls):
    """torch and torch.distributed that note the groups they are asked for."""

    def old_group(ranks=None, timeout=None):
        calls.append(tuple(ranks))
        return ("group", tuple(ranks))

    def new_group(ranks=None, timeout=None, use_local_synchronization=False):
        assert use_local_synchronization
        return old_group(ranks, timeout)

    torch = types.ModuleType("torch")
    torch.__version__ = "double"
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)
    torch.distributed = types.ModuleType("torch.distributed")
    torch.distributed.group = types.SimpleNamespace(WORLD="world")
    torch.distributed.new_group = new_group if is_new else old_group
    torch.distributed.init_process_group = lambda *arguments, **how: calls.append(("init", arguments[0], how["rank"]))
    return {"torch": torch, "torch.distributed": torch.distributed}


def init(is_new, task, **how):
    """The groups of one task, and the calls that made them."""
    wire = subprocess.run([DTRAIN, "plan", *LAYOUT, "--wire"], check=True, capture_output=True, text=True).stdout
    variables = {
        "DTRAIN_LIBRARY": os.environ["DTRAIN_LIBRARY"],
        "SLURM_DTRAIN_PLAN": wire.strip(),
        "SLURM_STEP_NUM_TASKS": str(RANKS),
        "SLURM_PROCID": str(task),
        "MASTER_ADDR": "192.0.2.1",
        "MASTER_PORT": "20000",
    }
    calls = []
    sys.modules.pop("dtrain.torch", None)
    with mock.patch.dict(sys.modules, double(is_new, calls)), mock.patch.dict(os.environ, variables, clear=True):
        import dtrain.torch

        groups = dtrain.torch.init(**how)
    sys.modules.pop("dtrain.torch", None)
    return groups, calls


class Calls(unittest.TestCase):
    def test_a_new_torch_makes_a_rank_s_own_groups(self):
        groups, calls = init(True, 5)
        # tp, cp (of one, for ep too), dp, pp; etp and edp have the members of tp and dp.
        self.assertEqual(calls, [("init", "gloo", 5), (4, 5), (5,), (5, 7), (1, 5)])
        self.assertEqual(groups.calls, 4)
        self.assertEqual(groups.pp, ("group", (1, 5)))
        self.assertEqual((groups.etp, groups.edp, groups.ep), (groups.tp, groups.dp, groups.cp))

    def test_an_old_torch_makes_all_groups_in_one_order(self):
        orders = [init(False, task)[1][1:] for task in range(RANKS)]
        self.assertEqual(len(orders[0]), 12)  # 4 each of tp, dp, pp; none of one
        for order in orders:
            self.assertEqual(order, orders[0])

    def test_a_set_of_axes_that_is_the_world_needs_no_call(self):
        groups, calls = init(True, 0, sets=[("tp", "dp", "pp"), ("tp", "pp")], singles=False)
        self.assertEqual(groups.get("pp", "tp", "dp"), "world")
        self.assertEqual(groups.get("tp", "pp"), ("group", (0, 1, 4, 5)))
        self.assertEqual(len(calls), 5)

    def test_what_was_not_made_is_named(self):
        groups, _ = init(False, 0)
        rows = (
            ("cp has size 1, and torch double makes groups of one only by all ranks", lambda: groups.cp),
            (r"no group was made for tp-pp: use init\(sets=\[\('tp', 'pp'\)\]\)", lambda: groups.get("tp", "pp")),
        )
        for words, call in rows:
            with self.subTest(words), self.assertRaisesRegex(dtrain.Error, words):
                call()
        with self.assertRaisesRegex(AttributeError, "'xp' is no axis: expected tp, cp"):
            groups.xp

    def test_what_init_refuses(self):
        with self.assertRaisesRegex(dtrain.Error, "'xp' is no axis"):
            init(True, 0, sets=[("xp",)])


if __name__ == "__main__":
    unittest.main()
