"""python -m linkwork, and the command `linkwork`."""

import sys


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 is success, 1 a run that failed on its way, 2 something wrong with what was asked."""
    try:
        from .cli import run
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        print(f'The command line needs {error.name}, which is missing: pip install "linkwork[cli]".', file=sys.stderr)
        return 2
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
