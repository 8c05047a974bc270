"""Each thread has the name of what it does, not that of the thread that started it."""
import collections
import contextlib
import pathlib
import time

from conftest import ROOT, Gateway, chat
from test_lazy_models import GUARDS

NAMES = {"sr-work", "sr-log", "sr-file", "sr-dns", "sr-discover", "sr-warm", "sr-signals", "sr-reload", "sr-infer-short",
         "sr-infer-long", "sr-infer-team", "sr-store", "sr-cache", "sr-arms"}


def names(server):
    found = collections.Counter()
    for thread in pathlib.Path(f"/proc/{server.child.pid}/task").iterdir():
        if thread.name != str(server.child.pid):
            with contextlib.suppress(OSError):  # it has just ended
                found[(thread / "comm").read_text().strip()] += 1
    return found


def are_named(found):
    loops = {name: n for name, n in found.items() if name.startswith("sr-loop-")}
    known = all(name in NAMES or name in loops for name in found)
    return known and "sr-loop-0" in loops and set(loops.values()) == {1} and {"sr-work", "sr-signals", "sr-infer-short"} <= set(found)


def test_threads_are_named_by_what_they_do(tmp_path):
    server = Gateway(GUARDS, tmp_path, env={"SEMROUTE_MODELS": str(ROOT / "models")})
    try:
        server.post(chat("What a quiet morning in the harbour. " * 3000, "m"), timeout=120)  # long work starts the workers
        end, found = time.monotonic() + 60, names(server)
        while not are_named(found):  # a thread names itself when it begins
            assert time.monotonic() < end, str(dict(found))
            time.sleep(0.05)
            found = names(server)
    finally:
        server.stop()
