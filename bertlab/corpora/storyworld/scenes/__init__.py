"""The scenes that documents are made of: each tells a few sentences and moves the state of its world on."""

from bertlab.corpora.storyworld.scenes import errands, home, nature, people, reasons, trips

OPENINGS = people.OPENINGS
CLOSINGS = people.CLOSINGS
SCENES = (*errands.SCENES, *home.SCENES, *people.SCENES, *trips.SCENES, *nature.SCENES)
BECAUSE = reasons.SCENES
