"""A task of python_test.sh: every axis' process group sums over the members that the plan names."""
import sys

import dtrain.torch
import torch
import torch.distributed as dist


def check(world, name, group, process_group):
    x = torch.tensor([float(2**world.rank)])
    dist.all_reduce(x, group=process_group)
    wanted = float(sum(2**rank for rank in group.members))
    if x.item() != wanted:
        sys.exit(f"rank {world.rank}: {name}: the sum is {x.item()}, expected {wanted}")


def main():
    groups = dtrain.torch.init(sets=[("dp", "cp"), ("tp", "pp")])
    world = groups.world
    made = []
    for axes in [("tp",), ("cp",), ("dp",), ("pp",), ("etp",), ("ep",), ("edp",), ("dp", "cp"), ("tp", "pp")]:
        group = world.group(*axes)
        if group.size > 1:
            check(world, "-".join(axes), group, groups.get(*axes))
            made.append("-".join(axes))
    if world.rank == 0:
        print(f"groups of {world.size} ranks sum right: {' '.join(made)}; {groups.calls} calls")
    dist.destroy_process_group()


main()
