"""The phases of a step keep the order of what conflicts, and let the rest run together."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from staticgraph.compiler.lower.parallel_schedule import MOST_CHUNKS, ByteSpan, ScheduledPart, Task, schedule


def task(*chunks: int, cost: float = 1e5, reads=(), writes=(), shared: int = 0, ahead=()) -> Task:
    def spans(blocks):
        return tuple(ByteSpan(0, 64 * b, 64 * b + 64) for b in blocks)

    return Task(chunks or (1,), cost, spans(reads), spans(writes), shared, tuple(map(spans, ahead)))


def chunks(*tasks: Task) -> list[list[int]]:
    """The chunks of the parts of each phase."""
    return [[part.chunks for part in phase] for phase in schedule(tasks).phases]


def test_independent_work_shares_a_phase():
    assert chunks(task(4, writes=[0]), task(8, writes=[1]), task(2, reads=[0, 1], writes=[2])) == [
        [4, 8],
        [2],
    ]


def test_work_waits_for_what_it_reads_and_for_readers_of_what_it_overwrites():
    first, reader = task(4, writes=[0]), task(4, reads=[0], writes=[1])
    assert chunks(first, reader, task(4, writes=[0])) == [[4], [4], [4]]
    assert chunks(first, reader, task(4, reads=[0], writes=[2])) == [[4], [4, 4]]


def test_what_is_left_of_small_work_needs_no_thread_of_its_own():
    large, small = task(1, cost=1e5, writes=[0]), task(1, cost=10.0, writes=[1])
    assert chunks(task(4, writes=[2]), large, small) == [[4, 1]]
    first = task(4, writes=[0])
    after = task(1, cost=1e5, reads=[0], writes=[1]), task(1, cost=10.0, reads=[0], writes=[2])
    assert chunks(first, *after, task(4, reads=[1, 2], writes=[3])) == [[4], [1], [4]]


def test_part_of_a_block_conflicts_with_the_whole():
    whole = Task((4,), 1e5, (), (ByteSpan(0, 0, 4096),))
    half = Task((4,), 1e5, (ByteSpan(0, 2048, 4096),), (ByteSpan(1, 0, 64),))
    elsewhere = Task((4,), 1e5, (ByteSpan(0, 4096, 8192),), (ByteSpan(1, 64, 128),))
    assert chunks(whole, half, elsewhere) == [[4, 4], [4]]


def test_phases_of_one_task_follow_each_other_beside_other_tasks():
    assert chunks(task(4, 1, writes=[0]), task(8, 3, 2, writes=[1])) == [[4, 8], [3, 1], [2]]


def test_operands_that_are_there_are_prepared_beside_serial_work():
    maker = task(reads=[0], writes=[1])
    user = task(3, 4, reads=[0, 1], writes=[2], ahead=[[0]])
    assert chunks(maker, user) == [[3, 1], [4]]
    assert chunks(maker, task(3, 2, 4, reads=[0, 1], writes=[2], ahead=[[0], [0]])) == [[3, 2, 1], [4]]
    assert chunks(user) == [[3], [4]]


def test_operands_are_prepared_when_they_are_there_and_not_long_before_they_are_used():
    maker = task(reads=[0], writes=[1])
    assert chunks(maker, task(3, 4, reads=[0, 1], writes=[2], ahead=[[1]])) == [[1], [3], [4]]
    assert chunks(maker, task(3, 2, 4, reads=[0, 1], writes=[2], ahead=[[0], [1]])) == [[3, 1], [2], [4]]
    last = task(3, 4, reads=[0, 2], writes=[3], ahead=[[0]])
    assert chunks(maker, task(reads=[1], writes=[2]), last) == [[1], [3, 1], [4]]


def test_operands_are_not_prepared_beside_work_of_several_threads():
    maker = task(5, reads=[0], writes=[1])
    assert chunks(maker, task(3, 4, reads=[0, 1], writes=[2], ahead=[[0]])) == [[5], [3], [4]]


def test_what_was_prepared_early_keeps_its_scratch_memory():
    maker = task(reads=[0], writes=[1], shared=100)
    made = schedule([maker, task(3, 4, reads=[0, 1], writes=[2], shared=100, ahead=[[0]])])
    assert abs(made.offsets[0] - made.offsets[1]) >= 100


def product(*ahead: int, cost: float = 1e5, shared: int = 100) -> Task:
    """Reads slots 0 and 1; its first phases prepare one of these each."""
    spans = [ByteSpan(slot, 0, 64) for slot in (0, 1)]
    prepared = tuple((spans[slot],) for slot in ahead)
    return Task((*(3 for _ in ahead), 4), cost, tuple(spans), (ByteSpan(2, 0, 64),), shared, prepared)


def test_what_reads_fixed_slots_alone_is_prepared_once():
    made = schedule([product(1)], fixed={1})
    assert made.before == ((ScheduledPart(((0, 0),), 3),),)
    assert made.phases == ((ScheduledPart(((0, 1),), 4),),)
    assert schedule([product(1)], fixed={0}).before == ()
    both = schedule([product(1, 0)], fixed={1})
    assert both.before == ((ScheduledPart(((0, 0),), 3),),)
    assert [[part.units for part in phase] for phase in both.phases] == [[((0, 1),)], [((0, 2),)]]


def test_one_thread_prepares_what_one_thread_uses():
    made = schedule([product(1, 0, cost=50.0)], fixed={0, 1})
    assert made.before == ((ScheduledPart(((0, 0), (0, 1))),),)
    assert made.phases == ((ScheduledPart(((0, 2),)),),)


def test_what_is_prepared_once_keeps_its_scratch_memory():
    others = [task(4, reads=[9], writes=[n], shared=100) for n in (9, 10)]
    made = schedule([others[0], product(1), others[1]], fixed={1})
    assert made.shared >= 200
    assert all(abs(made.offsets[1] - made.offsets[n]) >= 100 for n in (0, 2))


def test_little_scratch_memory_is_kept():
    large = [product(1, shared=20 << 20) for _ in range(2)]
    made = schedule(large, fixed={1})
    assert [part.units for phase in made.before for part in phase] == [((0, 0),)]


def test_small_tasks_are_done_in_order_by_one_chunk():
    small = [task(cost=50.0, reads=[n], writes=[n + 1]) for n in range(9)]
    assert chunks(*small, task(4, reads=[9], writes=[10])) == [[1], [4]]
    assert chunks(*small) == [[1]]
    beside = [task(cost=50.0, writes=[n]) for n in range(1, 9)]
    assert chunks(task(4, writes=[0]), *beside) == [[4, 1]]


def test_tasks_of_one_chunk_that_are_long_run_together():
    assert chunks(task(writes=[0]), task(writes=[1])) == [[1, 1]]


def test_cheap_steps_are_not_shared_out():
    (phase,) = schedule([task(4, cost=5e3, writes=[0]), task(4, 1, cost=5e3, writes=[1])]).phases
    (part,) = phase
    assert part.units == ((0, 0), (1, 0), (1, 1)) and part.chunks == 1


def test_chunks_of_a_phase_are_limited():
    sums = [sum(parts) for parts in chunks(*(task(MOST_CHUNKS // 3, writes=[n]) for n in range(7)))]
    assert max(sums) <= MOST_CHUNKS and sum(sums) == MOST_CHUNKS // 3 * 7


def test_scratch_of_tasks_that_run_together_does_not_overlap():
    made = schedule(
        [
            task(4, writes=[0], shared=100),
            task(4, writes=[1], shared=100),
            task(4, reads=[0], writes=[2], shared=100),
        ]
    )
    first, second, third = (made.offsets[n] for n in range(3))
    assert abs(first - second) >= 100
    assert third in (first, second) and made.shared == 256


@pytest.mark.takes_long
@settings(max_examples=200)
@given(st.data())
def test_conflicting_units_keep_their_order(data: st.DataObject):
    blocks = st.lists(st.integers(0, 5), max_size=3, unique=True)
    counts = st.lists(st.sampled_from([1, 1, 3]), min_size=1, max_size=3)
    costs = st.sampled_from([10.0, 3e3, 3e4])
    tasks = [
        task(*c, cost=cost, reads=r, writes=w, shared=64, ahead=[r[:1]] * min(early, len(c) - 1))
        for c, cost, r, w, early in data.draw(
            st.lists(st.tuples(counts, costs, blocks, blocks, st.integers(0, 2)), max_size=12)
        )
    ]
    made = schedule(tasks)
    when = {}
    for number, phase in enumerate(made.phases):
        for n, part in enumerate(phase):
            for position, unit in enumerate(part.units):
                assert part.chunks in (1, tasks[unit[0]].chunks[unit[1]])
                when[unit] = (number, n, position)
    assert len(when) == sum(len(t.chunks) for t in tasks)

    def in_order(one, other):
        return one < other and (one[0] < other[0] or one[1] == other[1])

    def touches(task, phase):
        """Return the blocks that a phase reads and writes."""
        early = phase < len(task.ahead)
        return ({*task.ahead[phase]}, set()) if early else ({*task.reads}, {*task.writes})

    for (a, first), (b, second) in itertools.combinations(enumerate(tasks), 2):
        for p, q in itertools.product(range(len(first.chunks)), range(len(second.chunks))):
            (reads, writes), (reads_too, writes_too) = touches(first, p), touches(second, q)
            if writes & (reads_too | writes_too) or reads & writes_too:
                assert in_order(when[a, p], when[b, q])
    for n, t in enumerate(tasks):
        order = [when[n, p] for p in range(len(t.chunks))]
        early, rest = order[: len(t.ahead)], order[len(t.ahead) :]
        assert all(in_order(x, y) for x, y in itertools.pairwise(rest))
        assert all(in_order(x, rest[0]) for x in early)
