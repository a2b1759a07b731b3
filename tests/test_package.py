"""What is installed is what is needed: the wheel has the network, the page and the settings, and nothing of our own."""

import subprocess
import sys

import package
import pytest


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    pytest.importorskip("build", reason="needs build: pip install -e '.[dev]'")
    pytest.importorskip("hatchling", reason="needs hatchling: pip install -e '.[dev]'")
    return package.files_of(*package.build(tmp_path_factory.mktemp("dist")))


def test_the_wheel_is_whole_and_has_nothing_else(files):
    wheel, sdist = files
    source = package.ROOT / "src"
    wanted = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    wanted = {name for name in wanted if "__pycache__" not in name and ".egg-info" not in name}
    assert {name for name in wheel if ".dist-info/" not in name} == wanted
    assert {f"src/{name}" for name in wanted} <= sdist and not any(name.startswith("docs") for name in sdist)


def test_figures_and_baselines_are_attributes_and_cost_nothing_until_used():
    script = (
        "import sys, rnnlens\n"
        "heavy = {'torch', 'plotly', 'sklearn', 'polars', 'numpy'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert {'figures', 'baselines'} <= set(dir(rnnlens))\n"
        "assert rnnlens.figures.barcodes.__module__.startswith('rnnlens.figures')\n"
        "assert rnnlens.baselines.BagOfWords().get_params()['random_state'] is None\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
