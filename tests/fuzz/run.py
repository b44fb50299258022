"""Run many random cases of `differential`; `test_fuzz.py` only runs a few.

    python -P tests/fuzz/run.py --first 0 --cases 20000

It prints the number of each case that fails; ``--first NUMBER --cases 1`` repeats it.
"""

import argparse
import sys
import traceback
import warnings
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main():
    sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1000)
    options = parser.parse_args()
    check, failed = import_module("differential").check, 0
    for number in range(options.first, options.first + options.cases):
        try:
            check(number)
        except Exception:
            failed += 1
            print(f"case {number}:\n{traceback.format_exc()}", flush=True)
    print(f"{options.cases} cases, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
