"""Interactive charts (Altair).

Every channel has its class, as in `alt.X("step:O")`: to make one of a plain name takes Altair 2 ms, and a page has up
to two dozen.
"""
