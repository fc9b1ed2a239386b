"""Visualisation of a mechanism and its motion: plots, pictures, movies, an HTML page that plays, a scene in the browser."""

from .browser import View, view
from .motion import Motion
from .page import record
from .picture import movie, snapshot
from .plots import plot, plot_phase
from .tree import plot_tree

__all__ = ["Motion", "View", "movie", "plot", "plot_phase", "plot_tree", "record", "snapshot", "view"]
