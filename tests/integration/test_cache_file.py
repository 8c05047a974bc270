"""The cache's file under the gateway: kills in the middle of writes, full, read-only and damaged disks, clocks that jump.
Each time the gateway goes on answering, says what happened, and loses at most what it had not acknowledged."""
import contextlib
import http.client
import mmap
import os
import resource
import shutil
import signal
import struct
import subprocess
import threading
import time

import pytest

from conftest import chat
from oracle import Oracle
from test_cache import Site, plugin

PATIENCE = 60


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.02)


@pytest.fixture
def oracle():
    with Oracle() as upstream:
        yield upstream


def health(site):
    return site.api("health").json()


def entries(site):
    return site.api("stats").json()["total_entries"]


def begin(directory, oracle, path, name="gateway", env=None, **cache):
    return Site(directory, oracle, cache=plugin(**cache), entries=100000, more=f', path: "{path}"', name=name, env=env)


@contextlib.contextmanager
def running(directory, oracle, path, **more):
    site = begin(directory, oracle, path, **more)
    try:
        yield site
    finally:
        site.gateway.stop()


def is_ready(site):
    return health(site)["state"] == "ready"


def is_written(site):
    return is_ready(site) and health(site)["queued"] == 0


def say(site):
    return lambda: f"{health(site)} {site.gateway.output()}"


# ---- kills ----

def test_a_kill_loses_nothing_that_was_acknowledged(tmp_path, oracle):
    """Four clients put, the gateway is killed at some moment, three times over: the next one has what was counted as
    written, each answer to its question, and nothing else."""
    path, answers, written = tmp_path / "cache.db", {}, 0
    for round_ in range(4):
        site = begin(tmp_path, oracle, path)
        until(lambda: is_ready(site), say(site))
        before = entries(site)
        assert before >= written, f"{before} of {written}"
        for text, body in list(answers.items())[-40:]:
            again = site.ask(text)
            assert text in again.body.decode()
            if again.headers.get("x-vsr-cache-hit") == "true":
                assert again.body == body
            answers[text] = again.body
        stop = threading.Event()

        def put(client):
            number = 0
            while not stop.is_set():
                text = f"Round {round_} client {client} number {number}"
                with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):  # the gateway is killed
                    answers[text] = site.ask(text).body
                number += 1
        threads = [threading.Thread(target=put, args=(client,)) for client in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: health(site)["written"] > 40 * (round_ + 1), say(site))
        written = before + health(site)["written"]
        site.gateway.signal(signal.SIGKILL)
        stop.set()
        for thread in threads:
            thread.join()
        site.gateway.wait()
        site.gateway.log.close()
    assert written > 160


# ---- disks ----

def fill(site, count, first=0):
    """Asks so many questions with long answers; each must be answered."""
    for number in range(first, first + count):
        site.ask(f"Fill {number} " + "long " * 2000)


def check_room(site, enlarge):
    """The store has no room from some moment on, and has it again after `enlarge`."""
    asked, told = 0, health(site)
    while told["state"] == "ready" and asked < 3000:
        fill(site, 10, asked)
        asked += 10
        until(lambda: health(site)["state"] != "ready" or health(site)["queued"] == 0, say(site))
        told = health(site)
    assert told["state"] == "away" and told["message"], told
    assert told["status"] == "degraded"
    until(lambda: told["message"] in site.gateway.output(), "the log says it, too")
    fill(site, 10, asked)
    assert site.is_hit("Fill 0 " + "long " * 2000), "memory goes on"
    enlarge()
    until(lambda: is_written(site) and health(site)["written"] == asked + 10, say(site))
    assert health(site)["dropped"] == 0
    return asked + 10


def test_a_file_that_may_not_grow(tmp_path, oracle):
    path = tmp_path / "cache.db"
    with running(tmp_path, oracle, path) as site:
        until(lambda: is_ready(site), say(site))
        resource.prlimit(site.gateway.pid, resource.RLIMIT_FSIZE, (400000, resource.RLIM_INFINITY))
        none = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        kept = check_room(site, lambda: resource.prlimit(site.gateway.pid, resource.RLIMIT_FSIZE, none))
    with running(tmp_path, oracle, path) as site:
        until(lambda: is_ready(site), say(site))
        assert entries(site) == kept


@contextlib.contextmanager
def disk(directory, size):
    """A file system of so many bytes; None where this process may mount nothing."""
    directory.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", directory], capture_output=True)
    try:
        yield directory if mount.returncode == 0 else None
    finally:
        if mount.returncode == 0:
            subprocess.run(["umount", "-l", directory], check=True)


def remount(directory, options):
    subprocess.run(["mount", "-o", f"remount,{options}", directory], check=True)


def test_a_full_disk(tmp_path, oracle):
    """Where nothing may be mounted the test above has shown the same."""
    with disk(tmp_path / "disk", "600k") as mounted:
        if not mounted:
            return
        with running(tmp_path, oracle, mounted / "cache.db") as site:
            until(lambda: is_ready(site), say(site))
            kept = check_room(site, lambda: remount(mounted, "size=64m"))
        with running(tmp_path, oracle, mounted / "cache.db") as site:
            until(lambda: is_ready(site), say(site))
            assert entries(site) == kept


