"""Quantities of a robot as CasADi functions, for optimization with CasADi's derivatives."""

from ..engine.tracing.operations import meanings
from ..engine.tracing.program import evaluate
from ..errors import extra
from ..export import program


def casadi_function(robot, what):
    """A method of the robot as a casadi.Function of its inputs: `casadi_function(robot, "forward_dynamics")`.

    `what` is the name of a method, or (name, body[, axes]) for one of a body. Vectors are columns.
    """
    casadi = extra("casadi", "casadi_function needs")
    operations = program(robot, what)
    inputs = {x.name: casadi.SX.sym(x.name, x.size) for x in operations.inputs}
    outputs = []
    for entries, output in zip(evaluate(operations, inputs, meanings("casadi", casadi), casadi.SX), operations.outputs):
        shape = output.shape if len(output.shape) == 2 else (len(entries), 1)
        outputs.append(casadi.reshape(casadi.vertcat(*entries), shape[1], shape[0]).T)  # CasADi stores columns, we rows
    return casadi.Function(operations.name, list(inputs.values()), outputs, list(inputs), ["result"])
