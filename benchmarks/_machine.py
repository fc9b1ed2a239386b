"""What a benchmark ran on."""

import os
import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = {"NumPy": "numpy", "llvmlite": "llvmlite", "Pinocchio": "pin", "linkwork": "linkwork"}


def processor() -> str:
    """What the CPU calls itself, where Linux tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def versions() -> str:
    return ", ".join([f"Python {platform.python_version()}", *(f"{name} {_version(x)}" for name, x in PACKAGES.items())])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(none)"


def load() -> str:
    """How many processes wanted to run in the last minute: above the number of cores, others were in the way."""
    return f"load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "load average not known"


def described() -> str:
    return f"{processor()}, {os.cpu_count()} cores; {platform.system()}; {versions()}; {date.today()}; {load()}"


def torch_with_gpu():
    """torch where there is an NVIDIA GPU for it, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None
