"""Colours that colour-blind readers tell apart: Okabe and Ito's eight, each with a shape of its own."""

OKABE_ITO = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#B5A800", "#7F7F7F"]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "stroke"]
SIGNS = "●■▲◆✚▼▶━"  # the same shapes as text
BLUE, ORANGE, GREEN, PINK = OKABE_ITO[:4]
GREY = OKABE_ITO[-1]
