"""docs/internals/threats.md: each promise names the code that keeps it and the tests that show it; all of them exist."""
import re

import pytest

from conftest import ROOT

PAGE = ROOT / "docs" / "internals" / "threats.md"


def rows():
    """(threat, where, tests) of each line of the page's tables."""
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line[1:-1].split(" | ")]
        if line.startswith("| ") and cells[-1] not in ("Test", "Where"):
            yield line, cells


def exists(name):
    if name.endswith(".py"):
        return (ROOT / "tests" / "integration" / name).exists()
    if name.startswith(("test_", "fuzz_", "fault_")):
        functions = (path.read_text() for path in (ROOT / "tests" / "integration").glob("test_*.py"))
        return any((ROOT / "tests").glob(f"**/{name}.c")) or any(f"\ndef {name}(" in text for text in functions)
    return any((ROOT / "src").glob(name)) or any((ROOT / "src").glob(f"*/{name}")) or any(ROOT.glob(name))


def test_the_page_has_its_tables():
    assert len(list(rows())) > 30


@pytest.mark.parametrize("line,cells", list(rows()), ids=lambda value: value[2:50] if isinstance(value, str) else "")
def test_each_promise_has_its_code_and_its_tests(line, cells):
    names = re.findall(r"`([^`]+)`", " ".join(cells[2:]))
    assert [name for name in names if name.endswith(".py") or name.startswith(("test_", "fuzz_", "fault_"))], "no test keeps it"
    assert [name for name in names if not exists(name)] == []


def test_each_row_is_there_once():
    threats = [cells[0] for _, cells in rows()]
    assert sorted(threats) == sorted(set(threats))
    heads = [line for line in PAGE.read_text().splitlines() if line.endswith("| Where | Test |")]
    assert len(heads) == len(set(heads))


def test_the_way_to_report_is_there():
    page = (ROOT / "SECURITY.md").read_text()
    assert "## Reporting" in page and "docs/internals/threats.md" in page
