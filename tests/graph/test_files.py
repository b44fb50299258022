"""Tests of graph files: round trips keep every bit, and damaged files are refused."""

import io
import os
import pickle
from dataclasses import replace

import numpy as np
import pytest
from graph_checks import assert_equal
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from nnk_image import ImageGraph, bilateral_graph, image_graph

RNG = np.random.default_rng(12)
IMAGE = RNG.random((5, 6))
MASK = RNG.random((5, 6)) < 0.8
GRAPHS = {
    "nnk": image_graph(IMAGE, 5),
    "directed": image_graph(IMAGE, 5, directed=True),
    "bilateral": bilateral_graph(IMAGE, 5),
    "masked": image_graph(IMAGE, 5, mask=MASK),
    "float32": image_graph(IMAGE.astype(np.float32), 5),
    "color": image_graph(RNG.integers(0, 9, (3, 4, 5)), sigma_f=2.0, channel_axis=0),
    "underflow": image_graph((IMAGE > 0.5) * 1e4, sigma_f=1.0),
    "no edges": image_graph(IMAGE[:1, :1]),
    "volume": image_graph(RNG.random((4, 5, 6)), (3, 5, 5), spacing=(2, 1, 1)),
}
FIELDS = ("shape", "kind", "window", "sigma_d", "sigma_f", "directed")
CSR = ("indptr", "indices", "data")


def assert_same_graph(one, two):
    assert_equal(one.adjacency, two.adjacency)
    for name in (*FIELDS, "spacing"):
        assert getattr(one, name) == getattr(two, name)
        assert type(getattr(one, name)) is type(getattr(two, name))
    np.testing.assert_array_equal(one.valid, two.valid)


# --- round trips -------------------------------------------------------------------------


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_round_trip(graph, tmp_path):
    for path in (tmp_path / "graph.npz", str(tmp_path / "no suffix")):
        graph.save(path)
        back = ImageGraph.load(path)
        assert_same_graph(back, graph)
        np.testing.assert_array_equal(back.degrees, graph.degrees, strict=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph.npz", "no suffix"]


# --- saving ------------------------------------------------------------------------------


def test_saving_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "graph.npz"
    GRAPHS["nnk"].save(path)

    def savez(file, **arrays):
        file.write(b"half a fi")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", savez)
    with pytest.raises(KeyboardInterrupt):
        GRAPHS["masked"].save(path)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["graph.npz"]
    assert_same_graph(ImageGraph.load(path), GRAPHS["nnk"])


def test_names_that_cannot_be_saved_to_are_refused(tmp_path):
    for name, says in (
        ("", "is a folder"),
        ("missing/graph.npz", "does not exist"),
        ("graph.mat", r"scipy\.io\.savemat"),
    ):
        with pytest.raises(ValueError, match=says):
            GRAPHS["nnk"].save(tmp_path / name)
    assert not list(tmp_path.iterdir())


# --- files that are not graphs -----------------------------------------------------------


def refusal(path):
    """Check that a file is refused in one line that names it, and return the message."""
    with pytest.raises(ValueError, match="graph file") as caught:
        ImageGraph.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def arrays_of(graph):
    """Return the arrays in the file of a graph."""
    parts = {name: getattr(graph, name) for name in (*FIELDS, "valid", "spacing")}
    parts |= {name: getattr(graph.adjacency, name) for name in CSR}
    parts["format"] = "nnk_image.ImageGraph 1"
    return {name: np.asarray(part) for name, part in parts.items() if part is not None}


def crafted(folder, graph=GRAPHS["nnk"], /, without=(), save=np.savez, **changed):
    """Write a graph file with some arrays changed or left out, and return its path."""
    path = folder / "crafted.npz"
    arrays = {name: a for name, a in (arrays_of(graph) | changed).items() if name not in without}
    save(path, **arrays)
    return path


def altered(**edits):
    """Return some of the CSR arrays of a graph, changed by functions."""
    matrix = GRAPHS["nnk"].adjacency
    return {name: edit(getattr(matrix, name).copy()) for name, edit in edits.items()}


def put(position, value):
    """Return a function that changes one entry of an array."""

    def edit(array):
        array[position] = value
        return array

    return edit


def edges(*pairs):
    """Return the CSR arrays of a graph of 5x6 pixels with these edges only."""
    matrix = csr_array((np.ones(len(pairs)), np.transpose(pairs)), (30, 30))
    return {name: getattr(matrix, name) for name in CSR}


def test_crafted_file_without_changes_is_a_graph(tmp_path):
    for graph in GRAPHS.values():
        assert_same_graph(ImageGraph.load(crafted(tmp_path, graph)), graph)


DAMAGE = {
    "format of another kind": ({"format": np.array("other 1")}, "'other 1', not 'nnk_image"),
    "shape of other pixels": ({"shape": np.array([6, 6])}, "index pointer"),
    "three sides": ({"shape": np.array([1, 1, 30])}, "an edge leaves the window"),
    "unknown member": ({"volid": MASK}, "'volid', which no graph file has"),
    "mask of another shape": ({"valid": np.ones((6, 5), bool)}, "mask does not fit"),
    "masked pixel with edges": ({"valid": np.arange(30).reshape(5, 6) > 0}, "mask"),
    "indptr of floats": (altered(indptr=lambda a: a.astype(float)), "indptr is float64"),
    "foreign byte order": (altered(indices=lambda a: a.astype(">i4")), "indices are >i4"),
    "mixed index types": (altered(indices=lambda a: a.astype(np.int64)), "indices are int64"),
    "indices with two axes": (altered(indices=lambda a: a[None]), ""),
    "indptr too short": (altered(indptr=lambda a: a[:-1]), "index pointer"),
    "indptr not from zero": (altered(indptr=put(0, 1)), "index pointer"),
    "indptr descending": (altered(indptr=put(3, 0)), ""),
    "fewer weights": (altered(data=lambda a: a[:-1]), ""),
    "index outside": (altered(indices=put(4, 30)), "must be < 30"),
    "negative index": (altered(indices=put(4, -1)), ""),
    "infinite weight": (altered(data=put(2, np.inf)), "weight is negative or not finite"),
    "columns out of order": (altered(indices=lambda a: put([0, 1], a[[1, 0]])(a)), "not ascending"),
    "self loop": (altered(indices=put(0, 0)), "self loop"),
    "edge outside the window": (edges((0, 3), (3, 0)), "leaves the window"),
    "directed edge outside the window": (
        edges((0, 3)) | {"directed": np.array(True)},
        "leaves the window",
    ),
    "edge one way": (edges((0, 1)), "must be symmetric"),
    "weights that differ": (altered(data=put(2, 0.25)), "must be symmetric"),
}


@pytest.mark.parametrize(("changed", "says"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_graphs_are_refused(changed, says, tmp_path):
    assert says in refusal(crafted(tmp_path, **changed))


@pytest.mark.parametrize("name", [*FIELDS, *CSR, "format"])
def test_missing_arrays_are_named(name, tmp_path):
    assert name in refusal(crafted(tmp_path, without=[name]))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"edges": csr_array(np.ones((30, 30)) - np.eye(30))}, "leaves the window, 5"),
        ({"edges": csr_array((29, 29))}, r"matrix of \(29, 29\) for an image of shape \(5, 6\)"),
        ({"edges": GRAPHS["nnk"].adjacency, "shape": (6, 5)}, "leaves the window"),
        ({"edges": GRAPHS["nnk"].adjacency, "window": 3}, "leaves the window, 3"),
        ({"shape": (6, 5)}, r"image of shape \(5, 6\) and window 5, not \(6, 5\)"),
        ({"window": 3}, "and window 5, not .* and 3"),
    ],
)
def test_parts_that_contradict_each_other_are_refused(changed, says):
    """The C core wrote outside its arrays."""
    with pytest.raises(ValueError, match=says):
        replace(GRAPHS["nnk"], **changed)


