"""What the classes of this folder are made of: a robot, or the model of one."""

from ..dynamics import Dynamics
from ..errors import ModelError
from ..model import Model


def as_robot(who: str, given) -> Dynamics:
    """The robot that was given, or an error that says how to make one."""
    if isinstance(given, Dynamics):
        return given
    came = f'the model "{given.name}"' if isinstance(given, Model) else f"a {type(given).__name__}"
    raise ModelError(f"{who} takes a robot, not {came}: {who}(lw.Dynamics(model)), where model is a Model, as lw.load makes it.")


def as_model(who: str, given) -> Model:
    """The model that was given, or an error that says where it is."""
    if isinstance(given, Model):
        return given
    came, remedy = f"a {type(given).__name__}", "lw.load makes one"
    if isinstance(given, Dynamics):
        came, remedy = f'the robot "{given.model.name}"', f"{who}(robot.model)"
    raise ModelError(f"{who} takes a Model, not {came}: {remedy}.")
