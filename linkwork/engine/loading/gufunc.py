"""A compiled loop as a NumPy gufunc, through NumPy's public C table."""

import ctypes
import os

import numpy as np

_pointer, _text, _int = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_alive: list = []  # what NumPy keeps a pointer to, where it cannot keep the object

NUMBERS = {"double": 12, "float": 11}  # NumPy's type numbers
FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature in NumPy's UFUNC_API
NAME, OBJ, WORDS = 7, 11, 12  # where PyUFuncObject has its name and its obj, in words of 8 bytes


def _available() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _asked() -> int:
    """The number of threads in LINKWORK_NUM_THREADS."""
    said = os.environ.get("LINKWORK_NUM_THREADS", "").strip()
    if said and not said.isdecimal():
        raise ValueError(f'LINKWORK_NUM_THREADS is "{said}"; it must be a whole number, or not be set.')
    return int(said or _available())


_threads = ctypes.c_int64(max(1, _asked()))


def set_threads(count: int) -> None:
    """How many threads a long batch is split over (at first LINKWORK_NUM_THREADS, or the processors there are)."""
    if int(count) < 1:
        raise ValueError(f"the number of threads is {count}; it must be at least 1.")
    _threads.value = int(count)


def get_threads() -> int:
    return _threads.value


def signature(inputs, outputs) -> str:
    """Shapes as NumPy writes them: (7),(7)->(7,7)."""

    def side(shapes):
        return ",".join("(" + ",".join(map(str, shape)) + ")" for shape in shapes)

    return f"{side(inputs)}->{side(outputs)}"


def numpy_table(name: str):
    """One of NumPy's C tables: "_UFUNC_API" or "_ARRAY_API"."""
    import numpy._core._multiarray_umath as umath  # type: ignore[import-not-found]

    capsule = ctypes.pythonapi.PyCapsule_GetPointer
    capsule.restype, capsule.argtypes = _pointer, [ctypes.py_object, _text]
    return ctypes.cast(capsule(getattr(umath, name), None), ctypes.POINTER(_pointer))


class LoopData:
    """Where a loop finds pointers: the number of threads, room for two scratch memories, the tables a rolled kernel reads."""

    def __init__(self, tables=()):
        pointers = [ctypes.addressof(_threads), None, None, *(table.ctypes.data for table in tables)]
        self._tables, self._pointers = tables, (_pointer * len(pointers))(*pointers)
        self.address = ctypes.addressof(self._pointers)

    def __del__(self):
        for scratch in filter(None, self._pointers[1:3]):
            _free(scratch)


def _free_of_c():
    """The function free of the process, which compiled code uses too."""
    try:
        free = ctypes.CDLL(None).free
    except (OSError, TypeError, AttributeError):  # not to be found on this system: a little memory stays
        return lambda address: None
    free.argtypes, free.restype = [_pointer], None
    return free


_free = _free_of_c()


def gufunc(name: str, address: int, data: LoopData, dtype: str, inputs, outputs, code: object) -> np.ufunc:
    """The gufunc that calls the loop at an address in `code`, for arguments of these core shapes."""
    prototype = ctypes.PYFUNCTYPE(
        ctypes.py_object, _pointer, _pointer, _pointer, _int, _int, _int, _int, _text, _text, _int, _text
    )
    count = len(inputs) + len(outputs)
    kept = (
        (_pointer * 1)(address),
        (_pointer * 1)(data.address),
        ctypes.create_string_buffer(bytes([NUMBERS[dtype]] * count)),
        ctypes.create_string_buffer(name.encode()),
        ctypes.create_string_buffer(b"A kernel of linkwork."),
    )
    functions, datas, types, label, doc = (ctypes.cast(k, _pointer) for k in kept)
    made = prototype(numpy_table("_UFUNC_API")[FROM_SIGNATURE])(
        functions, datas, types, 1, len(inputs), len(outputs), -1, ctypes.cast(label, _text), ctypes.cast(doc, _text), 0,
        signature(inputs, outputs).encode(),
    )  # fmt: skip
    _hold(made, label, (kept, data, code))
    return made


def _hold(made: np.ufunc, label, things: tuple) -> None:
    """Let a gufunc hold what it points to: its `obj` is a reference that NumPy gives up together with the gufunc."""
    words = (_pointer * WORDS).from_address(id(made))
    if words[NAME] == label.value and words[OBJ] is None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(things))
        words[OBJ] = id(things)
    else:  # laid out in another way than NumPy's header says: held until the process ends
        _alive.append(things)


def put_into(out, *results):
    """What NumPy does with out=: an array or a tuple of them, None for those not wanted, cast as NumPy casts."""
    places = out if isinstance(out, tuple) else (out,)
    if len(places) != len(results):
        raise ValueError(f"out has {len(places)} arrays for {len(results)} results")
    filled = []
    for place, result in zip(places, results):
        with np.errstate(all="ignore"):
            if place is not None:
                np.copyto(place, result, casting="same_kind")
        filled.append(result if place is None else place)
    return filled[0] if len(filled) == 1 else tuple(filled)
