"""The installation of the smoke test: our wheels from the folder, and those of others from an index if one is named."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from release.smoke import environment

pytestmark = pytest.mark.process


def wheel(folder: Path, name: str, version: str, *needs: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    requirements = "".join(f"Requires-Dist: {need}\n" for need in needs)
    content = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requirements}",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for file, text in content.items():
            archive.writestr(f"{name}-{version}.dist-info/{file}", text)


class Index(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def index(folder: Path) -> Iterator[str]:
    """The folder as an index: a page with the links of each of its folders."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Index, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def test_an_index_gives_the_wheels_of_others_and_never_ours(tmp_path: Path):
    wheel(tmp_path / "wheels", "tooltrue", "1.0", "needed")
    wheel(tmp_path / "index" / "needed", "needed", "2.0")
    wheel(tmp_path / "index" / "tooltrue", "tooltrue", "9.9", "needed")
    with environment(Path(sys.executable)) as here:
        with pytest.raises(SystemExit, match="needed"):
            here.install(tmp_path / "wheels", with_extras=False)
        with index(tmp_path / "index") as url:
            here.install(tmp_path / "wheels", with_extras=False, index=url)
        assert {"needed==2.0"} < set(here.run("python", "-m", "pip", "freeze").split())
        assert "Version: 1.0" in here.run("python", "-m", "pip", "show", "tooltrue").splitlines()
