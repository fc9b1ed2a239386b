"""Bodies in a fluid: their blocks and rates, from those of the rigid tree (From and others).

The fluid moves everywhere with a constant velocity, S(k) in the axes of a node; V_r = V − S is the velocity through it, S̊ = −V~ S. Beside
gravity, Kirchhoff's equations with an added mass M_a, drag and buoyancy are

    f = −(M_a (α − S̊) + V̄_r M_a V_r) − D V_r − D₂ |V_r| V_r + ρ volume (−g)

The sweeps have M + M_a for M, b = V̄ (M + M_a) V, and a world that accelerates with −g, which neither M_a nor what is displaced feels as
weight: the rest goes to b.
"""

import numpy as np

from ..lie.scalars import like
from ..model import Fluid, Model
from ..spatial import bar, inertia, phi, tilde
from ..sweeps import scatter, velocities
from .derived import Producer


class FluidForces(Producer):
    """Added mass, drag, buoyancy and current of the fluid of a model."""

    title = "the fluid"

    def __init__(self, model: Model, fluid: Fluid):
        self.fluid = fluid
        self.places = [model.place(x.body) for x in fluid.immersed]

    def _each(self, nodes):
        """(node, shift from where the fluid is described, its data) of immersed bodies that move."""
        for x, (body, pose) in zip(self.fluid.immersed, self.places):
            k, T = nodes.on_node(body, pose @ x.at)
            if k != nodes.tree.world:
                yield k, phi(T), x

    def _summed(self, nodes, matrix):
        """Σ φ X φ* of matrices of the immersed bodies, node by node."""
        out = nodes.tree.constant(nodes.still @ nodes.still.mT)
        for k, shift, x in self._each(nodes):
            out[k] = out[k] + shift @ like(np.asarray(matrix(x)), shift) @ shift.mT
        return out

    def displaced(self, x):
        """The inertia of a point with the mass of the displaced fluid: its weight is the buoyancy."""
        return inertia(np.array(self.fluid.density * x.volume), np.array(x.center), np.zeros((3, 3)))

    def blocks(self, nodes, s, q):
        """M + M_a."""
        added = self._summed(nodes, lambda x: x.added_mass)
        return s._replace(M={k: s.M[k] + added[k] for k in s.tree.base_to_tips()})

    def rates(self, nodes, s, r, q, v):
        """b + M_a V~ S + V̄_r M_a V_r − V̄ M_a V + D V_r + D₂ |V_r| V_r − (M_a + displaced) α_g, α_g the acceleration of the world."""
        tree, none = s.tree, s.tree.constant(nodes.still)
        added, displaced = self._summed(nodes, lambda x: x.added_mass), self._summed(nodes, self.displaced)
        current = like(np.array([0.0, 0.0, 0.0, *self.fluid.current])[:, None], nodes.gravity)
        V, S, fall = velocities(s, tree.split(v), nodes.still), scatter(tree, s.A, none, current), scatter(tree, s.A, none, r.base)
        b, through = tree.slots(2)
        for k in tree.base_to_tips():
            through[k] = V[k] - S[k]
            kirchhoff  = added[k] @ (tilde(V[k][..., 0]) @ S[k]) + bar(through[k][..., 0]) @ (added[k] @ through[k])
            b[k]       = r.b[k] + kirchhoff - bar(V[k][..., 0]) @ (added[k] @ V[k]) - (added[k] + displaced[k]) @ fall[k]
        for k, shift, x in self._each(nodes):
            u    = shift.mT @ through[k]
            drag = like(np.asarray(x.drag), u) @ u + like(np.asarray(x.quadratic_drag), u) @ (np.abs(u) * u)
            b[k] = b[k] + shift @ drag
        return r._replace(b=b)

    def weighed(self, nodes):
        """[m c; m] of each node less that of what it displaces."""
        out = list(nodes.weighed)
        for x, (body, pose) in zip(self.fluid.immersed, self.places):
            k, T = nodes.on_node(body, pose @ x.at)
            mass = self.fluid.density * x.volume
            out[k] = out[k] - T @ like(mass * np.array([*x.center, 1.0])[:, None], nodes.gravity)
        return out
