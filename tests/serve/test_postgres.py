"""PostgreSQL as a sink."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motiflux.serve.service import Service
from tests.serve.test_durability import RING, edges, fed, service_in

FOLDERS = ":".join(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"))))
INITDB, POSTGRES = (shutil.which(name, path=FOLDERS) for name in ("initdb", "postgres"))
dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs the package adbc-driver-postgresql")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(POSTGRES is None, reason="needs Debian's postgresql"),
]


@pytest.fixture
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server in a folder of its own; give its address."""
    folder = tmp_path_factory.mktemp("postgres")
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:  # which the server refuses
        user = pwd.getpwnam("postgres")
        for place in (folder, *folder.parents[:2]):
            place.chmod(place.stat().st_mode | 0o011)
        os.chown(folder, user.pw_uid, user.pw_gid)
        as_user = {"user": "postgres"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert INITDB is not None
    assert POSTGRES is not None
    data = str(folder / "data")
    options: dict[str, Any] = {
        "cwd": folder,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        **as_user,
    }
    subprocess.run([INITDB, "-D", data, "-U", "test", "-A", "trust"], check=True, **options)
    command = [POSTGRES, "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-F"]
    with subprocess.Popen(command, **options) as process:
        try:
            yield f"postgresql://test@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()


def test_alerts_are_inserted_once(tmp_path: Path, address: str) -> None:
    (tmp_path / "uri").write_text(f"{address}\n")
    given = service_in(tmp_path)
    given["sinks"] = [{"name": "db", "type": "postgres", "uri_file": str(tmp_path / "uri")}]
    with Service(given) as service:
        fed(service, edges(RING))
        assert service.wait_until_idle(60.0)
    with sqlite3.connect(tmp_path / "state/log.sqlite") as log:
        log.execute("UPDATE sinks SET delivered = 0")  # as if the kill had come before it was written
    with Service(given) as service:
        fed(service, edges([("c", "x"), ("x", "b")]))
        assert service.wait_until_idle(60.0)
        assert service.figures.delivered == {"db": 2}
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT number, pattern, sign, body->>'source' FROM alerts ORDER BY number")
        assert cursor.fetchall() == [(1, "ring3", 1, "bank"), (2, "ring3", 1, "bank")]
