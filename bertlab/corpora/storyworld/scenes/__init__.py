"""The scenes that documents are made of: each writes a few sentences and changes the state of its world."""

from bertlab.corpora.storyworld.scenes import errands, home, nature, people, reasons, trips

OPENINGS = people.OPENINGS
CLOSINGS = people.CLOSINGS
SCENES = (*errands.SCENES, *home.SCENES, *people.SCENES, *trips.SCENES, *nature.SCENES)
BECAUSE = reasons.SCENES
