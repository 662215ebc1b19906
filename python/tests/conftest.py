"""What the tests share: the binary, and a fresh folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import seaway

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
    """Runs the binary in a fresh folder. A release names the commit it is of; what is built for tests does not, and the package may."""
    number = seaway.__version__.partition("+")[0]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run([binary, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        own = re.compile(rf'(?<="seaway": "){re.escape(number)}(?:\+[^"]+)?(?=")')
        ended.stdout = own.sub(seaway.__version__, ended.stdout)
        return ended

    return run
