"""The first `nnk_graph` of a process, in which Ctrl-C is pressed at any time, and a second one."""

import signal

import numpy as np

N_POINTS, N_FEATURES = 2000, 30  # many features: scikit-learn searches the candidates


def main():
    """Print "ready", then "interrupted" if the first call was, then "second call"."""
    points = np.random.default_rng(0).standard_normal((N_POINTS, N_FEATURES))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("ready", flush=True)
    try:
        try:
            import nnk_image

            nnk_image.nnk_graph(points, n_jobs=-1)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    import nnk_image

    assert nnk_image.nnk_graph(points[:200], n_jobs=-1).nnz > 0
    print("second call", flush=True)


if __name__ == "__main__":
    main()
