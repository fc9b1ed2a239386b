"""Conversion of trajectories to pandas and xarray."""

from csv import writer
from io import TextIOWrapper

import numpy as np

from ...errors import extra
from .safe_file import replacing

INSTEAD = ' run.save("run.csv") writes a table without it.'
ENERGIES = "kinetic_energy", "potential_energy", "energy"


def table(trajectory) -> dict[str, np.ndarray]:
    """The columns of a table by name: q.<joint>, v.<joint>, tau.<joint> and the energies."""
    columns: dict[str, np.ndarray] = {}
    for what, labels in (("q", trajectory.q_names), ("v", trajectory.v_names), ("tau", trajectory.v_names)):
        columns |= {f"{what}.{label}": column for label, column in zip(labels, getattr(trajectory, what).T)}
    return columns | {name: getattr(trajectory, name) for name in ENERGIES}


def to_csv(path, trajectory) -> None:
    """The table as text, t first; each number has as many digits as it takes to read it back to the bit."""
    columns = {"t": trajectory.t} | table(trajectory)
    with replacing(path) as file:
        text = TextIOWrapper(file, "utf-8", newline="")
        rows = writer(text, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*(x.tolist() for x in columns.values())))
        text.detach()  # flushes, and leaves the file open


def to_pandas(trajectory):
    """A DataFrame, a row for each time, columns q.<joint>, v.<joint>, tau.<joint> and the energies."""
    pandas = extra("pandas", "to_pandas needs", instead=INSTEAD)
    return pandas.DataFrame(table(trajectory), index=pandas.Index(trajectory.t, name="t"))


def to_xarray(trajectory):
    """A Dataset over time, with joints and bodies by name."""
    xarray = extra("xarray", "to_xarray needs", instead=INSTEAD)
    rows = {
        "q": (("time", "coordinate"), trajectory.q),
        "v": (("time", "velocity"), trajectory.v),
        "vdot": (("time", "velocity"), trajectory.vdot),
        "tau": (("time", "velocity"), trajectory.tau),
        "momentum": (("time", "component"), trajectory.momentum),
        "position": (("time", "body", "axis"), np.ascontiguousarray(trajectory.poses[..., :3, 3])),
        **{name: ("time", getattr(trajectory, name)) for name in ENERGIES},
    }
    labels = {
        "time": trajectory.t,
        "coordinate": trajectory.q_names,
        "velocity": trajectory.v_names,
        "body": trajectory.robot.bodies,
        "axis": ["x", "y", "z"],
        "component": ["angular x", "angular y", "angular z", "linear x", "linear y", "linear z"],
    }
    attributes = {"model": trajectory.robot.model.name, "status": trajectory.status, "message": trajectory.message}
    return xarray.Dataset(rows, labels, attributes)
