"""Let each allocation of the C core fail once, in child processes preloading failing_malloc.c."""

import ctypes


def watch(library, core):
    """Return the preloaded library, set to count the allocations of the compiled module `core`."""
    faults = ctypes.CDLL(library)
    with open("/proc/self/maps") as maps:
        ranges = [line.split()[0].split("-") for line in maps if core.__file__ in line]
    ends = [int(address, 16) for pair in ranges for address in pair]
    faults.watch(ctypes.c_size_t(min(ends)), ctypes.c_size_t(max(ends)))
    return faults


def fail_each_allocation(faults, calls):
    """Check that calls raise MemoryError, leak no memory and work afterwards; print their names."""
    for name, call in calls.items():
        call()  # fills caches
        faults.fail(0)
        expected, held = call(), faults.n_held()
        n_allocations = faults.n_asked()
        assert n_allocations > 0, name
        for n in range(1, n_allocations + 1):
            faults.fail(n)
            try:
                call()
            except MemoryError as error:
                if "ran out of memory" not in str(error):
                    raise
            else:
                raise AssertionError(f"{name}: allocation {n} failed without an error")
            assert faults.n_asked() >= n
            faults.fail(0)
            assert faults.n_held() == held, f"{name}: {n} left {faults.n_held() - held} blocks"
            if n < 9 or n % 16 == 0:
                assert call() == expected, (name, n)
        assert call() == expected, name
        print(name, n_allocations)
