"""Requests of every endpoint, through both doors, in front of real upstreams in Python and Go."""
import pytest

import surface
from attack_site import MODELS, Case, fill, run, site  # noqa: F401 (a fixture)


@pytest.mark.parametrize("dialect", surface.tables(), ids=lambda dialect: dialect.name)
def test_requests_without_any_text(site, dialect):  # noqa: F811
    """Nothing to read is no reason to fail: `run` asks each router afterwards whether it still answers."""
    base = surface.BASES[dialect.name]
    empty = [None, "", [], {}, 0, [None], [""], [[]], [{}], {"x": None}]
    bodies = [{**base, member: value} for member in base if member != "model" for value in empty]
    bodies += [{"model": base["model"], "messages": value} for value in empty]
    cases = [Case(dialect.name, dialect.paths[0], fill(body, MODELS["python"]), "no needle", door, "match", "python")
             for body in bodies for door in ("gateway", "envoy")]
    assert run(site, cases) == []
    assert all(case.status in (200, 400, 403, 404, 422) for case in cases), {case.status for case in cases}
