"""Finite elements from files."""

import meshio
import numpy as np
import pytest
import scipy.io
import scipy.sparse

import linkwork as lw
from linkwork.errors import MissingFileError, ModelError
from linkwork.flexible import BeamElements


@pytest.fixture
def mesh():
    return BeamElements(np.linspace(0, 1, 6), lw.sections.circle(0.01, lw.sections.STEEL))


def test_matrices_and_nodes_of_every_format_make_the_same_body(mesh, tmp_path):
    own = lw.FlexibleBody.of_matrices(mesh.M, mesh.K, mesh.positions, count=3, frames={"tip": 5})
    scipy.io.mmwrite(tmp_path / "m.mtx", scipy.sparse.coo_array(mesh.M), symmetry="symmetric", precision=17)
    np.save(tmp_path / "k.npy", mesh.K)
    scipy.sparse.save_npz(tmp_path / "m.npz", scipy.sparse.csr_array(mesh.M))
    np.save(tmp_path / "x.npy", mesh.positions)
    np.savetxt(tmp_path / "x.csv", mesh.positions, delimiter=",")
    meshio.write_points_cells(tmp_path / "x.vtk", mesh.positions, {"line": np.array([[i, i + 1] for i in range(5)])})
    for m, x in (("m.mtx", "x.npy"), ("m.npz", "x.csv"), ("m.mtx", "x.vtk")):
        body = lw.load_flexible(tmp_path / m, tmp_path / "k.npy", tmp_path / x, count=3, frames={"tip": 5})
        assert np.allclose(body.undeformed, own.undeformed, rtol=1e-9, atol=1e-12)


def test_what_is_wrong_with_a_file_is_said(mesh, tmp_path):
    np.save(tmp_path / "k.npy", mesh.K)
    (tmp_path / "bad.mtx").write_text("no matrix")
    (tmp_path / "k.dat").write_text("1")
    (tmp_path / "x.vtk").write_text("no mesh")
    k = tmp_path / "k.npy"
    with pytest.raises(MissingFileError, match="no file"):
        lw.load_flexible(tmp_path / "none.mtx", k, k)
    wrong = ("bad.mtx", "k.npy", "as a matrix"), ("k.dat", "k.npy", "matrix file that is known"), ("k.npy", "x.vtk", "as a mesh")
    for m, x, said in wrong:
        with pytest.raises(ModelError, match=said):
            lw.load_flexible(tmp_path / m, k, tmp_path / x, count=1)
