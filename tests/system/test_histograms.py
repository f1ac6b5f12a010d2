"""Class histograms: what jcmd prints, what a file of them keeps, and which classes grew."""

from harness.system.histograms import (
    END,
    MIDDLE,
    START,
    ClassGrowth,
    ClassSize,
    HeapHistogram,
    HeapMoment,
    forced_ms,
    histogram_rows,
    live_heaps,
    printed_classes,
    read_histograms,
)

# What jcmd of OpenJDK 17 prints.
PRINTED = """\
4711:
 num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:          5000        5080000  [B (java.base@17.0.9)
   2:          5000          80000  Leaky$Entry
   3:            12          20000  [Ljava.lang.Object; (java.base@17.0.9)
   4:             1            400  [[I (java.base@17.0.9)
   5:             1             16  shop.Cart$$Lambda$14/0x0000000800c03000
   6:             2             32  shop.Cart$$Lambda$14/0x0000000800c03218
Total         10016        5180448
"""


def test_classes_are_named_as_in_source_code_and_hidden_ones_without_address():
    assert printed_classes(PRINTED.splitlines()) == {
        "byte[]": (5000, 5080000),
        "Leaky$Entry": (5000, 80000),
        "java.lang.Object[]": (12, 20000),
        "int[][]": (1, 400),
        "shop.Cart$$Lambda$14": (3, 48),
    }
    assert printed_classes(["4711:", "java.lang.IllegalStateException: not now"]) == {}


def three(process="shop"):
    """Histograms of a process: Cart grows all the time, Cache only at first, Gone falls."""
    by_moment = {
        START: {"Cart": (10, 100), "Cache": (1, 10), "Gone": (500, 500)},
        MIDDLE: {"Cart": (30, 300), "Cache": (1, 900), "Gone": (300, 300)},
        END: {"Cart": (70, 700), "Cache": (1, 900)},
    }
    return [
        HeapHistogram(
            moment,
            process,
            1_000_000 + 60_000 * number,
            250 + number,
            {name: ClassSize(*size) for name, size in sizes.items()},
        )
        for number, (moment, sizes) in enumerate(by_moment.items())
    ]


def test_histograms_survive_their_file_and_torn_rows_are_skipped():
    lines = ["\t".join(row) for row in histogram_rows([*three(), *three("till")])]
    assert list(read_histograms([*lines, "end\tshop\t11200"])) == [*three(), *three("till")]
    assert read_histograms([]) == ()


def test_classes_that_grew_after_the_middle_are_listed_and_others_are_not():
    (heap,) = live_heaps(three(), 940)
    assert heap.process == "shop"
    assert heap.moments == (
        HeapMoment(START, 60.0, 250, 610),
        HeapMoment(MIDDLE, 120.0, 251, 1500),
        HeapMoment(END, 180.0, 252, 1600),
    )
    assert heap.classes == (ClassGrowth("Cart", (10, 30, 70), (100, 300, 700)),)


def test_two_histograms_are_compared_with_each_other_and_one_with_nothing():
    first, _, last = three()
    (heap,) = live_heaps([first, last], 940)
    assert [growth.class_name for growth in heap.classes] == ["Cache", "Cart"]
    (alone,) = live_heaps([first], 940)
    assert alone.classes == ()


def test_each_histogram_is_a_forced_collection_of_its_process():
    assert forced_ms([*three(), three("till")[0]]) == {
        "shop": (1_000_000, 1_060_000, 1_120_000),
        "till": (1_000_000,),
    }
