"""Marking a class's notebooks: `class_marks` runs them again, `sandbox` and `worker` keep them from doing harm."""
