"""Loads a program of the project, whose name has no .py, as a module."""
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load(path):
    loader = SourceFileLoader(Path(path).name, str(ROOT / path))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
