"""Joints: the motions one body may make relative to another. A joint is a group of motions with limits and passive forces."""

from .compound import Compound
from .cylindrical import Cylindrical
from .elastic import Elastic
from .fixed import Fixed
from .free import Free
from .helical import Helical
from .joint import Joint
from .planar import Planar
from .planar_translation import PlanarTranslation
from .prismatic import Prismatic
from .revolute import Revolute
from .schoenflies import Schoenflies
from .spherical import Spherical
from .translation import Translation
from .universal import Universal

__all__ = [
    "Compound", "Cylindrical", "Elastic", "Fixed", "Free", "Helical", "Joint", "Planar", "PlanarTranslation",
    "Prismatic", "Revolute", "Schoenflies", "Spherical", "Translation", "Universal",
]
