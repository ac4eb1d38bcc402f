# SPDX-License-Identifier: Apache-2.0
"""Charts that need no style sheet, for notebooks: text and lines take the color of what is around them.

A notebook may be dark while the desktop is light, and has styles of its own; so every mark says its color,
which is seen on white and on the grounds of dark notebooks.
"""

from __future__ import annotations

import re
from html import escape

from anon.html.chart import Panel

# Each at a contrast of 3 or more to light and dark grounds, in the order of `chart.COLORS`.
COLORS = ("#2a86c8", "#cf6a1c", "#1f9470", "#c2579a", "#7d72e0", "#9a7b1a", "#808080", "currentColor")
_QUIET = 'stroke="currentColor" fill="none" stroke-opacity='
_ATTRIBUTES = {
    "head": 'font-weight="600"',
    "quiet": 'fill-opacity="0.75"',
    "grid": f'{_QUIET}"0.15"',
    "tick": f'{_QUIET}"0.3"',
    "lfaint": f'{_QUIET}"0.25"',
    "axis": f'{_QUIET}"0.5"',
    "lquiet": f'{_QUIET}"0.5"',
    "link": 'stroke="currentColor" fill="none" stroke-width="1.5"',
    "ground": 'fill="none"',
    **{f"f{i}": f'fill="{color}"' for i, color in enumerate(COLORS)},
    **{f"l{i}": f'stroke="{color}" fill="none" stroke-width="2"' for i, color in enumerate(COLORS)},
    **{f"h{i}": f'stroke="{color}" fill="none" stroke-width="1.5"' for i, color in enumerate(COLORS)},
}


def inline_svg(panel: Panel, label: str) -> str:
    """A panel whose marks say their colors themselves; `label` is read aloud."""
    marks = re.sub(r' class="([\w-]+)"', lambda match: f" {_ATTRIBUTES[match[1]]}", panel.marks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" '
        f'width="{panel.width:.0f}" height="{panel.height:.0f}" '
        f'viewBox="0 0 {panel.width:.0f} {panel.height:.0f}" fill="currentColor" font-size="13" '
        f'font-family="system-ui, sans-serif" style="max-width: 100%; height: auto">{marks}</svg>'
    )
