"""The site of docs/ builds without a warning, and its picture is that of the contracts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dpviz

ROOT = Path(__file__).resolve().parents[1]


def test_the_site_builds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", "tools/mkdocs.yml", "-d", tmp_path]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert built.returncode == 0, built.stdout + built.stderr
    reference = (tmp_path / "reference" / "index.html").read_text()
    # The list of methods is a value; everything else is explained.
    assert [name for name in dpviz.__all__ if f'id="dpviz.{name}"' not in reference] == ["METHODS"]
    assert "<blockquote>" not in reference, "an example that is shown as a quotation"


def test_the_accountants_are_these(tmp_path: Path) -> None:
    written = tmp_path / "accountants.md"
    subprocess.run([sys.executable, "-m", "tools.cards", written], cwd=ROOT, check=True)
    assert written.read_text() == (ROOT / "docs" / "accountants.md").read_text(), "run: python -m tools.cards"


def test_the_picture_is_of_these_contracts(tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.svg"
    subprocess.run([sys.executable, "tools/picture.py", drawn], cwd=ROOT, check=True)
    assert drawn.read_text() == (ROOT / "docs" / "architecture.svg").read_text(), "run: python tools/picture.py"
