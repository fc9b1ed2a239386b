"""Energy, momentum and the centre of mass of a whole mechanism."""


def kinetic_energy(s, V, v):
    """½ Σ V*(k) M(k) V(k) + v*(k) armature(k) v(k)                                      Jain (4.2)."""
    energy = s.tree.slots()
    for k in s.tree.base_to_tips():
        energy[k] = 0.5 * (V[k].mT @ s.M[k] @ V[k] + v[k].mT @ s.armature[k] @ v[k])[..., 0, 0]
    return s.tree.total(energy)


def moment_of_mass(tree, X, moment):
    """Σ T(k) [m c; m](k) in the world, tips to base: the mass and its first moment, X(k) the pose on the parent."""
    total = tree.slots()
    for k in tree.tips_to_base():
        total[k] = moment[k] + tree.sum(X[j] @ total[j] for j in tree.children[k])
    return moment[tree.world] + tree.sum(X[j] @ total[j] for j in tree.children[tree.world])


def momentum(s, V):
    """Spatial momentum about the world's origin, tips to base:  h = Σ A(0,k) M(k) V(k)   Jain, Exercise 4.1."""
    tree, A = s.tree, s.A
    h = tree.slots()
    for k in tree.tips_to_base():
        h[k] = s.M[k] @ V[k] + tree.sum(A[j] @ h[j] for j in tree.children[k])
    return tree.sum(A[j] @ h[j] for j in tree.children[tree.world])
