import torch

from bertlab.explain.vectors import position_similarity, similarity_by_distance


def test_similarity_is_the_cosine():
    table = torch.tensor([[1.0, 0.0], [0.0, 3.0], [-2.0, 0.0]], requires_grad=True)
    expected = torch.tensor([[1.0, 0.0, -1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    assert torch.allclose(position_similarity(table), expected)


def test_by_distance_means_over_a_part():
    angle = torch.arange(12.0)[:, None] * 0.1
    similarity = position_similarity(torch.cat([angle.sin(), angle.cos()], dim=1))
    similarity[8:] = similarity[:, 8:] = 9.0  # outside the part
    found = similarity_by_distance(similarity, 0, 8)
    assert torch.allclose(found, (torch.arange(6.0) * 0.1).cos(), atol=1e-6)
