"""A progress bar for long runs, drawn by `rich` if it is installed and stderr is a terminal."""

import sys
from time import monotonic
from typing import Any

DELAY = 1.0  # seconds before a bar appears


class Progress:
    def __init__(self, start: float, until: float, show: bool | None):
        self.start, self.until = start, until
        self.wanted = sys.stderr.isatty() if show is None else show
        self.delay = DELAY if show is None else 0.0
        self.began = monotonic()
        self.bar: Any = None

    def update(self, t: float) -> None:
        if self.wanted and monotonic() - self.began >= self.delay:
            if self.bar is None:
                self._open()
            if self.bar is not None:
                self.bar.update(self.task, completed=t)

    def _open(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import Progress as Bar
        except ImportError:
            self.wanted = False
            return
        self.bar = Bar(console=Console(stderr=True), transient=True)
        self.task = self.bar.add_task("simulate", total=self.until, start=True, completed=self.start)
        self.bar.start()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
