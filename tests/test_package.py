import subprocess
import sys
from importlib.metadata import version

import pytest

import textsobol


def test_version_is_the_installed_one() -> None:
    assert textsobol.__version__ == version("textsobol")


def test_importing_the_package_is_cheap() -> None:
    """Neither the models' libraries nor even scipy are loaded before they are needed."""
    code = (
        "import sys, textsobol;"
        "heavy = 'torch transformers scipy numpy jinja2 matplotlib'.split();"
        "print([m for m in heavy if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_core_needs_numpy_and_scipy_only() -> None:
    code = (
        "import sys, textsobol.sobol;"
        "print([m for m in ('torch', 'transformers', 'textsobol.text') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_public_names_are_there() -> None:
    assert callable(textsobol.sobol_indices)
    assert set(textsobol.__all__) == set(dir(textsobol))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = textsobol.nothing
