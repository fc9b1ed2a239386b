"""The equations of small mechanisms as SymPy matrices, simplified for print, from the same sweeps as the kernels."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..dynamics import Dynamics
from ..engine.tracing.program import Input, record
from ..engine.writers import symbols
from ..errors import ModelError, did_you_mean
from ..export import program
from ..model import Model
from ..systems import VARIABLE

DENOMINATOR = 100_000
EXPANDED = 200  # operations of an expression with roots that is multiplied out; a longer one is left as it was computed
FRACTION = 1e-14  # relative: a float this near to a fraction is replaced by it


def symbolic(model: Model | Dynamics, *, names: Mapping[str, Sequence] | None = None, **constants) -> "Symbolic":
    """The equations of motion of a model as SymPy expressions.

        pendulum = lw.symbolic(model, names={"q": ["theta"]}, mass=["m"], center=[[0, 0, "-l"]], gravity=[0, 0, "-g"])
        pendulum.M, pendulum.C, pendulum.N, pendulum.equations, pendulum.latex()

    `names` are the symbols of q, v, vdot and tau. Constants of the model stay numbers unless given in symbols: mass (nb),
    center (nb, 3), tensor about it (nb, 3, 3) or its diagonal (nb, 3), at (nb, 3) the position of each joint on its
    parent, armature (nv), gravity (3); each entry a number, a SymPy expression or a string such as "m*l**2/12", whose
    symbols are assumed positive.

    A robot with loops, couplings, drives or rolling has the equations of its tree with multipliers, and those of its constraints:
    M v̇ + C v + N = τ + Jc* λ and Jc v̇ + γ = 0.
    """
    return Symbolic(model if isinstance(model, Dynamics) else Dynamics(model), names or {}, constants)


class Symbolic:
    """M v̇ + C v + N = τ in SymPy, M, C and N those of the tree; each part is computed at its first use.

    Under constraints M v̇ + C v + N = τ + Jc* λ, Jc v̇ + γ = 0: `c`, `Jc`, `U`, `gamma` and `lam` are there too, `rows` names them.
    """

    def __init__(self, robot: Dynamics, names: Mapping[str, Sequence], constants: Mapping[str, object]):
        for name in constants:
            if name not in VARIABLE:
                raise ModelError(f'"{name}" is not a constant of {robot.model.name}.{did_you_mean(name, VARIABLE)}')
        self.robot = robot
        self._names = {name: [_symbol(x) for x in given] for name, given in names.items()}
        self._constants = {name: self._entries(name, value) for name, value in constants.items()}

    # --- the symbols

    @cached_property
    def q(self) -> list:
        return self._symbols("q", self.robot.nq)

    @cached_property
    def v(self) -> list:
        return self._symbols("v", self.robot.nv)

    @cached_property
    def vdot(self) -> list:
        return self._symbols("vdot", self.robot.nv)

    @cached_property
    def tau(self) -> list:
        return self._symbols("tau", self.robot.nv)

    # --- constraints: rows that are zero whatever q is, because they forbid what cannot happen, are left out

    @property
    def constrained(self) -> bool:
        """Are there loops, couplings or other constraints?"""
        return self.robot.constraints is not None

    @cached_property
    def _rows(self) -> tuple:
        """(labels, closure, Jc, U, γ), in symbols."""
        sympy, robot = symbols.sympy_module(), self.robot
        if not self.constrained:
            nothing = sympy.zeros(0, 1)
            return (), nothing, sympy.zeros(0, robot.nv), nothing, nothing
        held, varied = robot.constraints.set, robot.varying(*self._constants) if self._constants else None
        own = {} if varied is None else varied.own
        drive = {"drive": (len(held.drives), 3)} if held.drives else {}
        shapes = {name: x.shape for name, x in own.items()} | drive
        inputs = *(robot.lowered.input(*x) for x in (("q", ("nq",)), ("v", ("nv",)))), *(Input(*x) for x in shapes.items())

        def function(q, v, *rest):
            values = dict(zip(shapes, rest))
            given = values.pop("drive", None)
            nodes = robot.lowered.nodes.over(q) if varied is None else varied.mechanism.tree(q, values)
            return held.written_out(nodes, q, v, given)

        known = {"q": self.q, "v": self.v, **self._constants, "drive": [x for row in self.drives.values() for x in row]}
        found = symbols.expressions(record("constraints", function, inputs), {x.name: known[x.name] for x in inputs})
        c, Jc, U, gamma = (x.applyfunc(lambda e: simplified(e, self._units)) for x in found)
        kept = [i for i in range(Jc.rows) if not Jc[i, :].is_zero_matrix]
        labels = tuple(f"{name}: {row}" for name, row in (held.labels[i] for i in kept))
        return labels, *(x.extract(kept, list(range(x.cols))) for x in (c, Jc, U, gamma))

    @property
    def rows(self) -> tuple[str, ...]:
        """What each row of the constraints forbids, after the constraint's name."""
        return self._rows[0]

    @property
    def c(self):
        """Functions of q that are zero where loops are closed and couplings kept, a column; 0 for a row that binds velocities alone.
        Of a loop they are entries of the pose of its child in its parent: zero together with the residual, which is a logarithm."""
        return self._rows[1]

    @property
    def Jc(self):
        """The constraint Jacobian, Jc v = U: that of `robot.constraints.jacobian(q)`."""
        return self._rows[2]

    @property
    def U(self):
        """What drives ask of velocities, a column; zero elsewhere."""
        return self._rows[3]

    @property
    def gamma(self):
        """γ of Jc v̇ + γ = 0, a column: J̇c v − U̇."""
        return self._rows[4]

    @cached_property
    def lam(self) -> list:
        """The multipliers, one for each row; names={"lam": ...} gives them other symbols."""
        return self._symbols("lam", len(self.rows), "lambda")

    @cached_property
    def drives(self) -> dict[str, list]:
        """Of each drive, the symbols of its function of time and of its first and second derivative."""
        held = self.robot.constraints
        names = [] if held is None else [x.name for x in held.set.drives]
        return {name: [_symbol(f"{name}{dots}") for dots in ("", "_dot", "_ddot")] for name in names}

    # --- the equations

    @cached_property
    def M(self):
        """The mass matrix."""
        return self._made("mass_matrix")

    @cached_property
    def C(self):
        """The Coriolis matrix of Christoffel symbols: Ṁ - 2C is skew."""
        return self._made("coriolis_matrix")

    @cached_property
    def N(self):
        """The generalized force that balances gravity, a column."""
        return self._made("gravity_force")

    @cached_property
    def kinetic(self):
        return self._made("kinetic_energy")

    @cached_property
    def potential(self):
        return self._made("potential_energy")

    @cached_property
    def lagrangian(self):
        return simplified(self.kinetic - self.potential, ())

    @cached_property
    def equations(self) -> list:
        """M v̇ + C v + N = τ, one equation for each velocity; under constraints = τ + Jc* λ, and after them Jc v̇ + γ = 0, one for
        each row."""
        sympy = symbols.sympy_module()
        v, vdot = sympy.Matrix(self.v), sympy.Matrix(self.vdot)
        left = self.M * vdot + (self.C * v + self.N).applyfunc(lambda e: simplified(e, self._units))
        right = sympy.Matrix(self.tau)
        if self.constrained:
            right = right + self.Jc.T * sympy.Matrix(len(self.lam), 1, self.lam)
        bound = self.Jc * vdot + self.gamma
        sides = *zip(left, right), *((e, sympy.S.Zero) for e in bound)
        return [sympy.Eq(a, b, evaluate=False) for a, b in sides]

    def pose(self, body: str):
        """The pose of a body or frame, world from body."""
        return self._made(("pose", body))

    def jacobian(self, body: str, axes: str = "body"):
        """The Jacobian of a body or frame, which maps v to its twist, angular rows first."""
        return self._made(("jacobian", body, axes))

    def latex(self) -> str:
        """M, C, N, under constraints c, Jc and γ, and the equations as LaTeX, one line each; rates are written with dots if all joints
        have one axis."""
        sympy = symbols.sympy_module()
        how: dict[str, Any] = {"symbol_names": self._dots, "mat_delim": "(", "mat_str": "matrix"}
        parts = [(r"\mathcal{M}", self.M), (r"\mathcal{C}", self.C), (r"\mathcal{N}", self.N)]
        if self.constrained:
            parts += [("c", self.c), ("J_c", self.Jc), (r"\gamma", self.gamma)]
        lines = [f"{name} &= {sympy.latex(value, **how)}" for name, value in parts]
        lines += [f"{sympy.latex(e.lhs, **how)} &= {sympy.latex(e.rhs, **how)}" for e in self.equations]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def function(self, what: str):
        """A part such as "M" or "equations" (their left sides) as a NumPy function of q, v, vdot (zero by default); it must contain
        no other symbols, so constants must be numbers."""
        sympy = symbols.sympy_module()
        value = getattr(self, what)
        if what == "equations":
            value = sympy.Matrix([e.lhs for e in value])
        more = sorted(map(str, sympy.Matrix([value]).free_symbols - {*self.q, *self.v, *self.vdot}))
        if more:
            named = f"{what} of {self.robot.model.name} has symbols besides q, v and vdot"
            raise ModelError(f"{named} ({', '.join(more)}): use its subs first.")
        run = sympy.lambdify([self.q, self.v, self.vdot], value, "numpy", cse=True)
        rest = np.zeros(self.robot.nv)
        return lambda q, v=rest, vdot=rest: np.asarray(run(q, v, vdot), float)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def __repr__(self) -> str:
        bound = f", {len(self.rows)} constraint rows" if self.constrained else ""
        return f"<equations of {self.robot.model.name}: nq = {self.robot.nq}, nv = {self.robot.nv}{bound}>"

    # --- internals

    @property
    def _dots(self) -> dict:
        """LaTeX of the rates: q with dots if v is the rate of q, else v̇ as v with a dot."""
        parts = [part for placed in self.robot.model.joints for _, part, _ in placed.joint.parts]
        rows = [(self.v, self.q, r"\dot"), (self.vdot, self.q, r"\ddot")]
        if any(part.nv > 1 for part in parts):
            rows = [(self.vdot, self.v, r"\dot")]
        return {x: rf"{dot}{{{symbols.sympy_module().latex(of)}}}" for xs, ofs, dot in rows for x, of in zip(xs, ofs)}

    @cached_property
    def _units(self) -> tuple:
        """|q|² of each unit quaternion, which is one."""
        return tuple(sum(x**2 for x in self.q[rows]) for rows in self.robot.lowered.units)

    def _symbols(self, name: str, count: int, stem: str = "") -> list:
        given = self._names.get(name) or [_symbol(f"{stem or name}{i}") for i in range(count)]
        if len(given) != count:
            raise ModelError(f"{name} has {count} entries, but {len(given)} names: {', '.join(map(str, given))}.")
        return list(given)

    def _made(self, what):
        varied: Any = self.robot.varying(*self._constants) if self._constants else None
        operations = varied.kernel(what).program if varied else program(self.robot, what)
        known = {"q": self.q, "v": self.v, "vdot": self.vdot, "tau": self.tau, **self._constants}
        (found,) = symbols.expressions(operations, {x.name: known[x.name] for x in operations.inputs})
        if isinstance(found, symbols.sympy_module().MatrixBase):
            return found.applyfunc(lambda e: simplified(e, self._units))
        return simplified(found, self._units)

    def _entries(self, name: str, value) -> list:
        """The entries of a constant as a flat list of expressions; rows may be given by the name of a body."""
        sizes: dict[Any, int] = {"nb": len(self.robot.bodies), "nv": self.robot.nv, 3: 3}
        shape = [sizes[n] for n in VARIABLE[name]]
        if isinstance(value, Mapping):
            own = list(self.robot.varying(name).value(name))
            for body, entry in value.items():
                own[self.robot.model.body_index(body)] = entry
            value = own
        entries = np.empty(shape, object)
        rows = [_diagonal(row) for row in value] if name == "tensor" else value
        try:
            entries[...] = np.array([[*map(list, row)] if name == "tensor" else row for row in rows], object).reshape(shape)
        except ValueError:
            raise ModelError(f"{name} of {self.robot.model.name} is {value}; its shape must be {tuple(shape)}.") from None
        return [_expression(x) for x in entries.ravel()]


