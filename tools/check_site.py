"""Look at the built documentation in a browser: build/site, as make docs writes it.

    python tools/check_site.py                     all pages, light and dark, 1280 and 400 pixels wide
    python tools/check_site.py --pictures FOLDER   and a picture of each
    python tools/check_site.py --only index.md     pages whose address begins so

Each fault is printed on a line:

- links and anchors that lead nowhere, files that are missing, requests to anything but the site;
- pages that scroll sideways, a dark page that is light, errors on the console;
- formulas that are not drawn, code that a wide window cuts, two asterisks within a word;
- a search that finds nothing.

Exit status 0 all well, 1 something is wrong, 2 nothing to look at.

Needs Playwright (pip install playwright) and Chromium, Debian's or the one that --browser names.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

SITE = Path(__file__).resolve().parents[1] / "build" / "site"
WIDTHS = (1280, 400)
SCHEMES = ("light", "dark")
TABS = 4
SEARCH = "input.md-search__input"
SEARCH_TRIES = 30
NO_INDEX = {"config": {"lang": ["en"], "separator": "[\\s\\-]+", "pipeline": [], "fields": {}}, "docs": []}
STILL = "*, *::before, *::after { transition: none !important; animation: none !important; }"
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"

# How far the page reaches beyond the window and by what, its background, formulas without a size, code that is cut,
# and bold text within a word. Bold text there is often a power in Python.
LOOK = """() => {
    const root = document.scrollingElement, width = root.clientWidth;
    const scrolls = (e) => { for (; e && e !== document.body; e = e.parentElement)
        if (getComputedStyle(e).overflowX !== 'visible' || getComputedStyle(e).position === 'fixed') return true;
        return false; };
    const wide = root.scrollWidth > width
        ? [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e))
            .slice(0, 3).map(e => e.tagName.toLowerCase() + ' ' + (e.textContent || '').trim().slice(0, 40)) : [];
    const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).map(Number);
    const formulas = [...document.querySelectorAll('article math')].filter(e => e.checkVisibility());
    const cut = [...document.querySelectorAll('article pre > code')].filter(e => e.scrollWidth > e.clientWidth + 1);
    const bold = [...document.querySelectorAll('article strong')].filter(e => /\\w$/.test(e.previousSibling?.data || ''));
    return {beyond: root.scrollWidth - width, wide, brightness: (red + green + blue) / 3,
            cut: cut.map(e => e.textContent.split('\\n').sort((a, b) => b.length - a.length)[0].trim().slice(0, 60)),
            bold: bold.map(e => e.textContent.slice(0, 40)),
            blank: formulas.filter(e => !(e.getBoundingClientRect().width > 0)).length,
            raw: document.querySelectorAll('.arithmatex').length};
}"""


class Links(HTMLParser):
    """The targets of a page's links, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif name in ("href", "src"):
                self.targets.append(value)


def broken_links(site: Path) -> list[str]:
    """Links between pages, and to files and anchors, that lead nowhere."""
    pages = {
        path.relative_to(site).as_posix(): Links(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
    }
    wrong = []
    for name, page in pages.items():
        for target in dict.fromkeys(page.targets):
            if urlsplit(target).scheme or target.startswith("//"):
                continue
            address, anchor = urldefrag(urljoin(f"/{name}", target))
            end = unquote(address).lstrip("/") or "index.html"
            if end.endswith("/"):
                end += "index.html"
            if end in pages:
                if anchor and unquote(anchor) not in pages[end].anchors and not anchor.startswith("__"):
                    wrong.append(f"{name}: {target} leads to no anchor")
            elif not (site / end).exists():
                wrong.append(f"{name}: {target} leads nowhere")
    return wrong


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The site's address while it is served on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


async def look(page: Any, wrong: list[str], address: str, name: str, pictures: Path | None) -> None:
    """Add to `wrong`, where the page's events go as well, what is wrong with one address in all schemes and widths."""
    await page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    await page.goto(address + name)
    await page.add_style_tag(content=STILL)
    for width in WIDTHS:  # outside, as a width takes a layout
        await page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme)
            await page.evaluate(TWO_FRAMES)
            seen = await page.evaluate(LOOK)
            at = f"{scheme}, {width} pixels"
            if seen["beyond"] > 0:
                wrong.append(f"{at}: scrolls sideways by {seen['beyond']}: {'; '.join(seen['wide'])}")
            if (seen["brightness"] < 128) != (scheme == "dark"):
                wrong.append(f"{at}: the background has brightness {seen['brightness']:.0f} of 255")
            if seen["blank"] or seen["raw"]:
                wrong.append(f"{at}: {seen['blank']} formulas without a size, {seen['raw']} not made")
            if seen["bold"]:
                wrong.append(f"bold text within a word: {'; '.join(seen['bold'])}")
            if seen["cut"] and width == WIDTHS[0] and not name.startswith("notebooks/"):
                wrong.append(f"{at}: code is cut: {'; '.join(seen['cut'])}")
            if pictures:
                await page.wait_for_timeout(200)  # the compositor is behind
                file = pictures / f"{name.removesuffix('.html').replace('/', '_')}-{scheme}-{width}.png"
                await page.screenshot(path=file, full_page=True)


