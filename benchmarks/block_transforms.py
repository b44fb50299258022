"""Block transforms as a codec would use them: bits of the coefficients and of the graph."""

import numpy as np
from scipy.fft import dctn, idctn

import nnk_image
from benchmarks.pictures import bundled_pictures
from benchmarks.timing import Table
from nnk_image.base.geometry import as_blocks

SIZE = 8
"""Height and width of the blocks, in pixels."""

STEP, COARSE = 4, 64
"""Quantizer steps in gray levels: of the picture, and of a coarse picture that is sent first."""

STEPS = ((4, 16), (4, 32), (4, 64), (16, 32), (16, 64), (16, 128))
"""Pairs of both steps, one per row of the second table."""


def tables(options):
    """Yield the tables of bits per pixel: by image, then means over the images by steps."""
    pictures = {p.name: 255 * (p.values - p.values.mean()) for p in bundled_pictures()}
    moments = {name: _blocks(picture).T @ _blocks(picture) for name, picture in pictures.items()}
    table = Table(
        f"Blocks of {SIZE} x {SIZE}, quantizer step {STEP}: bits per pixel",
        {"": "", "DCT": ".2f", "KLT": ".2f", "NNK": ".2f", "edges": ".2f"}
        | {"coarse, DCT": ".2f", "coarse, NNK": ".2f", "coarse, bilateral": ".2f"},
        notes=(
            "Bits: entropy of the quantized values of each coefficient. KLT: of the other images.",
            "NNK: on the graph of the picture itself, which a decoder does not know. edges: "
            "entropy of the list of edges, by offset; the weights would add to that.",
            f"coarse: a DCT at step {COARSE}, then the residual in the given basis. Its graph is "
            "that of the coarse picture, so that nothing else is sent.",
        ),
    )
    rows = []
    for name, picture in pictures.items():
        others = sum(moment for other, moment in moments.items() if other != name)
        rows.append(_row(picture, others))
        table.rows.append(dict(zip(table.columns, (name, *rows[-1]), strict=True)))
    table.rows.append(dict(zip(table.columns, ("mean", *np.mean(rows, axis=0)), strict=True)))
    yield table
    table = Table(
        "Coarse picture and residual: bits per pixel, means over the images",
        {"step": "", "coarse step": "", "DCT only": ".2f"}
        | {"DCT": ".2f", "NNK": ".2f", "bilateral": ".2f"},
    )
    for step, coarse in STEPS:
        bits = [[_bits(_dct(p), step), *_layered(p, step, coarse)] for p in pictures.values()]
        means = (str(step), str(coarse), *np.mean(bits, axis=0))
        table.rows.append(dict(zip(table.columns, means, strict=True)))
    yield table


def _row(picture, others):
    """Return the bits per pixel of one picture; `others` are second moments of the others."""
    klt = _blocks(picture) @ np.linalg.eigh(others)[1]
    graph = _graphs(picture)["NNK"]
    gft = nnk_image.block_gft(picture, graph, SIZE)
    bits = [_bits(c, STEP) for c in (_dct(picture), klt, gft)]
    return [*bits, _edge_bits(graph), *_layered(picture, STEP, COARSE)]


def _layered(picture, step, coarse):
    """Return the bits of a coarse picture and of the residual: by DCT, and on both its graphs."""
    levels = np.rint(_dct(picture) / coarse)
    decoded = _inverse_dct(levels * coarse, picture.shape)
    residual = picture - decoded
    gfts = [nnk_image.block_gft(residual, graph, SIZE) for graph in _graphs(decoded).values()]
    return [_bits(levels, 1) + _bits(c, step) for c in (_dct(residual), *gfts)]


def _graphs(picture):
    return {
        "NNK": nnk_image.image_graph(picture, sigma_f=10),
        "bilateral": nnk_image.bilateral_graph(picture, sigma_f=10),
    }


def _blocks(picture):
    """Return the pixels of each block, shape (number of blocks, SIZE**2)."""
    return as_blocks(picture, SIZE, SIZE).reshape(-1, SIZE**2)


def _dct(picture):
    square = _blocks(picture).reshape(-1, SIZE, SIZE)
    return dctn(square, axes=(1, 2), norm="ortho").reshape(-1, SIZE**2)


def _inverse_dct(coefficients, shape):
    square = idctn(coefficients.reshape(-1, SIZE, SIZE), axes=(1, 2), norm="ortho")
    rows = square.reshape(shape[0] // SIZE, shape[1] // SIZE, SIZE, SIZE).swapaxes(1, 2)
    return rows.reshape(shape)


def _bits(coefficients, step):
    """Return the bits per pixel: the mean over coefficients of the entropy over blocks."""
    levels = np.rint(coefficients.reshape(-1, SIZE**2) / step).astype(int)
    counts = (np.unique(column, return_counts=True)[1] for column in levels.T)
    return np.mean([-(n / n.sum()) @ np.log2(n / n.sum()) for n in counts])


def _edge_bits(graph):
    """Return the bits per pixel of the list of edges in blocks: its entropy, by offset."""
    width = graph.shape[1]
    edges = graph.adjacency.tocoo()
    (y, x), (v, u) = np.divmod(edges.row, width), np.divmod(edges.col, width)
    inside = (y // SIZE == v // SIZE) & (x // SIZE == u // SIZE)
    side = 2 * SIZE - 1
    offsets = ((v - y + SIZE - 1) * side + u - x + SIZE - 1)[inside]
    overlap = SIZE - abs(np.arange(1 - SIZE, SIZE))
    pairs = np.outer(overlap, overlap).ravel() * (graph.n_nodes // SIZE**2)
    linked = np.bincount(offsets, minlength=side**2) / pairs
    both = np.stack([linked, 1 - linked])
    entropy = -(both * np.log2(np.where(both > 0, both, 1))).sum(axis=0)
    return (entropy @ pairs) / 2 / graph.n_nodes  # each pair is counted in both directions
