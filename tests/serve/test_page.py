"""The page in a browser: it loads, shows what happens, adds patterns, outlives a restart of the service."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from motiflux.serve.service import Service
from tests.serve.requests import ask
from tests.serve.test_durability import RING, edges
from tests.serve.test_web import LINES, RECORDS, listening

CHROMIUM = shutil.which("chromium")
PICTURES = os.environ.get("MOTIFLUX_PAGE_PICTURES")
"""A folder for pictures of the page, for those who want to look at it."""
playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium"),
]
SECONDS = 30_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


@pytest.fixture(params=["light", "dark"])
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    phone = request.param == "dark"
    context = browser.new_context(
        color_scheme=request.param,
        viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 900},
    )
    context.set_default_timeout(SECONDS)
    made = context.new_page()
    made.faults = []
    made.on("pageerror", lambda error: made.faults.append(str(error)))
    made.on(
        "requestfailed", lambda sent: made.faults.append(sent.url) if "127.0.0.1" not in sent.url else None
    )
    made.scheme = request.param
    yield made
    context.close()


def keep_picture(page: Any, name: str) -> None:
    if PICTURES is not None:
        page.screenshot(path=f"{PICTURES}/{name}-{page.scheme}.png", full_page=True)


def send(service: Service, lines: bytes) -> None:
    assert ask(service, "POST", RECORDS, lines, Content_Type=LINES)[0] == 200


def test_the_page_shows_what_happens(tmp_path: Path, page: Any) -> None:
    expect = playwright.expect
    given = listening(tmp_path, stream={"attributes": {"amount": "float"}})
    with Service(given) as service:
        port = int(str(service.url).rpartition(":")[2])
        send(service, edges(RING, amount=12.5))
        page.goto(service.url)
        expect(page.locator("#state")).to_have_text("live", timeout=SECONDS)
        expect(page.locator("#records")).to_have_text("3", timeout=SECONDS)
        expect(page.locator("#alerts li")).to_have_count(1, timeout=SECONDS)
        page.locator("#alerts li").scroll_into_view_if_needed()
        expect(page.locator("#alerts img")).not_to_have_js_property("naturalWidth", 0, timeout=SECONDS)
        expect(page.locator("#rates .scatterlayer path")).not_to_have_count(0, timeout=SECONDS)
        send(service, edges([("c", "x"), ("x", "b"), ("x", "y")], amount=7.0))
        expect(page.locator("#alerts li")).to_have_count(2, timeout=SECONDS)
        expect(page.locator("#alerts li").first).to_contain_text("amount 7")
        expect(page.locator(".pattern", has_text="ring3").locator(".counts")).to_contain_text("2 appeared")

        page.locator("#adding summary").click()
        page.locator("input[name=name]").fill("two")
        page.locator("input[name=pattern]").fill("(a)-->(b")
        page.locator("#add button").click()
        expect(page.locator("#add-error")).to_contain_text("column", timeout=SECONDS)
        page.locator("input[name=pattern]").fill("(a)-->(b)-->(c)")
        page.locator("input[name=backfill]").check()
        page.locator("#add button").click()
        expect(page.locator(".pattern", has_text="two")).to_contain_text("now", timeout=SECONDS)
        page.locator(".pattern", has_text="ring4").locator(".turn").click()
        expect(page.locator(".pattern", has_text="ring4")).to_contain_text(
            "paused by request", timeout=SECONDS
        )

        page.locator("#alerts button").first.click()
        expect(page.locator("#around-picture")).not_to_have_js_property("naturalWidth", 0, timeout=SECONDS)
        keep_picture(page, "around")
        page.locator("#around button").click()
        width = page.viewport_size["width"]
        expect(page.locator("html")).to_have_js_property("scrollWidth", width, timeout=SECONDS)
        keep_picture(page, "page")
    expect(page.locator("#state")).to_contain_text("connection lost", timeout=SECONDS)
    given["service"]["listen"] = f"127.0.0.1:{port}"
    with Service(given) as service:
        expect(page.locator("#state")).to_have_text("live", timeout=SECONDS)
        expect(page.locator(".pattern")).to_have_count(3, timeout=SECONDS)
        expect(page.locator("#alerts li")).to_have_count(2, timeout=SECONDS)
        send(service, edges([("y", "c")]))
        expect(page.locator("#alerts li").first).to_contain_text("two", timeout=SECONDS)
    assert page.faults == []


def test_the_page_asks_for_the_token(tmp_path: Path, page: Any) -> None:
    expect = playwright.expect
    (tmp_path / "token").write_text("a-token-of-this-test")
    with Service(listening(tmp_path, service={"token_file": str(tmp_path / "token")})) as service:
        page.goto(service.url)
        page.locator("#token").fill("another-one-than-this")
        page.locator("#login button").click()
        expect(page.locator("#login-error")).to_have_text("This is not the token.", timeout=SECONDS)
        page.locator("#token").fill("a-token-of-this-test")
        page.locator("#login button").click()
        expect(page.locator("#state")).to_have_text("live", timeout=SECONDS)
        assert page.faults == []
