"""Write README.md, and every file that it links to directly or indirectly, as a site; Markdown becomes HTML."""

import os
import re
import shutil
import sys
from pathlib import Path

from markdown2 import Markdown

ROOT = Path(__file__).resolve().parents[1]
MENU = {"README.md": "Start", "docs/library.md": "Library", "docs/hooks.md": "Hooks", "docs/architecture.md": "Code"}
EXTRAS = ["fenced-code-blocks", "header-ids", "tables"]
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} – Attention Atlas</title>
<style>
body {{ max-width: 60rem; margin: 1rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif; }}
nav a {{ margin-right: 1rem; }}
img {{ max-width: 100%; }}
pre {{ overflow-x: auto; padding: 0.5rem; background: #f3f3f3; }}
td, th {{ padding: 0.25rem 0.5rem; border-bottom: 1px solid #ccc; text-align: left; vertical-align: top; }}
</style></head>
<body><nav>{menu}</nav>{body}</body></html>
"""


def address(name: str) -> str:
    """Return where the site has a file of the project."""
    return "index.html" if name == "README.md" else re.sub(r"\.md$", ".html", name)


def write(site: Path) -> None:
    waiting, seen = ["README.md", *MENU], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        target = site / address(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith(".md"):
            shutil.copyfile(ROOT / name, target)
            continue
        folder = os.path.dirname(name)

        def linked(match: re.Match[str], folder: str = folder) -> str:
            to, _, anchor = match[2].partition("#")
            path = os.path.normpath(os.path.join(folder, to))
            if not to or ":" in to or path.startswith("..") or not (ROOT / path).is_file():
                return match[0]
            waiting.append(path)
            return f'{match[1]}="{os.path.relpath(address(path), folder or ".")}{"#" + anchor if anchor else ""}"'

        text = (ROOT / name).read_text(encoding="utf-8")
        body = re.sub(r'(href|src)="([^"]*)"', linked, Markdown(extras=EXTRAS).convert(text))
        entries = {**{address(page): title for page, title in MENU.items()}, "api/transformer.html": "API"}
        menu = "".join(f'<a href="{os.path.relpath(to, folder or ".")}">{title}</a>' for to, title in entries.items())
        title = re.search(r"^# (.*)", text, re.MULTILINE)
        target.write_text(PAGE.format(title=title[1] if title else name, menu=menu, body=body), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
