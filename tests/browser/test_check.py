"""The Check page in a browser."""

import re

from playwright.sync_api import Page, expect

import dpviz
from dpviz.fields import numbers
from dpviz.mechanisms import Shuffled
from tests.browser.driver import headline, main_area, open_page, wait_idle

PROGRAM = """\
loader = DataLoader(rows, batch_size=256, shuffle=True)  # n = 60000
model, optimizer, loader = PrivacyEngine().make_private(
    module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.1, max_grad_norm=1.0,
    poisson_sampling=False)
for epoch in range(60):
    for x, y in loader:
        optimizer.step()
n, delta, epsilon = 60000, 1e-5, 3
max_examples_per_user = 5
n_trials = 40
"""


def test_an_engineer_pastes_a_program_once_and_reaches_every_answer_in_few_actions(page: Page) -> None:
    """From Home: verdict, σ for the claimed ε, best attack and card, in at most five actions each.

    The titles of page and tab follow the question.
    """
    open_page(page)
    title = main_area(page).locator("h1")
    main_area(page).get_by_role("link", name="Check a program").click()
    page.wait_for_url("**/check*")
    wait_idle(page)
    expect(title).to_have_text("Check a program")
    expect(page).to_have_title(re.compile("^Check a program · dpviz"))
    main_area(page).get_by_role("radio", name="From code").click()
    main_area(page).get_by_role("textbox", name="Paste code").fill(PROGRAM)
    page.get_by_role("button", name="Fill the form").click()
    expect(headline(page)).to_contain_text("The claimed ε = 3 is too low by a factor of at least", timeout=60_000)
    actions = 4  # the door, “From code”, the text, the button

    def onward(way: str, there: str) -> None:
        wait_idle(page)
        page.get_by_role("navigation", name="Questions about my run").get_by_role("button", name=way).click()
        expect(title).to_contain_text(there)
        wait_idle(page)
        expect(title).to_have_count(1)
        expect(page).to_have_title(re.compile(f"^{re.escape(title.inner_text())} · "))

    plan = {"steps": 60, "delta": 1e-5, "runs": 40, "law": "fixed"}
    onward("Noise", "Solve for σ")
    assert actions + 1 <= 5
    best = re.compile(r"For the best of 40 runs: σ = (\S+)\.")
    expect(headline(page)).to_have_text(best)
    sigma = float(best.search(headline(page).inner_text())[1])  # type: ignore[index]
    reached, missed = (
        dpviz.tuned_epsilon(mechanism=dpviz.of_person(Shuffled(sigma * share, 234), 5), **plan)  # type: ignore[arg-type]
        for share in (1.0, 0.98)
    )
    assert reached <= 3 < missed
    onward("Attack", "Which attacks are possible?")
    expect(headline(page)).to_have_text("After 60 epochs, an attack may be right every time (chance: 50 %).")
    onward("Claim", "Check · Guarantee card")
    epsilon = dpviz.tuned_epsilon(mechanism=dpviz.of_person(Shuffled(1.1, 234), 5), **plan)  # type: ignore[arg-type]
    expect(headline(page)).to_contain_text(f"ε ≤ {numbers.up(epsilon)} at δ = 1e-5 for one person", timeout=60_000)
    main_area(page).get_by_text("Use it", exact=True).click()
    wait_idle(page)
    expect(
        main_area(page).get_by_text("accounted for: shuffled anew in every epoch; as run: shuffled").first
    ).to_be_visible()
    expect(main_area(page).get_by_text("As Markdown", exact=True)).to_be_visible()
    main_area(page).get_by_role("combobox", name="Question").click()
    page.get_by_role("option", name="Check a program").click()
    expect(title.first).to_have_text("Check a program")
    expect(page).to_have_title(re.compile("^Check a program · "))
