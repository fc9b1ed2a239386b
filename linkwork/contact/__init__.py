"""Contact: which shapes may touch, how far apart they are, and where."""

from .geometry.pairs import PAIRS, ContactTable, Pairs, pairs_of, refuse_contacts
from .kinds import Contact, Kind, Row
from .quantities import contact_bias, contact_bounds, contact_frames, contact_gaps, contact_jacobian, contact_places, contact_points
from .step_rows import StepRows, rows_in_steps

__all__ = [
    "PAIRS", "Contact", "ContactTable", "Kind", "Pairs", "Row", "StepRows", "contact_bias", "contact_bounds", "contact_frames",
    "contact_gaps", "contact_jacobian", "contact_places", "contact_points", "pairs_of", "refuse_contacts", "rows_in_steps",
]  # fmt: skip
