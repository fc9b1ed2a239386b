"""Handlers for XLA, called as it calls them: with call frames laid out here as its header says."""

import ctypes

import numpy as np
import pytest

from linkwork.engine.loading import cuda
from linkwork.engine.loading.kernel import Kernel
from linkwork.engine.running import xla
from linkwork.engine.tracing.program import Input

WORD = ctypes.c_uint64
KERNEL = Kernel("test", lambda x, y: (x @ y, x + y), (Input("x", (3,)), Input("y", (3,))))
HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def handler_of(capsule):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return HANDLER(pointer(capsule, None))


class Frame:
    """XLA_FFI_CallFrame of some arrays; `api` are pointers by their number of words in XLA_FFI_Api."""

    def __init__(self, inputs, outputs, api=None, extension=0):
        self.kept = [inputs, outputs]
        words = [0] * 20
        words[1], words[2] = extension, self.words([(api or {}).get(i, 0) for i in range(24)])
        words[7], words[9] = len(inputs), self.words([self.buffer(x) for x in inputs])
        words[12], words[14] = len(outputs), self.words([self.buffer(x) for x in outputs])
        self.address = self.words(words)

    def words(self, values) -> int:
        self.kept.append((WORD * len(values))(*values))
        return ctypes.addressof(self.kept[-1])

    def buffer(self, x) -> int:
        return self.words([48, 0, 12, x.ctypes.data, x.ndim, self.words(x.shape or (0,))])


@pytest.mark.parametrize("batch", [(), (5,), (2, 3), (0,)])
def test_a_handler_on_the_cpu_takes_any_batch_and_arrays_without_one(batch):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((*batch, 3)), rng.standard_normal(3)
    dot, total = np.full(batch, np.nan), np.full((*batch, 3), np.nan)
    name, capsule = xla.cpu(KERNEL, "d")
    assert not handler_of(capsule)(Frame([x, y], [dot, total]).address)
    np.testing.assert_allclose(dot, x @ y, rtol=1e-14)
    np.testing.assert_array_equal(total, x + y)
    assert name.startswith("linkwork_test_") and name == xla.cpu(KERNEL, "d")[0]


def test_a_handler_tells_the_version_of_the_interface():
    metadata = (ctypes.c_uint32 * 12)(*[99] * 12)
    extension = (WORD * 4)(32, 1, 0, ctypes.addressof(metadata))
    _, capsule = xla.cpu(KERNEL, "d")
    assert not handler_of(capsule)(Frame([], [], extension=ctypes.addressof(extension)).address)
    assert tuple(metadata[6:9]) == (xla.MAJOR, xla.MINOR, 0)


LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)


@pytest.mark.parametrize("code", [0, 1])
def test_a_handler_on_a_gpu_launches_on_the_stream_of_xla_what_it_is_given(code, monkeypatch):
    """With a driver that only takes notes: (n, flag, pointer and step of each array); an error of the driver is one for XLA."""
    launches, errors, count = [], [], 200

    def launch(function, *rest):
        *sizes, stream, places, _ = rest
        given = [ctypes.cast(p, ctypes.POINTER(WORD))[0] for p in (ctypes.c_void_p * 10).from_address(places)]
        launches.append((function, sizes, stream, given))
        return code

    def get_stream(args):
        (WORD * 4).from_address(args)[3] = 77
        return None

    def create(args):
        errors.append(ctypes.string_at((WORD * 4).from_address(args)[2]).decode())
        return 55

    callbacks = LAUNCH(launch), HANDLER(get_stream), HANDLER(create)
    address = lambda f: ctypes.cast(f, ctypes.c_void_p).value
    monkeypatch.setattr(cuda, "enter", lambda device: None)
    monkeypatch.setattr(cuda, "flag", lambda: 1234)
    monkeypatch.setattr(cuda, "launcher", lambda: address(callbacks[0]))
    monkeypatch.setattr(xla, "loaded", lambda kernel, form, text, dtype, device: [cuda.Function(11, 0, 0)])
    x, y, dot, total = np.zeros((count, 3)), np.zeros(3), np.zeros(count), np.zeros((count, 3))
    _, capsule = xla.gpu(KERNEL, "d")
    frame = Frame([x, y], [dot, total], {10: address(callbacks[1]), 6: address(callbacks[2])})
    result = handler_of(capsule)(frame.address)
    ((function, sizes, stream, given),) = launches
    assert (function, stream, sizes) == (11, 77, [4, 1, 1, 64, 1, 1, 0])
    assert given == [count, 1234, x.ctypes.data, 3, y.ctypes.data, 0, dot.ctypes.data, 1, total.ctypes.data, 3]
    assert (result, len(errors)) == ((55, 1) if code else (None, 0))
    assert not code or "test could not be launched" in errors[0]
