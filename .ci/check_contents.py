"""Compare the built wheel and sdist with the tree: nothing missing, nothing stray.

Usage: python .ci/check_contents.py DIST_FOLDER
"""

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def tree(folder, *patterns):
    """Files below a folder of the repository, relative to the repository."""
    found = {p for pattern in patterns for p in (ROOT / folder).rglob(pattern)}
    return {p.relative_to(ROOT).as_posix() for p in found if "__pycache__" not in p.parts}


def main(dist):
    (wheel,) = Path(dist).glob("*.whl")
    (sdist,) = Path(dist).glob("*.tar.gz")
    python = tree("nnk_image", "*.py", "*.pyi", "py.typed", "*.yaml")
    sources = tree("src_c", "*.c", "*.h", "*.pyx", "*.pxd", "CMakeLists.txt")
    pictures = tree("images", "*.png") | {"images/SOURCES.md"}

    with zipfile.ZipFile(wheel) as file:
        in_wheel = set(file.namelist())
    with tarfile.open(sdist) as file:
        in_sdist = {name.partition("/")[2] for name in file.getnames()}

    wanted = python | {f"nnk_image/{p}" for p in pictures}
    missing = {f"wheel: {p}" for p in wanted - in_wheel}
    missing |= {f"sdist: {p}" for p in (python | sources | pictures) - in_sdist}
    for top in ("pyproject.toml", "README.md", "LICENSE"):
        missing |= {f"sdist: {top}"} - {f"sdist: {p}" for p in in_sdist}
    if not any(p.startswith("nnk_image/_core") for p in in_wheel):
        missing.add("wheel: nnk_image/_core")
    of_source = (".c", ".h", ".pyx", ".pxd")
    stray = {p for p in in_wheel if p.endswith(of_source) or p.startswith("tests/")}
    for problem in sorted(missing):
        print("missing from", problem)
    for problem in sorted(stray):
        print("stray in wheel:", problem)
    print(f"{len(wanted)} files in the wheel, {len(python | sources | pictures)} in the sdist")
    return 1 if missing or stray else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
