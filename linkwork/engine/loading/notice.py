"""A line on stderr when a compilation takes long, so that nobody thinks the program hangs."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer

DELAY = 1.0  # seconds
QUIET = "LINKWORK_QUIET"  # the environment variable that turns it off


@contextmanager
def announced(name: str) -> Iterator[None]:
    """Say that `name` is compiled if what is done here takes longer than DELAY, unless LINKWORK_QUIET is set to something."""
    if os.environ.get(QUIET):
        yield
        return
    timer = Timer(DELAY, _say, [f"linkwork: compiling {name} ({QUIET}=1 hides this) ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # stderr may be closed, or None
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
