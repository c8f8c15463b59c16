"""The package's long description and addresses, for hatchling: links lead to the repository of DPVIZ_REPOSITORY.

A package index shows the README without the files beside it. The release workflow names the repository and its tag,
as https://HOST/OWNER/NAME/blob/v0.1.0; without a name the README stays as it is, and no address is given.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "DPVIZ_REPOSITORY"


class Metadata(MetadataHookInterface):
    """Fills in `readme` and `urls` of pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both in the project's table."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        repository = os.environ.get(REPOSITORY, "").rstrip("/")
        if repository:
            text = re.sub(r"\]\((?!https?:|#)([^)]+)\)", rf"]({repository}/\1)", text)
            text = re.sub(r"(!\[[^]]*\]\([^)]+\.png)\)", r"\1?raw=true)", text)
            metadata["urls"] = {
                "Source": repository.partition("/blob/")[0],
                "Documentation": f"{repository}/docs/index.md",
                "Changelog": f"{repository}/docs/work/changelog.md",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
