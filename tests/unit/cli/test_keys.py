"""Keys that are made at once."""

from __future__ import annotations

import inspect
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tooltrue.cli import keys_verb
from tooltrue.errors import ConfigurationError


def test_of_those_that_make_a_key_of_one_name_at_once_one_does(tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    new = keys_verb.command.commands["new"].callback
    assert new is not None
    make = inspect.unwrap(new)  # loaded commands reserve standard output, for one thread only

    def made(name: str) -> str:
        try:
            make(name, (), None, path)
        except ConfigurationError as error:
            return error.code
        return "made"

    names = ["ada", "bob", "eve"]
    with ThreadPoolExecutor(4) as pool:
        said = [*pool.map(made, [name for name in names for _ in range(4)])]
    assert sorted(said) == ["TT4204"] * 9 + ["made"] * 3
    assert sorted(tomllib.loads(path.read_text())) == names
