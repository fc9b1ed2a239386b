"""The CUDA driver, called directly: load assembly, launch kernels, ask what a device is. No toolkit is needed."""

import ctypes
from dataclasses import dataclass
from functools import cache

from ...errors import LinkworkError

_ptr, _int, _uint = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
PTX_INPUT = 1  # CU_JIT_INPUT_PTX
ERROR_LOG, ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES
MAJOR, MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
REGISTERS, LOCAL_BYTES = 4, 3  # CU_FUNC_ATTRIBUTE_NUM_REGS, _LOCAL_SIZE_BYTES


class DeviceError(LinkworkError, RuntimeError):
    """An error of the GPU, of its driver or of an array on it."""


@cache
def driver():
    """The driver library, initialised."""
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        raise DeviceError("no CUDA driver was found (libcuda.so.1): install NVIDIA's driver, or pass arrays that live on the CPU.")
    code = library.cuInit(0)
    if code:
        raise DeviceError(f"the CUDA driver does not start (error {code}): is there an NVIDIA GPU in this computer?")
    library.cuLaunchKernel.argtypes = [_ptr, *[_uint] * 7, _ptr, _ptr, _ptr]
    return library


def check(code: int, doing: str) -> None:
    if code:
        text = ctypes.c_char_p()
        driver().cuGetErrorString(code, ctypes.byref(text))
        raise DeviceError(f"{doing} failed: {(text.value or b'').decode() or code}.")


def version() -> int:
    found = _int()
    check(driver().cuDriverGetVersion(ctypes.byref(found)), "asking for the driver's version")
    return found.value


@cache
def chip(device: int) -> str:
    """The architecture of a device, such as sm_90."""
    cu, handle, parts = driver(), _int(), []
    check(cu.cuDeviceGet(ctypes.byref(handle), device), f"finding GPU {device}")
    for attribute in (MAJOR, MINOR):
        value = _int()
        check(cu.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle), "asking for the compute capability")
        parts.append(value.value)
    return f"sm_{parts[0]}{parts[1]}"


@cache
def context(device: int) -> int:
    """The device's own context, the one that torch and CuPy use."""
    cu, handle, found = driver(), _int(), _ptr()
    check(cu.cuDeviceGet(ctypes.byref(handle), device), f"finding GPU {device}")
    check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(found), handle), f"starting GPU {device}")
    return found.value or 0


def enter(device: int) -> None:
    """Make the device's context current in this thread."""
    check(driver().cuCtxSetCurrent(_ptr(context(device))), f"choosing GPU {device}")


def linked(assembly: str) -> bytes:
    """Machine code of PTX, by the driver's own assembler."""
    cu, state = driver(), _ptr()
    log = ctypes.create_string_buffer(4096)
    options = (_int * 2)(ERROR_LOG, ERROR_LOG_SIZE)
    values = (_ptr * 2)(ctypes.cast(log, _ptr), ctypes.c_void_p(len(log)))
    check(cu.cuLinkCreate_v2(2, options, values, ctypes.byref(state)), "starting the driver's assembler")
    try:
        source = assembly.encode() + b"\0"
        code = cu.cuLinkAddData_v2(state, PTX_INPUT, source, ctypes.c_size_t(len(source)), b"kernel", 0, None, None)
        if code:
            raise DeviceError(f"the driver does not take this kernel: {log.value.decode(errors='replace').strip() or code}")
        image, size = _ptr(), ctypes.c_size_t()
        check(cu.cuLinkComplete(state, ctypes.byref(image), ctypes.byref(size)), "assembling a kernel")
        return ctypes.string_at(image, size.value)
    finally:
        cu.cuLinkDestroy(state)


def flag() -> int:
    """A number on the current device, zero at first, that kernels may set; it is never freed."""
    cu, place = driver(), ctypes.c_uint64()
    check(cu.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(16)), "asking the GPU for memory")
    check(cu.cuMemsetD32_v2(place, 0, ctypes.c_size_t(4)), "clearing memory of the GPU")
    return place.value


def launcher() -> int:
    """The address of cuLaunchKernel."""
    return ctypes.cast(driver().cuLaunchKernel, _ptr).value or 0


@dataclass(frozen=True)
class Function:
    """A kernel on a device."""

    handle: int
    registers: int
    local_bytes: int

    def launch(self, count: int, threads: int, stream: int, arguments: list[int]) -> None:
        """Run it for `count` samples on a stream; every argument is a number or an address of 64 bits."""
        values = (ctypes.c_uint64 * len(arguments))(*arguments)
        first = ctypes.addressof(values)
        places = (_ptr * len(arguments))(*range(first, first + 8 * len(arguments), 8))
        blocks = (count + threads - 1) // threads
        code = driver().cuLaunchKernel(_ptr(self.handle), blocks, 1, 1, threads, 1, 1, 0, _ptr(stream), places, None)
        check(code, "launching a kernel")


def loaded(image: bytes, *names: str) -> list[Function]:
    """Kernels from machine code, in the current context."""
    module = _ptr()
    check(driver().cuModuleLoadData(ctypes.byref(module), image), "loading a kernel")
    return [_function(module, name.encode()) for name in names]


def _function(module, name: bytes) -> Function:
    cu, function, found = driver(), _ptr(), []
    check(cu.cuModuleGetFunction(ctypes.byref(function), module, name), "finding a kernel")
    for attribute in (REGISTERS, LOCAL_BYTES):
        value = _int()
        check(cu.cuFuncGetAttribute(ctypes.byref(value), attribute, function), "asking a kernel for its size")
        found.append(value.value)
    return Function(function.value or 0, *found)
