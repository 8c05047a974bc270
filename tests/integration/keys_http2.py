"""Keys of HTTP/2 at the gateway."""
import socket

import h2.events
import h2.settings
from http2 import PATIENCE, Client
from keys_offline import Key
from keys_online import GATEWAY, served
from keys_site import site

AT = GATEWAY + "http2."


def spoken(gateway, bench):
    """What answers a client that begins with the preface of HTTP/2."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=PATIENCE) as s:
        s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        return "HTTP/1.1" if s.recv(100).startswith(b"HTTP/1.1") else "HTTP/2"


def announced(gateway, bench):
    with Client(gateway.port) as client:
        client.wait(h2.events.RemoteSettingsChanged)
        return client.h2.remote_settings[h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS]


def after_resets(gateway, bench):
    """The status of a request on a connection on which forty were reset before; None: it was closed."""
    with Client(gateway.port) as client:
        client.wait(h2.events.RemoteSettingsChanged)
        for _ in range(40):
            stream = client.h2.get_next_available_stream_id()
            client.h2.send_headers(stream, client.head())
            client.h2.reset_stream(stream, 8)
        client.flush()
        stream = client.get("/v1/models")
        while not client.closed and not any(isinstance(e, h2.events.ConnectionTerminated) for e in client.events):
            if any(isinstance(e, h2.events.ResponseReceived) and e.stream_id == stream for e in client.events):
                return 200
            client.read()
    return None


KEYS = [
    Key(AT + "enabled", site(), (True, False), served(spoken), ("HTTP/2", "HTTP/1.1")),
    Key(AT + "max_streams", site(), (7, 100), served(announced), (7, 100)),
    Key(AT + "resets_per_second", site(), (1, 1000), served(after_resets), (None, 200)),
]