def check_unwritable(tmp_path, oracle, path, allow):
    with running(tmp_path, oracle, path) as site:
        until(lambda: health(site)["state"] == "away", say(site))
        first, again = site.stored("In memory")
        assert again.body == first.body
        until(lambda: "cache_store" in site.gateway.output(), "the log says it")
        allow()
        until(lambda: is_written(site), say(site))
        assert health(site)["dropped"] == 0
    with running(tmp_path, oracle, path) as site:
        until(lambda: is_ready(site), say(site))
        assert site.ask("In memory").body == first.body


def test_a_read_only_disk(tmp_path, oracle):
    """Read-only from the start; then, where something may be mounted, while it runs."""
    with disk(tmp_path / "disk", "64m") as mounted:
        if not mounted:
            later = tmp_path / "later"
            check_unwritable(tmp_path, oracle, later / "cache.db", later.mkdir)
            return
        remount(mounted, "ro")
        check_unwritable(tmp_path, oracle, mounted / "cache.db", lambda: remount(mounted, "rw"))


# ---- damage ----

def test_a_damaged_file(tmp_path, oracle):
    """At rest and while it is open: it is put aside, the message says so, and a new file is begun."""
    path = tmp_path / "cache.db"
    with running(tmp_path, oracle, path) as site:
        until(lambda: is_ready(site), say(site))
        fill(site, 20)
        until(lambda: is_written(site), say(site))
    bytes_ = bytearray(path.read_bytes())
    for at in range(4096, len(bytes_), 512):
        bytes_[at:at + 256] = b"\xa5" * 256
    path.write_bytes(bytes_)
    with running(tmp_path, oracle, path) as site:
        until(lambda: is_ready(site), say(site))
        assert "renamed to *.damaged" in health(site)["message"]
        assert path.with_name("cache.db.damaged").exists()
        fill(site, 20)
        until(lambda: is_written(site), say(site))
        os.truncate(path, 5000)
        fill(site, 20, 20)
        until(lambda: health(site)["errors"] > 0 or is_written(site), say(site))
        until(lambda: is_written(site), say(site))
        assert site.is_hit("Fill 30 " + "long " * 2000)
    path.write_bytes(b"This is no database, but somebody's notes." * 100)
    with running(tmp_path, oracle, path) as site:
        until(lambda: is_ready(site), say(site))
        assert "renamed" in health(site)["message"]
        assert b"somebody's notes" in path.with_name("cache.db.damaged").read_bytes()
        site.stored("After all that")
        until(lambda: is_written(site), say(site))
    with running(tmp_path, oracle, path) as site:
        until(lambda: is_ready(site), say(site))
        assert site.is_hit("After all that")


# ---- clocks ----

SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset;

__attribute__((constructor)) static void begin(void)
{
    int fd = open(getenv("CLOCK_OFFSET"), O_RDONLY);
    offset = fd < 0 ? NULL : mmap(NULL, 8, PROT_READ, MAP_SHARED, fd, 0);
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    int rc = (int)syscall(SYS_clock_gettime, id, out);
    if (offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        out->tv_sec += *offset;
    return rc;
}
"""


class Clock:
    """The gateway's wall clock, seconds from the real one: a library before all others."""

    def __init__(self, directory):
        source, self.library, offset = (directory / name for name in ("clock.c", "clock.so", "offset"))
        source.write_text(SHIM)
        subprocess.run([shutil.which("cc") or "gcc", "-shared", "-fPIC", "-O1", "-o", self.library, source], check=True)
        offset.write_bytes(bytes(8))
        with open(offset, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 8)
        self.env = {"LD_PRELOAD": str(self.library), "CLOCK_OFFSET": str(offset),
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}

    def jump(self, seconds):
        self.memory[:] = struct.pack("<q", seconds)


def test_clocks_jump(tmp_path, oracle):
    """Ahead: what expires by then is gone. Back: what is gone stays gone, also over a restart, and new answers are kept."""
    path, clock, hour = tmp_path / "cache.db", Clock(tmp_path), 3600
    with running(tmp_path, oracle, path, env=clock.env, ttl_seconds=hour) as site:
        until(lambda: is_ready(site), say(site))
        first, _ = site.stored("What time is it?")
        until(lambda: is_written(site), say(site))
        clock.jump(2 * hour)
        second = site.ask("What time is it?")
        assert "x-vsr-cache-hit" not in second.headers and second.body != first.body
        until(lambda: site.is_hit("What time is it?"), "kept again")
        for jump in (-30 * 24 * hour, 0, 365 * 24 * hour, 0):
            clock.jump(jump)
            for number in range(5):
                assert site.gateway.post(chat(f"Jumped {jump} {number}")).status == 200
            assert site.ask("What time is it?").body != first.body, "what has expired does not come back"
        site.stored("Kept after all")
        until(lambda: is_written(site), say(site))
    with running(tmp_path, oracle, path, env=clock.env, ttl_seconds=hour) as site:
        until(lambda: is_ready(site), say(site))
        assert site.is_hit("Kept after all")
        assert site.ask("What time is it?").body != first.body
