"""How a parallel run divides the tests: a file's tests run in one process, for they share what its fixtures start.

A file in SHARES has many tests that need nothing of each other but what such a fixture gives; it is divided into so many
parts, which run beside each other.
"""
import zlib

from xdist.scheduler import LoadFileScheduling

SHARES = {"test_config_keys.py": 12, "test_dropped.py": 4}


class ByShare(LoadFileScheduling):
    def _split_scope(self, nodeid):
        file = super()._split_scope(nodeid)
        shares = SHARES.get(file.rpartition("/")[2], 1)
        return f"{file} {zlib.crc32(nodeid.encode()) % shares}"
