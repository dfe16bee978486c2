"""A server for a built site, for the benchmark, the pictures and the tests, which can stop it or make it wait."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments, hold: Callable[[str], None], **options):
        self.hold = hold
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        self.hold(self.path)
        del self.headers["If-Modified-Since"]  # in whole seconds: what was written twice in one would not be sent again
        super().do_GET()

    def log_message(self, *arguments) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path, hold: Callable[[str], None] = lambda path: None) -> Iterator[str]:
    """Serve a folder at the address that this yields. `hold` is called with each path that is asked for."""
    handler = functools.partial(Handler, directory=str(folder), hold=hold)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
