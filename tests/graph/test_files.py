"""Tests of graph files: round trips keep every bit, and damaged files are refused."""

import io
import os
import pickle
import stat
import tracemalloc
import zipfile

import numpy as np
import pytest
from graph_checks import assert_equal
from hypothesis import given
from hypothesis import strategies as st
from on_posix import not_as_root
from random_images import masked_images, options

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
}
FIELDS = ("shape", "kind", "window", "sigma_d", "sigma_f", "directed", "n_underflow")


def assert_same_graph(one, two):
    assert_equal(one.adjacency, two.adjacency)
    for name in FIELDS:
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


@given(masked_images(widths=(1, 70)), st.booleans())
def test_random_round_trips(tmp_path_factory, masked, directed):
    image, mask = masked
    path = tmp_path_factory.getbasetemp() / "random.npz"
    graph = image_graph(image, 5, sigma_f=9.0, mask=mask, directed=directed, **options(image))
    graph.save(path)
    assert_same_graph(ImageGraph.load(path), graph)


# --- saving ------------------------------------------------------------------------------


def test_reading_takes_little_more_memory_than_the_graph(tmp_path):
    graph = bilateral_graph(np.zeros((80, 80)), sigma_f=1)
    graph.save(tmp_path / "graph.npz")
    tracemalloc.start()
    matrix = ImageGraph.load(tmp_path / "graph.npz").adjacency
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * (matrix.data.nbytes + matrix.indices.nbytes)


def test_saving_is_all_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "graph.npz"
    GRAPHS["masked"].save(path)
    GRAPHS["nnk"].save(path)

    def savez(file, **arrays):
        file.write(b"half a fi")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", savez)
    for target in (path, tmp_path / "new.npz"):
        with pytest.raises(KeyboardInterrupt):
            GRAPHS["masked"].save(target)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["graph.npz"]
    assert_same_graph(ImageGraph.load(path), GRAPHS["nnk"])