def test_directed_edges_make_no_undirected_graph():
    with pytest.raises(ValueError, match="these edges are directed; build"):
        replace(GRAPHS["directed"], directed=False)


class Trap:
    """An object that runs code when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("trap-was-sprung",)


@pytest.mark.parametrize("name", ["shape", "kind", "valid", "indices", "data"])
def test_pickled_objects_are_not_executed(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refusal(crafted(tmp_path, **{name: np.array([Trap()], dtype=object)}))
    (tmp_path / "pickle.npz").write_bytes(pickle.dumps(Trap()))
    refusal(tmp_path / "pickle.npz")
    assert not (tmp_path / "trap-was-sprung").exists()


def npy_of_length(n):
    """Return a .npy file whose header claims n float64 numbers, but that has only one."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (n,)}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(8)


EMPTY_ZIP = b"PK\x05\x06" + bytes(18)


@pytest.mark.parametrize("content", [b"", b"no graph at all", npy_of_length(1), EMPTY_ZIP])
def test_files_of_other_kinds_are_refused(content, tmp_path):
    path = tmp_path / "alien.npz"
    path.write_bytes(content)
    refusal(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(TypeError, match="int"):  # file descriptors are not accepted
        ImageGraph.load(0)
    with pytest.raises(FileNotFoundError, match=r"missing\.npz"):
        ImageGraph.load(tmp_path / "missing.npz")
    with pytest.raises((OSError, ValueError), match=tmp_path.name):
        ImageGraph.load(tmp_path)


both_ways_of_saving = pytest.mark.parametrize("save", [np.savez, np.savez_compressed])


@both_ways_of_saving
def test_truncated_files_are_refused(save, tmp_path):
    content = crafted(tmp_path, GRAPHS["masked"], save=save).read_bytes()
    path = tmp_path / "truncated.npz"
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        refusal(path)


@both_ways_of_saving
@given(data=st.data())
def test_flipped_bits_are_refused_or_harmless(save, data, tmp_path_factory):
    graph = GRAPHS["masked"]
    path = crafted(tmp_path_factory.getbasetemp(), graph, save=save)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    try:
        back = ImageGraph.load(path)
    except ValueError as error:
        if not str(error).startswith(f"{path}: "):
            raise
    else:  # the bits belonged to the archive, not to the graph
        assert_same_graph(back, graph)
