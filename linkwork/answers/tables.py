"""Answers as text: a header and rows in columns, long ones cut."""

LONGEST = 24  # rows of a table


def table(header, rows) -> list[str]:
    """Lines of a table; none where there are no rows."""
    rows = list(rows)
    if not rows:
        return []
    shown = [tuple(header), *rows[:LONGEST]]
    widths = [max(len(str(row[i])) for row in shown) for i in range(len(header))]
    lines = ["  " + "  ".join(str(x).ljust(w) for x, w in zip(row, widths)).rstrip() for row in shown]
    return lines if len(rows) <= LONGEST else [*lines, f"  ... and {len(rows) - LONGEST} more"]
