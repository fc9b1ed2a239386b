"""What ends a run before its time."""


class Failure(Exception):
    """A run that cannot go on: the reason, and the row of v that caused it if that is known.

    `complete`: the reason says all; otherwise what the rates had to say is added to it.
    """

    def __init__(self, reason: str, row: int | None = None, *, complete: bool = False):
        super().__init__(reason)
        self.row, self.complete = row, complete
