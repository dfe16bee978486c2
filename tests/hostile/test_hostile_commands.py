"""What the command prints of labels and tokens with control characters."""

import pytest
from damage import INFO, PREDICT, config, vocabulary

from bertlab.cli.main import main

# kind -> damage, a text
HELD = {
    "sentence": (config(id2label={"0": "a\x1b[31m", "1": "b\r\nc", "2": "\x9b2J\u202e"}), "my dog is hairy"),
    "token": (config(id2label={"0": "B-a\x1b[31m", "1": "B-b\n", "2": "B-c\x9b"}), "my dog is hairy"),
    "pretraining": (
        vocabulary(lambda tokens: [*tokens[:5], *(f"{n}\x1b[31m\x9b" for n in range(len(tokens) - 5))]),
        "my [MASK] is hairy",
    ),
}


@pytest.mark.parametrize("face", [INFO, PREDICT])
@pytest.mark.parametrize("kind", HELD)
def test_control_characters_are_printed_escaped(kind, face, folder_of, capsys):
    folder, (damage, text) = folder_of(kind), HELD[kind]
    damage(folder)
    command = [INFO, str(folder)] if face == INFO else [PREDICT, text, "--model", str(folder)]
    for more in ([], ["--json"]):
        main([*command, *more])
        out = capsys.readouterr().out
        assert out and "".join(out.split("\n")).isprintable(), out
