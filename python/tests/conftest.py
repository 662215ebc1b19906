"""What the tests share: the binary, and a fresh folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def binary() -> Path:
    """The binary `seaway`: SEAWAY_BINARY, or the one that was built beside."""
    named = os.environ.get("SEAWAY_BINARY")
    found = [Path(named)] if named else [ROOT / "target" / profile / "seaway" for profile in ("debug", "release")]
    on_path = shutil.which("seaway")
    found += [Path(on_path)] if on_path else []
    for place in found:
        if place.is_file():
            return place
    pytest.skip("no binary `seaway`: set SEAWAY_BINARY")


@pytest.fixture
def run_binary(binary, tmp_path):
    """Runs the binary in a fresh folder."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([binary, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)

    return run
