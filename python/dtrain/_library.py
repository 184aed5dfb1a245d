"""libdtrain through ctypes: the part of dtrain.h that speaks of ranks and groups."""
import ctypes
import os

ERROR_MAX = 1024
SONAME = "libdtrain.so.0"


class Error(RuntimeError):
    """What failed, with which value, what was expected and what to do."""


class ErrorText(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * ERROR_MAX)]


class GroupStruct(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("index", ctypes.c_int),
        ("count", ctypes.c_int),
        ("axes", ctypes.c_uint),
    ]


_WORLD = ctypes.c_void_p
_ERROR = ctypes.POINTER(ErrorText)
_GROUP = ctypes.POINTER(GroupStruct)

# name: (result, arguments)
_PROTOTYPES = {
    "dtrain_version": (ctypes.c_char_p, []),
    "dtrain_init_layout": (ctypes.c_int, [ctypes.POINTER(_WORLD), _ERROR]),
    "dtrain_finalize": (ctypes.c_int, [_WORLD, _ERROR]),
    "dtrain_rank": (ctypes.c_int, [_WORLD]),
    "dtrain_size": (ctypes.c_int, [_WORLD]),
    "dtrain_local_rank": (ctypes.c_int, [_WORLD]),
    "dtrain_local_size": (ctypes.c_int, [_WORLD]),
    "dtrain_node": (ctypes.c_int, [_WORLD]),
    "dtrain_node_count": (ctypes.c_int, [_WORLD]),
    "dtrain_node_name": (ctypes.c_char_p, [_WORLD, ctypes.c_int]),
    "dtrain_group_get": (ctypes.c_int, [_WORLD, ctypes.c_uint, _GROUP, _ERROR]),
    "dtrain_group_member": (ctypes.c_int, [_WORLD, _GROUP, ctypes.c_int]),
    "dtrain_coord": (ctypes.c_int, [_WORLD, ctypes.c_uint]),
}


def load(path=None):
    """The library at path, else at DTRAIN_LIBRARY, else where the loader finds libdtrain.so.0."""
    name = path or os.environ.get("DTRAIN_LIBRARY") or SONAME
    try:
        library = ctypes.CDLL(name)
    except OSError as cause:
        raise Error(
            f"cannot load {name}: {cause}: install libdtrain where the loader finds it, or set DTRAIN_LIBRARY"
        ) from None
    for function, (result, arguments) in _PROTOTYPES.items():
        if not hasattr(library, function):
            raise Error(f"{name} has no {function}(): it is older than this package; install one of a release")
        prototype = getattr(library, function)
        prototype.restype = result
        prototype.argtypes = arguments
    return library


def check(rc, err):
    """Raises Error with the library's own words when a call returned -1."""
    if rc != 0:
        raise Error(err.text.decode(errors="replace"))
