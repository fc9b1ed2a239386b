"""C for a controller, symbols for a paper: the same equations, written out."""

import linkwork as lw

robot = lw.Dynamics(lw.load("planar_2r"))

source, header = robot.export.c("forward_dynamics", "planar_2r_forward_dynamics")
print(header.read_text())

try:
    M = robot.symbolic("mass_matrix")
except ImportError:
    print("with SymPy installed, the mass matrix would be printed here")
else:
    import sympy

    print(sympy.trigsimp(M[0, 0].expand()))
