# SPDX-License-Identifier: Apache-2.0
"""A report in a real browser: pictures of it, its keyboard, its console, and what axe-core finds.

    python -m tools.look_at_report report.html --pictures DIR [--axe axe.min.js] [--chromium /usr/bin/chromium]

Needs the package playwright and Chromium (`apt-get install chromium`); axe-core comes from npm. Exit status 1 where the
console says anything, anything is loaded, the page is wider than the screen, a key does not do what it should, or axe
finds something serious.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

SCREENS = (("light", 1200, 900), ("dark", 1200, 900), ("light", 390, 844), ("dark", 390, 844))
SEVERE = {"serious", "critical"}
AXE = "axe.run().then(r => r.violations.map(v => [v.id, v.impact, v.nodes[0].html.slice(0, 160)]))"


def looked_at(browser: Any, page_file: Path, pictures: Path, axe: str | None) -> list[str]:
    """What is wrong with a report."""
    faults: list[str] = []
    for scheme, width, height in SCREENS:
        name = f"{page_file.stem}-{scheme}-{width}"
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": height})
        page = context.new_page()
        address = page_file.resolve().as_uri()
        said = _listened(page, address)
        page.goto(address)
        page.screenshot(path=pictures / f"{name}.png")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            said.append("wider than the screen")
        said += _keys(page, pictures / f"{name}-detail.png")
        faults += [f"{name}: {fault}" for fault in said]
        context.close()
        if axe is not None:
            # The policy of the page forbids every script but its own, so axe is let in past it.
            context = browser.new_context(
                color_scheme=scheme, viewport={"width": width, "height": height}, bypass_csp=True
            )
            page = context.new_page()
            page.goto(address)
            page.evaluate(
                "document.querySelectorAll('details').forEach((each, at) => { each.open = at < 3; })"
            )
            page.add_script_tag(content=axe)
            faults += [f"{name}: axe {found}" for found in page.evaluate(AXE) if found[1] in SEVERE]
            context.close()
    return faults


def _listened(page: Any, address: str) -> list[str]:
    """A list to which everything is added that a page must not do."""
    said: list[str] = []

    def closed(dialog: Any) -> None:
        said.append("a dialog opened")
        dialog.dismiss()

    def asked(request: Any) -> None:
        if request.url != address:
            said.append(f"loads {request.url}")

    page.on("console", lambda message: said.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("dialog", closed)
    page.on("request", asked)
    return said


def _keys(page: Any, picture: Path) -> list[str]:
    """The keyboard: a cell is reached, opened, left; the next one is shown; Escape closes; search and boxes filter."""
    if not page.locator(".line .c").count():
        return []
    said = []
    first = page.locator(".line .c").first
    first.focus()
    page.keyboard.press("Enter")
    detail = page.locator("#detail")
    if not detail.is_visible():
        said.append("Enter opens nothing")
    before = page.locator("#detail-body").inner_text()
    page.keyboard.press("ArrowRight")
    if (
        page.locator(".line").first.locator(".c").count() > 1
        and page.locator("#detail-body").inner_text() == before
    ):
        said.append("an arrow key shows nothing else")
    page.screenshot(path=picture)
    page.keyboard.press("Escape")
    if detail.is_visible():
        said.append("Escape closes nothing")
    page.fill("#search", "no such command anywhere")
    if "0 calls in 0 sessions" not in page.locator("#found").inner_text():
        said.append("search finds what is not there")
    page.fill("#search", "")
    page.locator("[data-class]").first.uncheck()
    if not page.locator(".c.dim").count() and page.locator(".c.read").count():
        said.append("a class cannot be hidden")
    return said


def main(arguments: list[str] | None = None) -> int:
    """Looks at each report; tells what is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--pictures", type=Path, required=True)
    parser.add_argument("--axe", type=Path)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    args = parser.parse_args(arguments)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        parser.error("the package playwright is not installed")
    args.pictures.mkdir(parents=True, exist_ok=True)
    axe = None if args.axe is None else args.axe.read_text(encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=args.chromium, args=["--no-sandbox"])
        faults = [fault for path in args.reports for fault in looked_at(browser, path, args.pictures, axe)]
        browser.close()
    for fault in faults:
        print(fault)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