def _diagonal(row):
    """A tensor as a full matrix, also if it is given by its diagonal."""
    if len(np.shape(np.array(row, object))) == 2:
        return row
    return [[x if i == j else 0 for j in range(3)] for i, x in enumerate(row)]


def simplified(expression, ones):
    """The shortest of several forms: sines and cosines as products, of sums of angles, or without sin²; `ones` become 1."""
    sympy = symbols.sympy_module()
    from sympy.simplify.fu import TR8

    for one in ones:
        expression = expression.subs(one, 1).subs(sympy.sqrt(one), 1)
    roots = {x.base for x in expression.atoms(sympy.Pow) if not (x.exp.is_Integer and x.exp > 0) and not x.base.is_Atom}
    if roots:
        return _around_roots(expression, roots)
    plain = with_fractions(sympy.expand(expression))
    if not plain.has(sympy.sin, sympy.cos):
        return _tidy(plain)
    sums = sympy.expand(TR8(plain))
    squares = sympy.expand(plain.subs({sympy.sin(x) ** 2: 1 - sympy.cos(x) ** 2 for x in _angles(plain)}))
    return _tidy(min((plain, sums, squares), key=sympy.count_ops))


def _around_roots(expression, bases):
    """The expression simplified as a polynomial in the square roots of some others, and those by themselves: multiplied out, a
    length to the power of −3/2 fills pages."""
    sympy = symbols.sympy_module()
    root = {base: sympy.Dummy(positive=True) for base in sorted(bases, key=sympy.count_ops)}
    inside = lambda x: isinstance(x, sympy.Pow) and x.base in root
    plain = expression.replace(inside, lambda x: root[x.base] ** (2 * x.exp))
    written = {r: sympy.sqrt(simplified(base, ())) for base, r in root.items()}
    return (simplified(plain, ()) if sympy.count_ops(plain) < EXPANDED else with_fractions(plain)).subs(written)


