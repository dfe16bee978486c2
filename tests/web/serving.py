"""A server for a built site, which a test can stop or make wait."""

import contextlib
import functools
import http.server
import threading


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments, hold, **options):
        self.hold = hold
        super().__init__(*arguments, **options)

    def do_GET(self):
        self.hold(self.path)
        super().do_GET()

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def served(folder, hold=lambda path: None):
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