def test_saving_to_a_folder_or_below_a_missing_one_is_refused(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        GRAPHS["nnk"].save(tmp_path)
    with pytest.raises(ValueError, match="does not exist"):
        GRAPHS["nnk"].save(tmp_path / "missing" / "graph.npz")


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
    file = io.BytesIO()
    parts = {name: getattr(graph, name) for name in FIELDS}
    if graph.valid is not None:
        parts["valid"] = graph.valid
    np.savez(file, **parts)
    file.seek(0)
    with np.load(file) as arrays:
        parts = dict(arrays)
    csr = {name: getattr(graph.adjacency, name) for name in ("indptr", "indices", "data")}
    return parts | csr | {"format": np.array("nnk_image.ImageGraph 1")}


def crafted(folder, graph=GRAPHS["nnk"], /, without=(), **changed):
    """Write a graph file with some arrays changed or left out, and return its path."""
    path = folder / "crafted.npz"
    arrays = {name: a for name, a in (arrays_of(graph) | changed).items() if name not in without}
    np.savez(path, **arrays)
    return path


def altered(graph=GRAPHS["nnk"], **edits):
    """Return CSR arrays of a graph, each one replaced or changed by a function."""
    arrays = {}
    for name, edit in edits.items():
        arrays[name] = getattr(graph.adjacency, name).copy()
        arrays[name] = edit(arrays[name]) if callable(edit) else edit
    return arrays


def put(position, value):
    """Return a function that changes one entry of an array."""

    def edit(array):
        array[position] = value
        return array

    return edit


def far_edge(both_ways):
    """Return CSR arrays of a graph of 5x6 pixels whose only edge leaves the window of 5."""
    indptr = np.zeros(31, np.int32)
    indptr[1:] = 1
    if both_ways:
        indptr[4:] = 2
    indices = np.array([3, 0][: 1 + both_ways], np.int32)
    return {"indptr": indptr, "indices": indices, "data": np.ones(1 + both_ways)}


def test_crafted_file_without_changes_is_a_graph(tmp_path):
    for graph in GRAPHS.values():
        assert_same_graph(ImageGraph.load(crafted(tmp_path, graph)), graph)


DAMAGE = {
    "format of another kind": ({"format": np.array("other 1")}, "'other 1', not 'nnk_image"),
    "shape of no pixels": ({"shape": np.array([0, 30])}, "shape (0, 30)"),
    "shape of other pixels": ({"shape": np.array([6, 6])}, "index pointer"),
    "huge shape": ({"shape": np.array([2**40, 2**40])}, ""),
    "three sides": ({"shape": np.array([1, 1, 30])}, "an edge leaves the window"),
    "five sides": ({"shape": np.array([5, 3, 2, 1, 1])}, "shape (5, 3, 2, 1, 1)"),
    "one side": ({"shape": np.array([30])}, "shape (30,)"),
    "sides of other axes": ({"window": np.array([3, 3, 3])}, "window has 3 sides, the image 2"),
    "negative spacing": ({"spacing": np.array([1.0, -1.0])}, "spacing=-1"),
    "unknown kind": ({"kind": np.array("knn")}, "kind='knn'"),
    "even window": ({"window": np.array(4)}, "window=4"),
    "unknown member": ({"volid": MASK}, "'volid', which no graph file has"),
    "width NaN": ({"sigma_f": np.array(np.nan)}, "sigma_f=nan"),
    "two widths": ({"sigma_f": np.array([1.0, 2.0])}, ""),
    "negative underflow": ({"n_underflow": np.array(-1)}, "n_underflow"),
    "mask of another shape": ({"valid": np.ones((6, 5), bool)}, "mask does not fit"),
    "mask of numbers": ({"valid": np.ones((5, 6))}, "mask does not fit"),
    "masked pixel with edges": ({"valid": np.arange(30).reshape(5, 6) > 0}, "mask"),
    "indptr of floats": (altered(indptr=lambda a: a.astype(float)), "indptr is float64"),
    "indices of bytes": (altered(indices=lambda a: a.astype(np.int8)), "indices are int8"),
    "foreign byte order": (altered(indices=lambda a: a.astype(">i4")), "indices are >i4"),
    "mixed index types": (altered(indices=lambda a: a.astype(np.int64)), "indices are int64"),
    "indices with two axes": (altered(indices=lambda a: a[None]), ""),
    "complex weights": (altered(data=lambda a: a * 1j), "weights are complex128"),
    "half precision weights": (altered(data=lambda a: a.astype(np.float16)), "weights are float16"),
    "scalar weights": ({"data": np.array(1.0)}, ""),
    "indptr too short": (altered(indptr=lambda a: a[:-1]), "index pointer"),
    "indptr not from zero": (altered(indptr=put(0, 1)), "index pointer"),
    "indptr beyond the end": (altered(indptr=put(-1, 10**6)), ""),
    "indptr descending": (altered(indptr=put(3, 0)), ""),
    "indptr negative": (altered(indptr=put(3, -1)), ""),
    "fewer weights": (altered(data=lambda a: a[:-1]), ""),
    "more weights": (altered(data=lambda a: np.append(a, 0.5)), ""),
    "index outside": (altered(indices=put(4, 30)), "indices"),
    "index far outside": (altered(indices=put(4, 2**31 - 1)), "indices"),
    "negative index": (altered(indices=put(4, -1)), ""),
    "infinite weight": (altered(data=put(2, np.inf)), "weight is not a positive number"),
    "negative weight": (altered(data=put(2, -0.5)), "weight is not a positive number"),
    "explicit zero": (altered(data=put(2, 0.0)), "weight is not a positive number"),
    "columns out of order": (altered(indices=lambda a: put([0, 1], a[[1, 0]])(a)), "not ascending"),
    "column twice": (altered(indices=lambda a: put(1, a[0])(a)), "not ascending"),
    "self loop": (altered(indices=put(0, 0)), "self loop"),
    "edge outside the window": (far_edge(both_ways=True), "leaves the window"),
    "edge one way": (
        {"indptr": np.r_[0, np.ones(30)].astype(np.int32)}
        | {"indices": np.array([1], np.int32), "data": np.ones(1)},
        "must be symmetric",
    ),
    "weights that differ": (altered(data=put(2, 0.25)), "must be symmetric"),
}


@pytest.mark.parametrize(("changed", "says"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_graphs_are_refused(changed, says, tmp_path):
    assert says in refusal(crafted(tmp_path, **changed))


def test_edges_outside_the_window_of_a_directed_graph(tmp_path):
    arrays = far_edge(both_ways=False) | {"directed": np.array(True)}
    assert "leaves the window" in refusal(crafted(tmp_path, **arrays))


@pytest.mark.parametrize("name", [*FIELDS, "format", "indptr", "indices", "data"])
def test_missing_arrays_are_named(name, tmp_path):
    assert name in refusal(crafted(tmp_path, without=[name]))


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


def archive(**members):
    """Return a zip file of the members, bytes or arrays; `__` in a name stands for a dot."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        for name, content in members.items():
            if isinstance(content, bytes):
                out.writestr(name.replace("__", "."), content)
            else:
                with out.open(f"{name}.npy", "w") as entry:
                    np.lib.format.write_array(entry, content)
    return file.getvalue()


def graph_with(**members):
    """Return a graph file in which the members replace the arrays of the same name."""
    replaced = {name.partition("__")[0] for name in members}
    arrays = arrays_of(GRAPHS["nnk"])
    return archive(**{name: arrays[name] for name in arrays.keys() - replaced}, **members)


def npy_of_length(n):
    """Return a .npy file whose header claims n float64 numbers, but that has only one."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (n,)}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(8)


OTHER_KINDS = {
    "empty file": b"",
    "text": b"no graph at all",
    "one .npy array": npy_of_length(1),
    "empty zip": archive(),
    "bytes for an array": graph_with(indices=b"\x01\x02\x03"),
    "text for an array": graph_with(data__npy=b"1 2 3"),
    "array longer than its file": graph_with(data__npy=npy_of_length(1000)),
    "array of negative length": graph_with(data__npy=npy_of_length(-1)),
}


@pytest.mark.parametrize("content", OTHER_KINDS.values(), ids=OTHER_KINDS)
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


@not_as_root
def test_unreadable_files(tmp_path):
    path = crafted(tmp_path)
    path.chmod(stat.S_IWUSR)
    with pytest.raises((OSError, ValueError), match=r"[Pp]ermission"):
        ImageGraph.load(path)


def saved(graph, compression):
    """Return the bytes of a graph file."""
    file = io.BytesIO()
    save = np.savez_compressed if compression else np.savez
    save(file, **arrays_of(graph))
    return file.getvalue()


@pytest.mark.parametrize("compression", [False, True], ids=["plain", "compressed"])
def test_truncated_files_are_refused(compression, tmp_path):
    content = saved(GRAPHS["masked"], compression)
    path = tmp_path / "truncated.npz"
    for length in range(0, len(content), 97):
        path.write_bytes(content[:length])
        refusal(path)


@pytest.mark.parametrize("compression", [False, True], ids=["plain", "compressed"])
@given(data=st.data())
def test_flipped_bits_are_refused_or_harmless(compression, data, tmp_path_factory):
    graph = GRAPHS["masked"]
    content = bytearray(saved(graph, compression))
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path_factory.getbasetemp() / "flipped.npz"
    path.write_bytes(content)
    try:
        back = ImageGraph.load(path)
    except ValueError as error:
        if not str(error).startswith(f"{path}: "):
            raise
    else:  # the bits belonged to the archive, not to the graph
        assert_same_graph(back, graph)


def test_the_name_of_a_matlab_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"scipy\.io\.savemat"):
        GRAPHS["nnk"].save(tmp_path / "g.mat")
    assert not list(tmp_path.iterdir())
