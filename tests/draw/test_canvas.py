import json
import struct

import numpy as np
import pytest
import torch

from bertlab.draw.canvas import attention_widget, pack
from bertlab.explain.attention import AttentionMaps


@pytest.fixture
def maps():
    weights = torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(0)).softmax(-1)
    return AttentionMaps(["[CLS]", "<b>", "שלום", "[SEP]"], [0, 0, 0, 0], weights)


def test_bytes_hold_header_and_weights(maps):
    data = pack(maps, "m", maps, {"layer": 1})
    (size,) = struct.unpack("<I", data[:4])
    header = json.loads(data[4 : 4 + size])
    assert header["tokens"] == maps.tokens
    assert (header["layers"], header["heads"], header["control"]) == (2, 3, True)
    assert header["view"] == {"layer": 1}
    weights = np.frombuffer(data[4 + size :], np.uint8).reshape(2, 2, 3, 4, 4)
    np.testing.assert_allclose(weights[0] / 255, maps.weights.numpy(), atol=0.5 / 255 + 1e-6)
    np.testing.assert_array_equal(weights[0], weights[1])


def test_widget_carries_the_module_and_the_bytes(maps):
    widget = attention_widget(maps, "m", view={"head": 2})
    assert widget.data == pack(maps, "m")
    assert widget.view == {"head": 2}
    assert "export default" in str(widget._esm)
