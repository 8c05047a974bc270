"""A real headless Chromium, driven over WebDriver: just what the tests of the live page need."""
import base64
import collections
import http.client
import json
import shutil
import struct
import time
import zlib
from pathlib import Path

from conftest import Process, free_ports

PATIENCE = 60
AXE = Path(__file__).parents[1] / "node" / "node_modules" / "axe-core" / "axe.min.js"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c"}


PNG = b"\x89PNG\r\n\x1a\n"


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def read_png(data):
    """Width, height and the pixels of one as Chromium writes it: eight bits of red, green, blue and perhaps alpha."""
    at, parts = len(PNG), {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        parts[kind] = parts.get(kind, b"") + data[at + 8:at + 8 + size]
        at += size + 12
    width, height, _, kind = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    step = {2: 3, 6: 4}[kind]
    raw, before, pixels = zlib.decompress(parts[b"IDAT"]), bytearray(width * step), []
    for y in range(height):
        begin = y * (width * step + 1)
        how, line = raw[begin], bytearray(raw[begin + 1:begin + 1 + width * step])
        for i in range(len(line)) if how else ():
            left, up, corner = line[i - step] if i >= step else 0, before[i], before[i - step] if i >= step else 0
            if how == 4:
                guess = left + up - corner
                near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            line[i] = line[i] + (left, up, (left + up) // 2, near if how == 4 else 0)[how - 1] & 255
        pixels += [tuple(line[i:i + 3]) for i in range(0, len(line), step)]
        before = line
    return width, height, pixels


class Browser:
    def __init__(self, directory, dark=False, width=1360, height=900):
        driver = shutil.which("chromedriver")
        assert driver, "chromium-driver is missing: run `make setup`"
        port = free_ports()
        self.process = Process([driver, f"--port={port}", "--log-level=WARNING"], directory / f"chromedriver-{port}.log")
        self.port, self.session = port, None
        self.until(self.is_up)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-device-scale-factor=1", "--hide-scrollbars",
                 "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
        if dark:
            flags.append("--force-dark-mode")
        self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "timeouts": {"script": 120000}, "goog:chromeOptions": {"args": flags, "binary": shutil.which("chromium")},
            "goog:loggingPrefs": {"browser": "ALL"}}}})["sessionId"]
        self.resize(width, height)

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        connection.request(method, path, None if body is None else json.dumps(body), {"content-type": "application/json"})
        answer = json.loads(connection.getresponse().read())
        connection.close()
        value = answer["value"]
        assert not (isinstance(value, dict) and "error" in value), value
        return value

    def on(self, method, path, body=None):
        return self.call(method, f"/session/{self.session}{path}", body)

    def is_up(self):
        try:
            return self.call("GET", "/status")["ready"]
        except (OSError, http.client.HTTPException):
            return False

    def until(self, look, good=bool, patience=PATIENCE):
        end = time.monotonic() + patience
        while not good(seen := look()):
            assert time.monotonic() < end, f"last seen: {seen!r}"
            time.sleep(0.05)
        return seen

    def open(self, url):
        self.on("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.on("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? null", selector)

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def wait(self, script, *arguments):
        return self.until(lambda: self.run(script, *arguments))

    def element(self, selector):
        return self.on("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.on("POST", f"/element/{self.element(selector)}/click", {})

    def write(self, selector, text):
        self.on("POST", f"/element/{self.element(selector)}/value", {"text": text})

    def key(self, name):
        code = KEYS.get(name, name)
        self.on("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [{"type": "keyDown", "value": code}, {"type": "keyUp", "value": code}]}]})

    def set(self, selector, value):
        """As a person who types it all at once."""
        self.run("const n = document.querySelector(arguments[0]); n.value = arguments[1]; n.dispatchEvent(new Event('input', {bubbles: true}));", selector, value)

    def devtools(self, command, parameters):
        return self.on("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def colours(self, scheme):
        # without transitions, in the midst of which contrasts would be measured
        self.devtools("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def heap(self):
        """Bytes that the page's objects take after a collection."""
        self.devtools("HeapProfiler.collectGarbage", {})
        return self.devtools("Runtime.getHeapUsage", {})["usedSize"]

    def console(self):
        return [line for line in self.on("POST", "/se/log", {"type": "browser"}) if line["level"] in ("WARNING", "SEVERE")]

    def picture(self, file):
        file.write_bytes(base64.b64decode(self.on("GET", "/screenshot")))

    def small_picture(self, file):
        """The same with at most 256 colours: the commonest, and for others the nearest of them. For the docs."""
        self.picture(file)
        width, height, pixels = read_png(file.read_bytes())
        common = [colour for colour, _ in collections.Counter(pixels).most_common(256)]
        index = {colour: at for at, colour in enumerate(common)}
        for colour in set(pixels) - set(common):
            index[colour] = min(range(len(common)), key=lambda at: sum((a - b) ** 2 for a, b in zip(common[at], colour)))
        lines = b"".join(b"\0" + bytes(index[p] for p in pixels[y * width:(y + 1) * width]) for y in range(height))
        file.write_bytes(PNG + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) + chunk(b"PLTE", b"".join(map(bytes, common)))
                         + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b""))

    def accessibility(self):
        """What axe-core finds wrong: (rule, where) pairs."""
        if not self.run("return Boolean(window.axe)"):
            self.run(AXE.read_text() + "; window.axe = axe;")
        found = self.on("POST", "/execute/async", {"script": "const done = arguments[0]; axe.run(document).then(r => done(r.violations), e => done([{id: String(e), nodes: []}]))", "args": []})
        return [(rule["id"], [(node["html"], node.get("failureSummary")) for node in rule["nodes"]][:3]) for rule in found]

    def stop(self):
        try:
            if self.session:
                self.call("DELETE", f"/session/{self.session}")
        finally:
            self.process.stop()
