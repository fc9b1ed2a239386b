"""Where the nodes of a mechanism are and how they move."""

from ..spatial import bar, phi, tilde


def placements(nodes, q):
    """Pose of each node on its parent: the fixed placement of its joint, then the joint's motion (Jain, Algorithm 3.1)."""
    tree, q = nodes.tree, nodes.split(q)
    X = tree.slots()
    for k in tree.base_to_tips():
        X[k] = nodes.fixed[k] @ nodes.groups[k].matrix(q[k])
    return X


def shifts(tree, X):
    """φ(p, k) of every node (Jain, 1.31)."""
    shift = tree.slots()
    for k in tree.base_to_tips():
        shift[k] = phi(X[k])
    return shift


def poses(tree, X, world):
    """Pose of each node in the world, base to tips.

        T(k) = T(p) X(k)
    """
    T = tree.slots()
    T[tree.world] = world
    for k in tree.base_to_tips():
        T[k] = T[tree.parent[k]] @ X[k]
    return T


def velocities(tree, phi, H, v, base):
    """Spatial velocity of each node, base to tips.

        V(k) = φ*(p,k) V(p) + H*(k) v(k)              Jain, Algorithm 3.2
    """
    V = tree.slots()
    V[tree.world] = base
    for k in tree.base_to_tips():
        V[k] = phi[k].mT @ V[tree.parent[k]] + H[k].mT @ v[k]
    return V


def coriolis_accelerations(tree, H, V, v):
    """a(k) = V~(k) H*(k) v(k), for joint maps constant in their own frame (Jain, 5.11 in its own-frame form)."""
    a = tree.slots()
    for k in tree.base_to_tips():
        a[k] = tilde(V[k][..., 0]) @ (H[k].mT @ v[k])
    return a


def gyroscopic_forces(tree, M, V):
    """b(k) = V̄(k) M(k) V(k)                          Jain (2.28)."""
    b = tree.slots()
    for k in tree.base_to_tips():
        b[k] = bar(V[k][..., 0]) @ (M[k] @ V[k])
    return b


def without(tree, b, wrenches):
    """b(k) less the wrench that acts on node k from outside."""
    left = tree.slots()
    for k in tree.base_to_tips():
        left[k] = b[k] - wrenches[k]
    return left
