"""The page of the attacks."""

from tools.attack.__main__ import HEAD, page


def test_a_section_is_renewed_in_its_place_and_the_others_stay() -> None:
    first = page("", ["## Links\n\n3 files.", "## Kills\n\nnone lost."])
    assert first == f"{HEAD.strip()}\n\n## Links\n\n3 files.\n\n## Kills\n\nnone lost.\n"
    renewed = page(first, ["## Links\n\n4 files.", "## Uploads\n\n5 files."])
    assert renewed == first.replace("3 files", "4 files") + "\n## Uploads\n\n5 files.\n"
