"""`bertlab serve`: a model answers over HTTP."""

from dataclasses import dataclass

from bertlab.cli.shared.messages import say
from bertlab.cli.shared.settings import Positional
from bertlab.errors import InputError, at_least_one


@dataclass(frozen=True)
class Serve:
    """Answer requests over HTTP with the predictions of a model: POST /predict; described at /docs."""

    model: Positional[str]
    """A bundled name, a folder or a hub id: fine-tuned, or one that fills in masked words."""
    host: str = "127.0.0.1"
    """The address to listen at; 0.0.0.0 for other machines too."""
    port: int = 8000
    """The port to listen at."""
    max_characters: int = 10_000
    """The longest request, all its texts together."""
    rate: int = 0
    """Requests a minute from one address; 0: any number."""

    def run(self) -> None:
        from bertlab.deploy.serve import create_app, serve

        at_least_one(max_characters=self.max_characters)
        if self.rate < 0 or not 0 < self.port < 65536:
            raise InputError(f"--rate {self.rate} --port {self.port}: a rate is 0 or more, a port 1 to 65535")
        app = create_app(self.model, self.max_characters, self.rate)
        say(f"{self.model} at http://{self.host}:{self.port}; how to ask it: http://{self.host}:{self.port}/docs")
        serve(app, self.host, self.port)
