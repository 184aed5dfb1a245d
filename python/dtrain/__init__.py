"""Ranks and groups of a dtrain step.

    import dtrain

    world = dtrain.World()
    world.rank, world.size
    world.group("tp").members       # world ranks
    world.group("dp", "cp").rank    # this rank's place in the group

Nothing is exchanged: the same plan that srun made says who is who. dtrain.torch makes PyTorch's process
groups of it.
"""
import ctypes
from dataclasses import dataclass

from ._library import Error, ErrorText, GroupStruct, check, load

__all__ = ["AXES", "Error", "Group", "World"]

# Axes by name, as in dtrain.h; etp and edp are tp and dp of the expert grid.
_EXPERT = 1 << 8
_BITS = {
    "tp": 1 << 0,
    "cp": 1 << 1,
    "dp": 1 << 3,
    "pp": 1 << 4,
    "etp": _EXPERT | 1 << 0,
    "ep": _EXPERT | 1 << 2,
    "edp": _EXPERT | 1 << 3,
}
AXES = tuple(_BITS)


@dataclass(frozen=True)
class Group:
    """The ranks that differ in these axes only."""

    axes: tuple  # of their names
    size: int
    rank: int  # this rank among the members; -1 in a group that it is not in
    index: int  # which of the groups of these axes
    count: int  # how many such groups there are
    members: tuple  # world ranks, in order


class World:
    """This rank's place in the step; of one rank outside Slurm. Raises Error where the plan does not fit the step."""

    def __init__(self, library=None):
        self._library = load(library)
        self._handle = ctypes.c_void_p()
        err = ErrorText()
        check(self._library.dtrain_init_layout(ctypes.byref(self._handle), ctypes.byref(err)), err)

    def close(self):
        """Releases it; a second call does nothing."""
        if self._handle:
            self._library.dtrain_finalize(self._handle, None)
            self._handle = ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def _ask(self, function, *arguments):
        if not self._handle:
            raise Error("this World was closed")
        return getattr(self._library, function)(self._handle, *arguments)

    @property
    def rank(self):
        return self._ask("dtrain_rank")

    @property
    def size(self):
        return self._ask("dtrain_size")

    @property
    def local_rank(self):
        return self._ask("dtrain_local_rank")

    @property
    def local_size(self):
        return self._ask("dtrain_local_size")

    @property
    def node(self):
        return self._ask("dtrain_node")

    @property
    def node_count(self):
        return self._ask("dtrain_node_count")

    def node_name(self, rank):
        """Name of the node that a world rank lives on."""
        name = self._ask("dtrain_node_name", rank)
        if name is None:
            raise Error(f"there is no rank {rank}: the world has ranks 0 to {self.size - 1}")
        return name.decode()

    def coord(self, axis):
        """This rank's coordinate on one axis."""
        return self._ask("dtrain_coord", _bits([axis]))

    def group(self, *axes):
        """This rank's group for one axis or several."""
        return self._group(self._struct(axes), axes, True)

    def groups(self, *axes):
        """All groups of these axes, in the order of their indices."""
        own = self._struct(axes)
        index = own.index
        found = []
        for own.index in range(own.count):
            found.append(self._group(own, axes, own.index == index))
        return found

    def _struct(self, axes):
        struct = GroupStruct()
        err = ErrorText()
        check(self._ask("dtrain_group_get", _bits(axes), ctypes.byref(struct), ctypes.byref(err)), err)
        return struct

    def _group(self, struct, axes, is_own):
        members = tuple(
            self._ask("dtrain_group_member", ctypes.byref(struct), i) for i in range(struct.size)
        )
        return Group(tuple(axes), struct.size, struct.rank if is_own else -1, struct.index, struct.count, members)


def _bits(axes):
    bits = 0
    for axis in axes:
        if axis not in _BITS:
            raise Error(f"'{axis}' is no axis: expected {', '.join(AXES)}")
        bits |= _BITS[axis]
    dense = [axis for axis in axes if axis in ("tp", "cp", "dp")]
    if bits & _EXPERT and dense:
        raise Error(f"'{dense[0]}' is an axis of the dense grid and cannot be combined with etp, ep or edp")
    return bits
