"""SKO models to test on: rigid, branched, floating, geared, and forests of random blocks that are not even square.

`every_model` parametrizes a test by all of them, as dense matrices with the book's letters; `every_bookish_model` by
those without inertia in the joints, which the book does not have.
"""

from .dense import BATCH, Dense
from .models import MODELS, Model, every_bookish_model, every_model, gear_train, geared_at, models, random_forest, serial

__all__ = [
    "BATCH",
    "Dense",
    "MODELS",
    "Model",
    "every_bookish_model",
    "every_model",
    "gear_train",
    "geared_at",
    "models",
    "random_forest",
    "serial",
]
