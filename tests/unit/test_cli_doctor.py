"""``motiflux doctor``."""

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from motiflux.cli import doctor
from tests.unit.cli_run import motiflux, only_json


def test_a_working_installation_is_exit_0() -> None:
    result = motiflux("doctor", "--json")
    assert result.exit_code == 0
    fields = only_json(result)
    assert fields["ok"] is True
    checks = {check["check"]: check for check in fields["checks"]}
    assert {"Python", "motiflux", "numpy", "CPU engine", "CPU", "NVIDIA driver", "cupy"} <= set(checks)
    assert all(check["advice"] for check in checks.values() if not check["ok"])
    assert "The CPU engine works." in motiflux("doctor").stdout


def test_a_broken_extension_is_found_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import motiflux as package

    def fail(*_: object, **__: object) -> int:
        raise ImportError("libexample.so.1: no such file")

    monkeypatch.setattr(package, "count", fail)
    result = motiflux("doctor", "--json")
    assert result.exit_code == 3
    engine = next(check for check in only_json(result)["checks"] if check["check"] == "CPU engine")
    assert not engine["ok"]
    assert "libexample.so.1" in engine["found"]
    assert "make setup" in engine["advice"]


def test_a_missing_package_is_not_sought_on_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", missing)
    assert doctor._package("motiflux").advice == "in the clone: make setup"


def test_a_wrong_count_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import motiflux as package

    monkeypatch.setattr(package, "count", lambda *_, **__: 5)
    assert motiflux("doctor").exit_code == 3


def test_modules_are_found_without_importing_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "examplepackage"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "core.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert doctor._module("examplepackage.core").ok
    assert not doctor._module("examplepackage.other").ok
    assert "examplepackage" not in sys.modules
