"""Contact problems of real robots (`contact_sets.py`): how many are solved, in how many rounds, in what time.

`solve_contacts` from nothing, in batches of one size and one by one; rounds of Gauss-Seidel with an exact local solve, as in kernels; and
Pinocchio's own solvers on the same G, b and μ, at most 1000 rounds and its least tolerances: ADMM and projected Gauss-Seidel.
Shares of problems whose worst residual (Signorini, cone, dissipation, as `linkwork.contact.cone` defines them) is below a bound.

    python -m benchmarks.contact_problems [--count 800] [--peers 200]
"""

import sys
from time import perf_counter

import numpy as np

import linkwork as lw
from linkwork.contact.cone import residual, speed
from linkwork.contact.problem import contacts
from linkwork.contact.solver.gauss_seidel import gauss_seidel

from .contact_sets import Problem, sets

BOUNDS = 1e-4, 1e-6, 1e-8
NORMAL_LAST, NORMAL_FIRST = [1, 2, 0], [2, 0, 1]


def batches(problems: list[Problem]):
    """Numbers and arrays of problems with as many contacts."""
    sizes = np.array([len(mu) for _, _, mu in problems])
    for n in np.unique(sizes):
        some = np.flatnonzero(sizes == n)
        yield some, *(np.stack([problems[i][k] for i in some]) for k in range(3))


def shares(left) -> str:
    return ", ".join(f"{np.mean(left <= x):.2%} at {x:.0e}" for x in BOUNDS)


def rows_in_order(n: int, order) -> np.ndarray:
    return (3 * np.arange(n)[:, None] + order).ravel()


def by_pinocchio(name: str, problems: list[Problem]):
    """Residuals, seconds and velocities of each, by the solver of this name."""
    import pinocchio

    model, left, taken, velocities = pinocchio.Model(), [], [], []
    settings = getattr(pinocchio, f"{name}SolverSettings")()
    for tolerance in (x for x in dir(settings) if x.endswith("_tol")):
        setattr(settings, tolerance, 1e-12)
    settings.max_iterations = 1000
    for G, b, mu in problems:
        order, back = rows_in_order(len(mu), NORMAL_LAST), rows_in_order(len(mu), NORMAL_FIRST)
        models, datas = pinocchio.StdVec_ConstraintModel(), pinocchio.StdVec_ConstraintData()
        for friction in mu:
            contact = pinocchio.PointContactConstraintModel(model)
            contact.setFriction(float(friction))
            made = pinocchio.ConstraintModel(contact)
            models.append(made)
            datas.append(made.createData())
        solver, result = getattr(pinocchio, f"{name}ConstraintSolver")(len(b)), getattr(pinocchio, f"{name}SolverResult")()
        delassus = pinocchio.DelassusOperatorDense(np.ascontiguousarray(G[np.ix_(order, order)]))
        start = perf_counter()
        solver.solve(delassus, b[order], models, datas, settings, result)
        taken.append(perf_counter() - start)
        force = np.asarray(result.retrieveConstraintImpulses())[back]
        left.append(residual(G, b, mu, force))
        velocities.append(G @ force + b)
    return np.array(left), np.array(taken), velocities


def argument(name: str, otherwise: int) -> int:
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else otherwise


def main() -> None:
    each, beside = argument("--count", 800), argument("--peers", 200)
    feasible, good, fine = 0, 0, 0
    for name, found in sets(each):
        problems = list(found)
        left, rounds, lack, seidel = (np.zeros(len(problems)) for _ in range(4))
        start = perf_counter()
        for some, G, b, mu in batches(problems):
            solved = lw.solve_contacts(G, b, mu)
            left[some], rounds[some], lack[some] = solved.residuals.max(-1), solved.rounds, solved.violation.max(-1)
        taken = (perf_counter() - start) / len(problems)
        for some, G, b, mu in batches(problems):
            seidel[some] = residual(G, b, mu, gauss_seidel(contacts(G, b, mu), np.zeros_like(b), 100, 1e-9)[0])
        may = lack == 0
        feasible, good, fine = feasible + may.sum(), good + (left <= 1e-6).sum(), fine + (left <= 1e-8).sum()
        points, at = [len(mu) for _, _, mu in problems], np.percentile(rounds[may], (50, 99, 100)).astype(int)
        print(f"{name}, {min(points)} to {max(points)} points, {len(problems)} problems, {np.sum(~may)} proved infeasible")
        print(f"    solve_contacts: {shares(left[may])}; rounds {at[0]}, 99 % {at[1]}, most {at[2]}; {1e6 * taken:.0f} us each")
        print(f"    Gauss-Seidel, 100 rounds: {shares(seidel[may])}")
        some = np.flatnonzero(may)[:: max(1, may.sum() // beside)]
        start = perf_counter()
        ours = [lw.solve_contacts(*problems[i]).velocity for i in some]
        print(f"    one by one: {1e6 * (perf_counter() - start) / len(some):.0f} us each")
        for peer in ("ADMM", "PGS"):
            theirs, seconds, velocities = by_pinocchio(peer, [problems[i] for i in some])
            close = [np.abs(x - y).max() <= 1e-5 * speed(problems[i][1]) for x, y, i in zip(ours, velocities, some)]
            print(f"    Pinocchio's {peer}, {len(some)} of them: {shares(theirs)}; {1e6 * np.mean(seconds):.0f} us each; "
                  f"velocities as here in {np.mean(np.array(close)[theirs <= 1e-8]):.1%} of those it solves to 1e-8")  # fmt: skip
    print(f"all: {feasible} feasible or not known to be otherwise, {good} at 1e-6, {fine} at 1e-8")


if __name__ == "__main__":
    main()
