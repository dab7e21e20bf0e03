"""What a docstring needs to be shown as Markdown."""

from __future__ import annotations

import re

EXAMPLE = re.compile(r"^(>>> .*(?:\n(?!\n|$).+)*)", re.M)


def with_fences(docstring: str) -> str:
    r"""Put the examples of a docstring into fenced blocks; otherwise they would be prose.

    >>> with_fences("Add.\n\n>>> 1 + 1\n2\n\nMore.")
    'Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.'
    """
    return EXAMPLE.sub(r"```pycon\n\1\n```", docstring)
