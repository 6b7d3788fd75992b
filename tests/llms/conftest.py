"""Let the tests of this folder import its helpers, which importlib mode does not."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the SDKs pause a few milliseconds where they pause half a second and more."""
    for sdk in ("openai", "anthropic"):
        monkeypatch.setattr(f"{sdk}._base_client.INITIAL_RETRY_DELAY", 0.005)
