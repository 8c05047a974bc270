"""The documents lead to each other: every page is in an index, every link has a target, and the list of commands is the program's."""
import re

import pytest

from conftest import ROOT, semroute

DOCS = ROOT / "docs"
PAGES = [p for top in ("docs", "deploy", "packaging", "examples", "proto") for p in sorted((ROOT / top).rglob("*.md"))]
PAGES += sorted(ROOT.glob("*.md")) + sorted((ROOT / "src").rglob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def targets(page):
    """The files and headings that a page links, without those of other sites."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in LINK.findall(text.replace("](\n", "](")):
        if not re.match(r"\w+:", link):
            path, _, heading = link.partition("#")
            yield (page.parent / path).resolve() if path else page, heading


def anchors(page):
    """The names of a page's headings, as GitHub makes them."""
    for line in page.read_text().splitlines():
        if line.startswith("#"):
            yield re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links(page):
    for target, heading in targets(page):
        assert target.exists(), f"{target} is missing"
        if heading and target.suffix == ".md":
            assert heading in set(anchors(target)), f"{target.name} has no heading `{heading}`"


@pytest.mark.parametrize("index", [DOCS, DOCS / "internals", DOCS / "runbooks", DOCS / "quality"], ids=lambda p: p.name)
def test_indexes(index):
    listed = {target for target, _ in targets(index / "README.md")}
    if index.name == "quality":
        listed |= {target for target, _ in targets(DOCS / "quality.md")}
    pages = set(index.glob("*.md")) | (set((DOCS / "deploy").glob("*.md")) if index == DOCS else set())
    assert not {p.name for p in pages - listed - {index / "README.md"}}


def test_commands():
    overview = semroute("help").stdout
    commands = [line.strip() for line in overview.splitlines() if line.startswith("  semroute ")]
    page = (DOCS / "cli.md").read_text()
    assert "\n".join(commands) in re.sub(r" +\n", "\n", page)
    for command in commands:
        assert f"\n## {command.split()[1]}\n" in page or command.split()[1] == "version"


def test_transcripts_of_commands():
    """The models that are built in, and why the example of `explain` is routed as it is."""
    page = (DOCS / "cli.md").read_text()
    built_in = [line for line in semroute("models", "list").stdout.splitlines() if line.endswith("built in")]
    assert len(built_in) == 2 and [line for line in built_in if line not in page] == []
    text, = re.findall(r'^\$ semroute explain "(.*)"$', page, re.M)
    shown = semroute("explain", "-c", ROOT / "src" / "config" / "builtin.yaml", text).stdout
    for part in (r"^decision  .*\n +.*$", r"^verdict  .*\n.*\n.*$"):
        assert re.search(part, shown, re.M).group() in page, shown
