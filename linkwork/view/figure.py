"""The figure that plots and pictures are drawn into; matplotlib is imported with this module."""

from io import BytesIO

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..errors import writing


class Drawing(Figure):
    """A figure that pyplot does not know: it ends with its last reference, and a notebook shows it once, as the result of a cell."""

    def __init__(self, **options):
        super().__init__(**options)
        FigureCanvasAgg(self)  # becomes its canvas, with pixels to be read

    def savefig(self, fname, **options):
        with writing(fname):
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
