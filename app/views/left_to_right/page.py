"""Left to right: one gap, filled by a model that reads the words before it alone, and by BERT."""

from app.shared.page import layout
from app.views.left_to_right import sides

layout.heading(
    "Left to right, or both sides?",
    "One model has read only the words before the gap, BERT those on both sides. What does the first one miss?",
)
with layout.box():
    sides.show()
