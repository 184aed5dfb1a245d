"""PyTorch's process groups for the axes of a dtrain step.

    import dtrain.torch

    groups = dtrain.torch.init()                # instead of torch.distributed.init_process_group()
    torch.distributed.all_reduce(x, group=groups.tp)
    DistributedDataParallel(model, process_group=groups.dp)

Where torch can make a group by its members alone (2.1 and newer), a rank makes the groups that it is in, one for each
axis. Older ones want every rank to make every group, in one order: `groups.calls` says how many calls that were.
"""
import inspect
import os

import torch
import torch.distributed as dist

from . import AXES, Error, World

__all__ = ["Groups", "init"]


class Groups:
    """A process group for each axis: tp, cp, dp, pp, etp, ep, edp, and for sets of axes by get().

    Axes whose groups have the same members share one, and the group of all ranks is torch's own. Made by init().
    """

    def __init__(self, world):
        self.world = world
        self.calls = 0  # of torch.distributed.new_group()
        self._by_axes = {}  # frozenset of axes: process group
        self._by_members = {tuple(range(world.size)): dist.group.WORLD}

    def get(self, *axes):
        """The process group for one axis or a set that was given to init()."""
        try:
            return self._by_axes[frozenset(axes)]
        except KeyError:
            pass
        group = self.world.group(*axes)
        if group.size == 1:
            raise Error(
                f"{'-'.join(axes)} has size 1, and torch {torch.__version__} makes groups of one only by all ranks: "
                "leave the operation out, or use init(singles=True)"
            )
        raise Error(f"no group was made for {'-'.join(axes)}: use init(sets=[{tuple(axes)!r}])")

    def __getattr__(self, name):
        if name.startswith("_") or name not in AXES:
            raise AttributeError(f"'{name}' is no axis: expected {', '.join(AXES)}")
        return self.get(name)

    def _make(self, axes, singles, timeout):
        own = self.world.group(*axes)
        if own.members not in self._by_members:
            if own.size == 1 and not singles:
                return
            self._make_members(axes, own, timeout)
        self._by_axes[frozenset(axes)] = self._by_members[own.members]

    def _make_members(self, axes, own, timeout):
        if _is_local():
            self._by_members[own.members] = self._new_group(own, timeout, use_local_synchronization=True)
            return
        for group in self.world.groups(*axes):
            made = self._new_group(group, timeout)
            if group.index == own.index:
                self._by_members[own.members] = made

    def _new_group(self, group, timeout, **how):
        self.calls += 1
        if timeout is not None:
            how["timeout"] = timeout
        return dist.new_group(list(group.members), **how)


def init(backend=None, sets=(), singles=None, timeout=None, library=None):
    """Starts torch.distributed over the step's ranks and makes the groups of all axes; collective over the step.

    backend  as init_process_group() takes it; None: nccl where there is a GPU, else gloo
    sets     further groups, each a tuple of axes such as ("dp", "cp")
    singles  whether axes of size 1 get a group of this rank alone; None: where that costs one call
    timeout  a datetime.timedelta for all groups; None: torch's own
    library  path of libdtrain; None: DTRAIN_LIBRARY, or where the loader finds it
    """
    world = World(library)
    if backend is None:
        backend = "nccl" if torch.cuda.is_available() else "gloo"
    if torch.cuda.is_available():
        torch.cuda.set_device(0 if torch.cuda.device_count() == 1 else world.local_rank)
    how = {} if timeout is None else {"timeout": timeout}
    dist.init_process_group(backend, init_method=_address(world), rank=world.rank, world_size=world.size, **how)
    groups = Groups(world)
    if singles is None:
        singles = _is_local()
    for axes in [(axis,) for axis in AXES] + [tuple(axes) for axes in sets]:
        groups._make(axes, singles, timeout)
    return groups


def _is_local():
    """Whether torch can make a group without the ranks outside it."""
    return "use_local_synchronization" in inspect.signature(dist.new_group).parameters


def _address(world):
    """Where rank 0 listens: the plan's choice, or any free port for a world of one."""
    if "MASTER_ADDR" in os.environ and "MASTER_PORT" in os.environ:
        return "env://"
    if world.size > 1:
        raise Error("MASTER_ADDR or MASTER_PORT is not set: start the step with srun and a --dtrain option")
    return f"tcp://127.0.0.1:{_free_port()}"


def _free_port():
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
