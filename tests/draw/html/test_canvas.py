import json
import struct

import numpy as np
import pytest
import torch

from bertlab.draw.html.canvas import ModelHeads, attention_widget, pack
from bertlab.explain.attention.heads import ROLES, head_roles
from bertlab.explain.attention.maps import AttentionMaps


@pytest.fixture
def maps():
    weights = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(0)).softmax(-1)
    return AttentionMaps(["[CLS]", "<b>", "שלום", "[SEP]"], [0, 0, 0, 0], weights)


def unpacked(data: bytes) -> tuple[dict, np.ndarray]:
    (size,) = struct.unpack("<I", data[:4])
    return json.loads(data[4 : 4 + size]), np.frombuffer(data[4 + size :], np.uint8)


def test_bytes_hold_header_and_weights(maps):
    header, weights = unpacked(pack([ModelHeads("m", maps, maps)], {"layer": 1}))
    (model,) = header["models"]
    assert model["tokens"] == maps.tokens
    assert (model["name"], model["layers"], model["heads"], len(model["sets"])) == ("m", 2, 3, 2)
    assert header["view"] == {"layer": 1}
    weights = weights.reshape(2, 2, 3, 4, 4)
    np.testing.assert_allclose(weights[0] / 255, maps.weights.numpy(), atol=0.5 / 255 + 1e-6)
    np.testing.assert_array_equal(weights[0], weights[1])


def test_roles_go_along_and_what_a_text_cannot_tell_is_null(maps):
    header, _ = unpacked(pack([ModelHeads("m", maps)]))
    roles = head_roles(maps)
    (only,) = header["models"][0]["sets"]
    assert header["roles"] == list(ROLES) and only["best"] == roles.best.tolist()
    np.testing.assert_allclose(np.array(only["scores"], float), roles.scores.numpy(), atol=6e-4)
    assert only["scores"][0][0][ROLES.index("same word")] is None


def test_two_models_of_other_shapes_follow_each_other(maps):
    other = AttentionMaps(["[CLS]", "a", "[SEP]"], [0, 0, 0], torch.eye(3).expand(1, 2, 3, 3))
    header, weights = unpacked(pack([ModelHeads("m", maps, maps), ModelHeads("n", other)]))
    assert [(m["layers"], m["heads"], len(m["tokens"]), len(m["sets"])) for m in header["models"]] == [
        (2, 3, 4, 2),
        (1, 2, 3, 1),
    ]
    assert len(weights) == 2 * 2 * 3 * 16 + 2 * 9
    np.testing.assert_array_equal(weights[-9:].reshape(3, 3), 255 * np.eye(3))


def test_widget_carries_the_module_and_the_bytes(maps):
    widget = attention_widget(maps, "m", view={"head": 2}, beside=ModelHeads("n", maps))
    assert widget.data == pack([ModelHeads("m", maps), ModelHeads("n", maps)])
    assert widget.view == {"head": 2}
    assert "export default" in str(widget._esm)
