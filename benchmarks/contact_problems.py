"""Random contact problems of real robots: how many are solved, in how many rounds, in what time.

go2, humanoid and shadow hand in random configurations with random velocities, a step of 2 ms; the points nearest to the ground, 4 to 12 of
them, have gaps from 0 to 0.5 mm, so that each
problem has a solution: to stop. Compliance and velocities are the robot's own. `solve_contacts` from nothing, and rounds of Gauss-Seidel
with an exact local solve, as in kernels. Shares of problems whose worst residual (Signorini, cone, dissipation) is below a bound.
"""

import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

import linkwork as lw
from linkwork.contact.cone import residual
from linkwork.contact.gauss_seidel import gauss_seidel

MODELS = Path(__file__).parents[1] / "tests" / "models"
FILES = {"go2": "go2_mjcf/go2.xml", "humanoid": "humanoid_mjcf/humanoid.xml", "shadow hand": "shadow_hand_mjcf/right_hand.xml"}
H, BOUNDS = 0.002, (1e-4, 1e-6, 1e-8)


def problems(name: str, count: int, points: int, seed: int):
    """G, b and μ of problems with so many points."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = lw.Dynamics(lw.load(MODELS / FILES[name], contacts="ground"))
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(count, seed=seed)
    gap, J = robot.contact_gaps(q), robot.contact_jacobian(q)
    near = np.argsort(gap, -1)[:, :points]
    rows = (3 * near[..., None] + np.arange(3)).reshape(count, -1)
    J = np.take_along_axis(J, rows[..., None], 1)
    G = J @ robot.mass_matrix_inverse(q) @ J.mT
    free = v + H * robot.forward_dynamics(q, v, np.zeros(robot.nv))
    b = (J @ free[..., None])[..., 0]
    b[:, ::3] += rng.uniform(0.0, 0.0005, (count, points)) / H
    return G, b, np.broadcast_to(rng.uniform(0.1, 1.2, (count, 1)), (count, points))


def shares(left) -> str:
    return ", ".join(f"{np.mean(left <= x):.2%} at {x:.0e}" for x in BOUNDS)


def main() -> None:
    each = int(sys.argv[sys.argv.index("--count") + 1]) if "--count" in sys.argv else 1112  # 10^4 in all
    for name in FILES:
        for points in (4, 8, 12):
            G, b, mu = problems(name, each, points, seed=points)
            start = perf_counter()
            found = lw.solve_contacts(G, b, mu)
            taken = (perf_counter() - start) / each
            rounds = np.percentile(found.rounds, (50, 99, 100)).astype(int)
            unsaid = np.sum(found.converged & (found.residuals.max(-1) > 1e-6))
            print(f"{name}, {points} points, {each} problems: {shares(found.residuals.max(-1))}; {1e6 * taken:.0f} us each")
            print(f"    rounds {rounds[0]}, 99 % {rounds[1]}, most {rounds[2]}; {np.sum(~found.converged)} not solved, {unsaid} unsaid")
            force, count = gauss_seidel(G, b, mu, np.zeros_like(b), 100, 1e-9)
            print(f"    Gauss-Seidel, up to 100 rounds: {shares(residual(G, b, mu, force))}; rounds {np.median(count):.0f}")


if __name__ == "__main__":
    main()
