"""Graphs of points as others construct them, beside the tables of the NNK paper's section 5.2."""


def tables(options):
    """Edges and time, edges against k, label errors, errors against k, eigenmaps."""
    # Here, for the other tables do without scikit-learn.
    try:
        from benchmarks import general_constructions
    except ImportError as error:
        raise SystemExit(
            f"{error}; pip install 'nnk_image[neighbors]' for the table constructions"
        ) from None
    yield from general_constructions.tables(options)
