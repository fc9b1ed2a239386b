"""A stand-in for CuPy and the CUDA driver: arrays of NumPy that say they are on a GPU, kernels run thread after thread."""

import sys
import types

import numpy as np
from emulated import emulated

from linkwork.engine.loading import cuda
from linkwork.engine.running import device


class ndarray(np.ndarray):
    __module__ = "cupy"
    device = types.SimpleNamespace(id=0)

    @property
    def __cuda_array_interface__(self):
        return {}

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data)


def asarray(x, dtype=None):
    return np.array(x, dtype).view(ndarray)


class Kernel:
    """What `cuda.loaded` gives."""

    def __init__(self, text, name):
        self.run = emulated(text, name)

    def launch(self, count, threads, stream, arguments):
        self.run(count, *arguments)


def functions(text):
    return [Kernel(text, name) for name in ("kernel", "far") if f"@{name}(" in text]


def install(monkeypatch):
    """For one test: `cupy` can be imported, and kernels of GPUs run here."""
    cupy = types.ModuleType("cupy")
    cupy.ndarray, cupy.asarray, cupy.float64 = ndarray, asarray, np.float64
    cupy.moveaxis, cupy.broadcast_to = np.moveaxis, lambda x, shape: np.broadcast_to(x, shape, subok=True)
    for f in (np.empty, np.full, np.arange):
        setattr(cupy, f.__name__, lambda *args, f=f, **how: f(*args, **how).view(ndarray))
    cupy.where = lambda *x: np.asarray(np.where(*x)).view(ndarray)
    cupy.concatenate = lambda parts: np.concatenate(parts).view(ndarray)
    cupy.ascontiguousarray = lambda x: x if x.flags.c_contiguous else asarray(x)
    cupy.asnumpy = lambda x: np.array(x)
    cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=0))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(cuda, "enter", lambda device: None)
    monkeypatch.setattr(cuda, "flag", lambda: asarray(np.zeros(4, np.int32)).ctypes.data)
    monkeypatch.setattr(device, "loaded", lambda kernel, form, text, dtype, at: functions(text(kernel.program)))
    return cupy
