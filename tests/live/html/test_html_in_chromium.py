"""The HTML report as a reviewer uses it, in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def active_text(page: Any) -> str:
    return str(page.evaluate("document.activeElement.innerText || document.activeElement.id"))


def open_first(page: Any) -> None:
    page.click("#rows a >> nth=0")
    page.wait_for_selector("#page:not([hidden]) #page-title")


def test_it_opens_with_thousands_of_functions(opened: Any) -> None:
    page = opened.page
    assert page.title() == "funcmem: 3 leaks in 5000 functions"
    assert opened.found() == "5000 functions"
    assert page.locator("#rows li").count() < 80
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_selector("#rows li[aria-posinset='5000']")
    assert page.locator("#rows li").count() < 80
    # Leaks come first, so what was scrolled to is an error.
    assert page.inner_text("#rows li[aria-posinset='5000'] .badge") == "error"


def test_filters(opened: Any) -> None:
    page = opened.page
    page.check("#verdicts input[value=functional]")
    assert opened.found() == "2 of 5000 functions"
    page.check("#verdicts input[value=verbatim]")
    assert opened.found() == "3 of 5000 functions"
    page.click("#clear")
    page.check("#languages input[value=rust]")
    assert opened.found() == "1666 of 5000 functions"
    page.fill("#path", "part_03/")
    assert opened.found() == "42 of 5000 functions"
    page.select_option("#order", "path")
    names = page.locator("#rows .name b").all_inner_texts()
    assert names[:2] == ["rule_0003", "rule_0603"]
    # The address holds the filters.
    opened.go("#/?verdict=verbatim")
    assert opened.found() == "1 of 5000 functions"
    assert page.is_checked("#verdicts input[value=verbatim]")
    page.click(".tile.error")
    assert opened.found() == "1 of 5000 functions"


def test_near_duplicates(opened: Any) -> None:
    page = opened.go("#/f/4")
    page.wait_for_selector("#near-title")
    link = page.locator("section[aria-labelledby=near-title] a").first
    assert "the same tokens" in link.locator("xpath=..").inner_text()
    link.click()
    page.wait_for_function("location.hash !== '#/f/4'")
    assert opened.complaints == []


def test_several_models(chromium: Any, report_on_models: Path) -> None:
    page = chromium.new_page(viewport={"width": 360, "height": 800})
    page.goto(report_on_models.as_uri())
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#found").inner_text() == "4 results"
    page.get_by_role("checkbox", name="late").check()
    assert page.locator("#found").inner_text() == "2 of 4 results"
    assert "late" in page.locator("#rows li").first.inner_text()
    page.get_by_role("link", name="early", exact=True).click()
    assert page.locator("#rows li").count() == 2
    assert page.get_by_role("checkbox", name="early").is_checked()
    page.locator("#rows a").first.click()
    page.wait_for_selector("#page-title")
    others = page.locator(".elsewhere")
    assert others.inner_text().startswith("With other models: late ")
    others.get_by_role("link").click()
    page.wait_for_function("document.querySelector('.place').textContent.includes('[late]')")
    page.close()


def test_search(opened: Any) -> None:
    page = opened.page
    page.fill("#search", "RULE_49 module_13")
    assert opened.found() == "10 of 5000 functions"
    page.fill("#search", "in other words")  # words of the reason
    assert opened.found() == "1 of 5000 functions"
    page.fill("#search", "no such function")
    assert opened.found() == "0 of 5000 functions"
    assert "No function passes" in page.inner_text("#rows")


def test_page_of_a_function(opened: Any) -> None:
    page = opened.page
    open_first(page)
    assert page.inner_text("#page-title") == "functional settle_invoice"
    assert "SIM_func 0.90 ≥ 0.8" in page.inner_text(".reason")
    heads = page.locator(".diff thead th").all_inner_texts()
    assert [head.lower() for head in heads if head in ("original", "target", "reference")] == [
        "original",
        "target",
        "reference",
    ]
    diff = page.inner_text(".diff")
    for line in ("grace = 14 if customer.is_loyal else 7", "late_fee = 250.0", "return amount * 1.1"):
        assert line in diff
    assert "allowed" in page.locator(".diff .mchanged b").all_inner_texts()
    assert page.locator(".states tbody tr").count() == 10
    assert page.locator(".states .match").count() == 10  # nine of the target's, one of the reference's
    assert "target's output matches the original's on 9, the reference's on 1" in page.inner_text("#page")
    harness = page.inner_text("section[aria-labelledby=harness-title]")
    assert "19 of 22 mutants told apart (86 %)" in harness
    assert "10 of 10 lines (100 %)" in harness
    page.click("summary:has-text('5 proofs')")
    assert "stub:echo amount" in page.inner_text("section[aria-labelledby=harness-title]")


def test_a_function_that_broke_has_a_page(opened: Any) -> None:
    page = opened.go("#/f/2")
    page.wait_for_selector("#page-title")
    assert page.inner_text("#page-title") == "error settle_invoice"
    assert "the engine is gone" in page.inner_text(".reason")
    assert page.locator(".diff thead th").count() == 2


def test_hostile_text_is_shown_and_not_obeyed(opened: Any) -> None:
    page = opened.go("#/f/3")
    page.wait_for_selector("#page-title")
    for fold in page.locator("#page details").all():
        fold.evaluate("fold => { fold.open = true; }")
    text = page.inner_text("#page")
    assert text.count("<img src=x onerror=") > 8
    assert page.locator("#page img").count() == 0
    assert page.title().startswith("functional: </script>")
    assert page.inner_text(".log h3 >> nth=0") == "original"
    assert page.locator(".log .logs > div >> nth=0").locator("li").count() == 2
    assert page.locator(".log .logs > div >> nth=2").locator("li").count() == 1


def test_nothing_but_its_own_script_runs(chromium: Any, report: Path) -> None:
    page = chromium.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.evaluate(
        """() => {
          const script = document.createElement("script");
          try { script.textContent = "window.ran = 1"; } catch { return; }
          document.body.append(script);
        }"""
    )
    assert page.evaluate("window.ran") is None
    page.close()


def test_keyboard_alone(opened: Any) -> None:
    page = opened.page
    press = page.keyboard.press
    press("/")
    assert active_text(page) == "search"
    page.keyboard.type("rule_00")
    assert opened.found() == "100 of 5000 functions"
    press("ArrowDown")
    assert "rule_0000" in active_text(page)
    press("ArrowDown")
    press("j")
    assert "rule_0002" in active_text(page)
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press("End")
    assert "rule_0099" in active_text(page)
    assert page.evaluate("document.activeElement.getBoundingClientRect().bottom <= innerHeight")
    press("PageUp")
    press("Home")
    press("ArrowDown")
    press("Enter")
    page.wait_for_selector("#page-title:has-text('rule_0001')")
    press("n")
    page.wait_for_selector("#page-title:has-text('rule_0002')")
    press("p")
    page.wait_for_selector("#page-title:has-text('rule_0001')")
    press("Escape")
    page.wait_for_selector("#page", state="hidden")
    assert "rule_0001" in active_text(page)
    assert opened.found() == "100 of 5000 functions"
    press("?")
    assert page.is_visible("#help")
    press("Escape")
    assert not page.is_visible("#help")


def test_tab_reaches_the_list_in_one_step(opened: Any) -> None:
    page = opened.page
    page.focus("#clear")
    page.keyboard.press("Tab")
    assert "settle_invoice" in active_text(page)
    page.keyboard.press("Tab")
    assert not page.evaluate("document.getElementById('rows').contains(document.activeElement)")


def test_theme_follows_the_system_and_can_be_switched(chromium: Any, report: Path) -> None:
    page = chromium.new_context(color_scheme="dark").new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready]")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: light"
    assert page.evaluate(ground) == "rgb(255, 255, 255)" != dark
    page.keyboard.press("t")
    assert page.evaluate(ground) == dark
    page.context.close()


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("route", ["", "#/f/0", "#/f/3"])
def test_nothing_is_wider_than_the_screen(opened: Any, width: int, route: str) -> None:
    opened.page.set_viewport_size({"width": width, "height": 800})
    page = opened.go(route)
    if route:
        page.wait_for_selector("#page-title")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if not route:
        assert page.locator("#rows li").count() > 5


@pytest.mark.parametrize(
    ("theme", "width", "route"),
    [("light", 1400, ""), ("dark", 360, ""), ("dark", 1400, "#/f/0"), ("light", 360, "#/f/3")],
)
def test_no_serious_accessibility_fault(
    chromium: Any, report: Path, theme: str, width: int, route: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, bypass_csp=True
    )
    page = context.new_page()
    page.goto(report.as_uri() + route)
    page.wait_for_selector("html[data-ready]")
    if route:
        page.wait_for_selector("#page-title")
    for fold in page.locator("details").all():
        fold.evaluate("fold => { fold.open = true; }")
    found = Axe().run(page).response["violations"]
    context.close()
    serious = [
        f"{fault['id']}: {fault['nodes'][0]['html'][:200]} {fault['nodes'][0].get('failureSummary', '')}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_it_prints_well(opened: Any) -> None:
    page = opened.page
    page.fill("#search", "rule_000")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#rows li").count() == 10
    assert page.locator("#overview details:not([open])").count() == 0
    page.emulate_media(media="print")
    assert not page.is_visible("#filters")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#overview details[open]").count() == 0
    page.fill("#search", "")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert "4600 more functions not printed" in page.inner_text("#unprinted")
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_overview_needs_no_script(chromium: Any, report: Path) -> None:
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto(report.as_uri())
    assert "3 leaks in 5000 functions" in page.inner_text("h1")
    assert page.locator("svg.chart").count() == 2
    assert "need JavaScript" in page.inner_text("#functions")
    page.context.close()
