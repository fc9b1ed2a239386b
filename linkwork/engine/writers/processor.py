"""What the environment says of the processor, to run here what other machines run: both settings are part of a kernel's cache key."""

import os
from functools import cache

from ...errors import OptionError


@cache
def forced_width() -> int:
    """LINKWORK_VECTOR_WIDTH: samples of float64 that a vector holds (2, 4 or 8), whatever the processor has; 0 where it is not set."""
    return int(_setting("LINKWORK_VECTOR_WIDTH", "2", "4", "8") or 0)


@cache
def writes_assembly() -> bool:
    """LINKWORK_ASSEMBLY: "0" leaves long programs to LLVM, in place of the assembly that is written for x86-64."""
    return _setting("LINKWORK_ASSEMBLY", "0", "1") != "0"


def _setting(name: str, *choices: str) -> str:
    if (said := os.environ.get(name, "")) not in ("", *choices):
        raise OptionError(f"{name} is {said!r}; it may be {', '.join(choices)}, or not set.")
    return said
