"""A plate of finite elements by scikit-fem, hinged on a turning column: matrices become a flexible body. Films it if asked: --film"""

import sys

import numpy as np
import skfem
from skfem.helpers import ddot, dot, eye, sym_grad, trace
from skfem.io.meshio import to_meshio

import linkwork as lw

LENGTH, WIDTH, THICKNESS, E, NU, RHO = 1.0, 0.5, 0.02, 2e8, 0.3, 1200.0
LAME, SHEAR = E * NU / (1 + NU) / (1 - 2 * NU), E / 2 / (1 + NU)


@skfem.BilinearForm
def stiffness(u, v, _):
    strain, other = sym_grad(u), sym_grad(v)
    return ddot(LAME * eye(trace(strain), 3) + 2 * SHEAR * strain, other)


@skfem.BilinearForm
def mass(u, v, _):
    return RHO * dot(u, v)


across, through = (np.linspace(-x / 2, x / 2, n) for x, n in ((WIDTH, 7), (THICKNESS, 3)))
grid = skfem.MeshHex.init_tensor(np.linspace(0, LENGTH, 13), across, through)
basis = skfem.Basis(grid, skfem.ElementVector(skfem.ElementHex1()))
order = basis.nodal_dofs.T.ravel()  # ux, uy, uz of each node
M, K = (form.assemble(basis)[order][:, order] for form in (mass, stiffness))
nodes = grid.p.T
edge = np.flatnonzero(nodes[:, 0] < 1e-9)
corner = np.flatnonzero(np.linalg.norm(nodes[:, :2] - [LENGTH, WIDTH / 2], axis=1) < 0.12)
faces = lw.flexible.outer_faces(to_meshio(grid).cells_dict)  # for pictures
plate = lw.FlexibleBody.of_matrices(M, K, nodes, root=edge, frames={"corner": corner}, count=5, damping=0.01, faces=faces)
print(plate)

column = lw.Builder("column")
column.body("post", joint=lw.Revolute(), mass=2.0, tensor=(0.1, 0.1, 0.1))
column.flexible("plate", plate, "post")
column.body("load", "plate.corner", mass=0.3)
robot = lw.Dynamics(column.model())
rest = robot.equilibrium(robot.neutral())
print(f"the loaded corner sags by {1e3 * abs(robot.pose(rest.q, 'load')[2, 3]):.1f} mm")
print("frequencies at rest in Hz:", *(f"{x:.2f}" for x in robot.modes(rest).frequencies if x > 1e-3))

push = np.zeros(robot.nv)
push[0] = 4.0
run = lw.simulate(robot, (rest.q, np.zeros(robot.nv)), until=2.0, control=lambda t, q, v: push if t < 0.5 else -push * (t < 1.0))
print(f"it turns by {np.degrees(run.q[-1, 0]):.0f} degrees")
if "--film" in sys.argv:
    print(lw.movie(run, "plate.gif", fps=15, size=(3.2, 2.4), trace=["load"], elevation=25, color="displacement"))
