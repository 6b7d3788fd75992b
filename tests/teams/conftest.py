"""Let the tests of this folder import ``team_stubs``, which importlib mode does not."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
