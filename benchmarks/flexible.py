"""Flexible bodies: cost of forward dynamics in bodies and modes, and beside Exudyn's floating-frame bodies on one finite-element model.

Exudyn (pip install exudyn) is asked for the mass matrix and the forces of its bodies, which is less than accelerations: its joints and the
solution of the equations are not in it. Then both simulate the same fall of a two-link arm.
"""

import time
import warnings

import numpy as np
import scipy.sparse as sparse

import linkwork as lw

LENGTH, WIDTH, CELLS, E, NU, RHO = 1.0, 0.03, 40, 1e9, 0.3, 1000.0
GRAVITY = (0.0, -9.81, 0.0)


def best(function, repeats: int) -> float:
    """The least of the times of some calls, seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    chains()
    modes()
    beside_exudyn()


def chain(n: int, body) -> lw.Model:
    b = lw.Builder(f"chain{n}")
    for k in range(n):
        b.flexible(f"link{k}", body, f"link{k - 1}.tip" if k else None, None, lw.Revolute(axis=(0, 1, 0) if k % 2 else (0, 0, 1)))
    return b.model()


def beam(count: int, **options):
    return lw.FlexibleBody.beam(1.0, lw.sections.rectangle(0.02, 0.03, lw.sections.STEEL), elements=10, count=count, **options)


def chains() -> None:
    """Operations and time of forward dynamics, links of 6 modes."""
    body = beam(6)
    print("links  velocities  operations  per link   µs/sample in a batch   µs one call")
    for n in (2, 4, 8, 16):
        robot = lw.Dynamics(chain(n, body), rolled=False)
        operations = sum(robot.program("forward_dynamics").operations.values())
        Q, V = robot.random_state((1024,), seed=0)
        robot.forward_dynamics(Q, V, V)
        batch = best(lambda robot=robot, Q=Q, V=V: robot.forward_dynamics(Q, V, V), 10) / len(Q)
        single = best(lambda robot=robot, q=Q[0], v=V[0]: robot.forward_dynamics(q, v, v), 500)
        print(f"{n:5d} {robot.nv:11d} {operations:11d} {operations / n:9.0f} {1e6 * batch:22.2f} {1e6 * single:13.1f}")
    print("the same in plain NumPy")
    for n in (25, 50, 100):
        robot = lw.Dynamics(chain(n, body), compiled=False)
        q, v = robot.random_state(seed=0)
        print(f"{n:5d} {robot.nv:11d} {1e3 * best(lambda robot=robot, q=q, v=v: robot.forward_dynamics(q, v, v), 3):33.0f} ms")


def modes() -> None:
    """Operations of a two-link arm by the number of modes."""
    print("modes of each of two links: operations of forward dynamics, bending in one plane, and in all directions")
    for count in (1, 2, 4, 8):
        programs = (lw.Dynamics(chain(2, beam(count, directions=x))).program("forward_dynamics") for x in ("y", "xyzt"))
        planar, spatial = (sum(x.operations.values()) for x in programs)
        print(f"{count:5d} {planar:8d} {spatial:8d}")


def bricks():
    """Positions, mass and stiffness matrices of a beam of one row of brick elements."""
    corners = 2 * np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) - 1
    h = np.array([LENGTH / CELLS, WIDTH, WIDTH]) / 2
    lam, mu = E * NU / (1 + NU) / (1 - 2 * NU), E / 2 / (1 + NU)
    D = np.diag([2 * mu] * 3 + [mu] * 3)
    D[:3, :3] += lam
    K, M = np.zeros((24, 24)), np.zeros((8, 8))
    for s in corners / np.sqrt(3):
        N = np.prod(1 + corners * s, 1) / 8
        slope = np.stack([corners[:, d] * np.prod(np.delete(1 + corners * s, d, 1), 1) / 8 / h[d] for d in range(3)], -1)
        B = np.concatenate([[[x, 0, 0], [0, y, 0], [0, 0, z], [y, x, 0], [0, z, y], [z, 0, x]] for x, y, z in slope], 1)
        K, M = K + B.T @ D @ B * np.prod(h), M + RHO * np.outer(N, N) * np.prod(h)
    x, y, z = np.meshgrid(np.linspace(0, LENGTH, CELLS + 1), [-WIDTH / 2, WIDTH / 2], [-WIDTH / 2, WIDTH / 2], indexing="ij")
    positions = np.stack([x.ravel(), y.ravel(), z.ravel()], -1)
    stiffness, mass = sparse.lil_array((3 * len(positions),) * 2), sparse.lil_array((len(positions),) * 2)
    for i in range(CELLS):
        nodes = np.arange(4 * i, 4 * i + 8)
        freedoms = (3 * nodes[:, None] + np.arange(3)).ravel()
        stiffness[np.ix_(freedoms, freedoms)] += K
        mass[np.ix_(nodes, nodes)] += M
    return positions, sparse.csr_matrix(sparse.kron(mass, sparse.eye_array(3))), sparse.csr_matrix(stiffness)


def beside_exudyn(count: int = 2, until: float = 0.5) -> None:
    """A two-link arm, each link with 6 static shapes of its tip and some normal modes, falls from the horizontal."""
    positions, mass, stiffness = bricks()
    left, right = list(range(4)), list(range(len(positions) - 4, len(positions)))
    shapes = {"root": left, "interfaces": {"tip": right}, "modes": "craig-bampton", "count": count}
    body = lw.FlexibleBody.of_matrices(mass, stiffness, positions, **shapes)
    b = lw.Builder("arm", gravity=GRAVITY).flexible("a", body, joint=lw.Revolute()).flexible("b", body, "a.tip", None, lw.Revolute())
    robot = lw.Dynamics(b.model())
    q, v = robot.random_state(seed=0)
    Q, V = robot.random_state((4096,), seed=0)
    robot.forward_dynamics(Q, V, V)
    batch = best(lambda: robot.forward_dynamics(Q, V, V), 20) / len(Q)
    single = best(lambda: robot.forward_dynamics(q, v, v), 1000)
    operations = sum(robot.program("forward_dynamics").operations.values())
    print(f"two links of {len(positions)} nodes and {body.n} modes: {operations} operations, "
          f"{1e6 * batch:.2f} µs a sample in a batch, {1e6 * single:.1f} µs one call")  # fmt: skip
    start = robot.neutral(), np.zeros(robot.nv)
    settings = {"until": until, "method": "rk45", "rtol": 1e-6, "atol": 1e-8}
    run = lw.simulate(robot, start, **settings)
    seconds = best(lambda: lw.simulate(robot, start, **settings), 2)
    print(f"run of {until} s: {seconds:.3f} s, {run.steps} steps; tip at {np.round(robot.pose(run.q[-1], 'b.tip')[:2, 3], 4)}")
    try:
        import exudyn
    except ImportError:
        print("Exudyn is not there: pip install exudyn")
        return
    theirs(exudyn, positions, mass, stiffness, left, right, count, until, batch, single, seconds)


def theirs(exudyn, positions, mass, stiffness, left, right, count: int, until: float, batch: float, single: float, seconds: float) -> None:
    from exudyn import FEM, utilities

    warnings.simplefilter("ignore")
    mesh = FEM.FEMinterface()
    mesh.nodes["Position"], mesh.massMatrix, mesh.stiffnessMatrix = positions, mass, stiffness
    rigid = FEM.HCBstaticModeSelection.RBE2
    mesh.ComputeHurtyCraigBamptonModes([left, right], nEigenModes=count, useSparseSolver=True, computationMode=rigid)
    system = exudyn.SystemContainer().AddSystem()
    reduced = FEM.ObjectFFRFreducedOrderInterface(mesh)
    made = [reduced.AddObjectFFRFreducedOrder(system, positionRef=[k * LENGTH, 0, 0], gravity=list(GRAVITY)) for k in (0, 1)]
    bodies = [x["oFFRFreducedOrder"] for x in made]
    ground = system.AddMarker(utilities.MarkerBodyRigid(bodyNumber=system.AddObject(utilities.ObjectGround())))

    def end(body, nodes):
        return system.AddMarker(utilities.MarkerSuperElementRigid(bodyNumber=body, meshNodeNumbers=nodes, weightingFactors=np.ones(4) / 4))

    for pair in ((ground, end(bodies[0], left)), (end(bodies[0], right), end(bodies[1], left))):
        system.AddObject(utilities.GenericJoint(markerNumbers=list(pair), constrainedAxes=[1, 1, 1, 1, 1, 0]))
    what = exudyn.OutputVariableType.Position
    tips = [system.AddSensor(utilities.SensorSuperElement(bodyNumber=bodies[1], meshNodeNumber=i, outputVariableType=what)) for i in right]
    system.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = 500, until
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.solutionSettings.writeSolutionToFile = False
    settings.timeIntegration.verboseMode = 0
    solver = exudyn.MainSolverImplicitSecondOrder()
    solver.InitializeSolver(system, settings)

    def right_hand_side():
        solver.ComputeMassMatrix(system)
        solver.ComputeODE2RHS(system)

    peer = best(right_hand_side, 1000)
    start = time.perf_counter()
    system.SolveDynamic(settings)
    run = time.perf_counter() - start
    tip = np.mean([system.GetSensorValues(x) for x in tips], 0)
    ratios = f"{peer / batch:.0f} times a sample in a batch here, {peer / single:.1f} times one call"
    print(f"Exudyn {exudyn.__version__}: mass matrix and forces {1e6 * peer:.1f} µs, {ratios}")
    print(f"its run of 500 steps: {run:.3f} s, {run / seconds:.1f} times as long; tip at {np.round(tip[:2], 4)}")


if __name__ == "__main__":
    main()
