"""Shows the examples of docstrings as code: the site's parser knows them as "Examples" only."""

from typing import Any

from griffe import Extension, Object


class Examples(Extension):
    """Renames the section ``Example`` of every docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rename it in one docstring."""
        if obj.docstring is not None:
            value = obj.docstring.value
            obj.docstring.value = value.replace("\nExample:\n", "\nExamples:\n")
