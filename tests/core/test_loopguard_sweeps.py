"""Reads of a file in ranges: coverage decides."""

from osiris.core.loop_call import Call
from tests.core.loopguard_cases import call, edit, first, levels, read


def test_further_passes_over_read_pages_are_seen_by_coverage_alone() -> None:
    def pages(start: int) -> list[Call]:
        return [read("big.rs", f"from {at}", offset=at, limit=40) for at in range(start, 400, 40)]

    found = levels([*pages(1), *pages(21), *pages(11), *pages(31)])

    assert (first(found, "warn"), first(found, "block")) == (15, 32)
    assert set(found[:14]) == {"none"}


def test_coming_back_to_one_page_is_no_second_pass() -> None:
    pages = [read("a.py", f"part {n}", offset=40 * n + 1, limit=40) for n in range(10)]
    back = [read("a.py", f"again {n}", offset=100 + n, limit=30) for n in range(12)]

    assert set(levels([*pages, *back])) == {"none"}


def test_pages_that_overlap_by_a_third_are_one_pass() -> None:
    pages = [read("a.py", f"part {n}", offset=40 * n + 1, limit=60) for n in range(20)]

    assert set(levels(pages)) == {"none"}


def test_the_passes_of_several_files_are_told_apart() -> None:
    def pages(start: int) -> list[Call]:
        return [
            read(f"{name}.rs", f"{name} from {at}", offset=at, limit=40)
            for at in range(start, 200, 40)
            for name in "abc"
        ]

    assert first(levels([*pages(1), *pages(21)]), "warn") == 15 + 7


def test_a_write_between_two_passes_makes_the_second_one_fair() -> None:
    first_pass = [read("a.py", f"v1 {n}", offset=40 * n + 1, limit=40) for n in range(10)]
    second_pass = [read("a.py", f"v2 {n}", offset=40 * n + 21, limit=40) for n in range(9)]

    assert set(levels([*first_pass, edit(1), *second_pass])) == {"none"}


def test_reading_a_long_file_in_growing_ranges_is_no_loop() -> None:
    pages = [
        call("bash", {"command": f"sed -n '{n * 200 + 1},{n * 200 + 200}p' a.log"}, f"page {n}")
        for n in range(164)
    ]

    assert set(levels(pages)) == {"none"}
