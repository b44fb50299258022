"""``python -m nnk_image`` is the command ``nnk-image``."""

import sys

from nnk_image.cli import main

sys.exit(main())
