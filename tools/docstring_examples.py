"""An extension of griffe, which reads the docstrings for the API pages: examples become blocks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.docstring_text import with_fences


class DocstringExamples(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the docstring of an object after it was read."""
        if obj.docstring is not None:
            obj.docstring.value = with_fences(obj.docstring.value)
