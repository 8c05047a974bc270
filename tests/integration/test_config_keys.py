"""Every key that a configuration may have changes what happens: two configurations that differ only in it are told apart."""
import json
import re

import keys_cache
import keys_extproc
import keys_guards
import keys_http2
import keys_identity
import keys_inference
import keys_learning
import keys_limits
import keys_offline
import keys_online
import keys_picking
import keys_pools
import keys_preference
import keys_replay
import keys_recipes
import keys_responses
import keys_selection
import keys_signals
import keys_stores
import keys_tiers
import keys_tools
import keys_traces
import pytest
from conftest import semroute
from keys_bench import Bench
from keys_site import leaves, place

MODULES = (
    keys_cache,
    keys_extproc,
    keys_guards,
    keys_http2,
    keys_identity,
    keys_inference,
    keys_learning,
    keys_limits,
    keys_offline,
    keys_online,
    keys_picking,
    keys_pools,
    keys_preference,
    keys_replay,
    keys_recipes,
    keys_responses,
    keys_selection,
    keys_signals,
    keys_stores,
    keys_tiers,
    keys_tools,
    keys_traces,
)
KEYS = [key for module in MODULES for key in module.KEYS]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    bench = Bench(tmp_path_factory.mktemp("keys"))
    with bench.closing:
        yield bench


def test_every_key_of_the_schema_is_here():
    schema = json.loads(semroute("check", "--schema").stdout)
    tested = [re.sub(r"\[\d+\]", "[]", key.path) for key in KEYS]
    assert sorted(tested) == sorted(key for key in leaves(schema) if not key.startswith(keys_recipes.ELSEWHERE))


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.path)
def test_changing(key, bench):
    first, second = (key.see(place(key.config, key.path, value), bench) for value in key.values)
    assert first != second
    assert key.seen == (first, second)