def _tidy(expression):
    """The expression with common factors extracted, if that is shorter."""
    sympy = symbols.sympy_module()
    return min(expression, sympy.factor_terms(expression), key=lambda e: (sympy.count_ops(e), len(str(e))))


def _angles(expression) -> set:
    return {f.args[0] for f in expression.atoms(symbols.sympy_module().sin)}


def with_fractions(expression):
    """The expression with floats that are fractions up to rounding replaced by those fractions."""
    sympy = symbols.sympy_module()
    swaps = {}
    for x in expression.atoms(sympy.Float):
        fraction = Fraction(float(x)).limit_denominator(DENOMINATOR)
        if abs(float(fraction) - float(x)) <= FRACTION * abs(float(x)):
            swaps[x] = sympy.Rational(fraction.numerator, fraction.denominator)
    return expression.xreplace(swaps)


def _symbol(x):
    return symbols.sympy_module().Symbol(x, real=True) if isinstance(x, str) else x


def _expression(x):
    sympy = symbols.sympy_module()
    if isinstance(x, str):
        try:
            found = sympy.sympify(x)
        except (sympy.SympifyError, TypeError) as error:
            raise ModelError(f'"{x}" is not an expression: {error}') from None
        return found.subs({s: sympy.Symbol(s.name, positive=True) for s in found.free_symbols})
    return x if isinstance(x, sympy.Basic) else symbols.number(float(x))
