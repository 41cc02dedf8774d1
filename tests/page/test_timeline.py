"""Memory over time, against the arena that the compiler planned."""

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.lower.program import ARENA, Launch
from staticgraph.draw.page.stages import stages_of
from staticgraph.draw.page.timeline import live_bytes, timeline
from staticgraph.runtime.fetches import Fetches


def net():
    x = sg.placeholder(sg.float32, [64, 32], name="x")
    for _ in range(4):
        x = sg.nn.relu(sg.matmul(x, sg.Variable(np.zeros((32, 32), np.float32))))
    loss = sg.reduce_mean(x)
    return [loss, sg.train.AdamOptimizer().minimize(loss)]


def loop():
    x = sg.placeholder(sg.float32, [8, 8], name="x")
    return (
        sg.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, sg.matmul(sg.matmul(v, x), x)), (0, x))[1]
        * 2.0
    )


@pytest.fixture(params=[net, loop])
def program(request):
    fetches = Fetches(get_default_graph(), request.param())
    _, compilation = stages_of(get_default_graph(), fetches, {}, None)
    return compilation.step.program


def test_blocks_that_live_at_the_same_time_do_not_overlap(program):
    blocks = timeline(program)
    assert blocks
    for i, block in enumerate(blocks):
        assert block.offset >= 0 and block.offset + block.size <= program.arena and block.first <= block.last
        for other in blocks[:i]:
            at_once = block.first <= other.last and other.first <= block.last
            inside = other.offset < block.offset + block.size and block.offset < other.offset + other.size
            if at_once and inside:  # overwritten in place, by the instruction that reads it last
                assert other.last == block.first


def test_what_is_read_has_been_written_and_lives(program):
    blocks = timeline(program)
    for number, instruction in enumerate(program.instructions):
        for ref in instruction.reads if isinstance(instruction, Launch) else ():
            if ref.slot == ARENA:
                found = [b for b in blocks if b.offset == ref.offset and b.first < number <= b.last]
                assert found, (number, ref)


def test_the_fullest_moment_is_as_full_as_the_arena_is_large(program):
    blocks = timeline(program)
    live = live_bytes(blocks, len(program.instructions))
    assert 0.8 * program.arena <= max(live) <= program.arena
