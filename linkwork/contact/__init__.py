"""Contact: which shapes may touch, how far apart they are, and where."""

from .geometry.pairs import PAIRS, ContactTable, Pairs, pairs_of, refuse_contacts
from .quantities import contact_bias, contact_bounds, contact_frames, contact_gaps, contact_jacobian, contact_places, contact_points

__all__ = [
    "PAIRS", "ContactTable", "Pairs", "contact_bias", "contact_bounds", "contact_frames", "contact_gaps", "contact_jacobian",
    "contact_places", "contact_points", "pairs_of", "refuse_contacts",
]  # fmt: skip