async def search(chromium: Any, address: str) -> list[str]:
    """The faults of the site's search."""
    from playwright.async_api import TimeoutError

    page = await chromium.new_page()
    await page.goto(address + "index.html")
    if not await page.locator(SEARCH).count():
        return ["index.html: no search"]
    found = page.locator("a.md-search-result__link").first
    try:
        for _ in range(SEARCH_TRIES):  # a query that precedes the page's listener is lost
            await page.fill(SEARCH, "matmul")
            await page.press(SEARCH, "End")
            with suppress(TimeoutError):
                await found.wait_for(timeout=5_000)
                return []
    finally:
        await page.close()
    return ["index.html: the search finds nothing"]


def is_foreign(url: str, address: str) -> bool:
    return not url.startswith((address, "data:", "blob:"))


async def look_at_all(names: list[str], address: str, browser: str, pictures: Path | None) -> list[str]:
    """The faults of the pages, several at a time, and of the search."""
    from playwright.async_api import async_playwright

    found: list[str] = []
    left = iter(names)

    async def one_tab(chromium: Any) -> None:
        context = await chromium.new_context(
            reduced_motion="reduce"
        )  # a context for each tab: then each has a separate process
        page = await context.new_page()
        wrong: list[str] = []
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and wrong.append(f"console: {said.text}"),
        )
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("response", lambda got: got.status >= 400 and wrong.append(f"{got.url}: {got.status}"))
        page.on("request", lambda asked: is_foreign(asked.url, address) and wrong.append(f"asks {asked.url}"))
        # Every page would make the whole index of the search anew, which takes longer than all else.
        await page.route("**/search_index.json", lambda route: route.fulfill(json=NO_INDEX))
        for name in left:
            await look(page, wrong, address, name, pictures)
            found.extend(f"{name}: {what}" for what in dict.fromkeys(wrong))
            wrong.clear()

    async with async_playwright() as playwright:
        # Without Chromium's sandbox, as in containers; nothing but the site is opened.
        chromium = await playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        await asyncio.gather(*(one_tab(chromium) for _ in range(TABS)))
        if "index.html" in names:
            found += await search(chromium, address)
        await chromium.close()
    return sorted(found)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--site", type=Path, default=SITE, metavar="FOLDER", help="where the pages are")
    parser.add_argument("--only", default="", metavar="NAME", help="pages whose address begins so")
    parser.add_argument(
        "--pictures", type=Path, metavar="FOLDER", help="where to write pictures of the pages"
    )
    parser.add_argument("--browser", default=shutil.which("chromium"), metavar="PROGRAM", help="Chromium")
    options = parser.parse_args(arguments)
    names = sorted(path.relative_to(options.site).as_posix() for path in options.site.rglob("*.html"))
    names = [name for name in names if name.startswith(options.only.removesuffix(".md"))]
    if not names:
        print(f"check_site: no pages in {options.site}; make docs writes them", file=sys.stderr)
        return 2
    if options.browser is None:
        print("check_site: no chromium here; on Debian and Ubuntu: apt install chromium", file=sys.stderr)
        return 2
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    wrong = broken_links(options.site)
    with served(options.site) as address:
        wrong += asyncio.run(look_at_all(names, address, options.browser, options.pictures))
    for what in wrong:
        print(what, file=sys.stderr)
    print(f"{len(names)} pages, {len(SCHEMES)} schemes, {len(WIDTHS)} widths: {len(wrong)} things wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
