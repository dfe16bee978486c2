"""A chapter as slides for a lecture: `cut` chooses and divides the cells, `write` makes one HTML file of them."""

from bertlab.course.slides.write import find_chapter, write_slides

__all__ = ["find_chapter", "write_slides"]
