"""Messages as records: fields, presence, lists and maps."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from staticgraph.formats.tf import messages
from staticgraph.formats.tf.messages import (
    AttrValue,
    ConfigProto,
    DataType,
    Example,
    Feature,
    Features,
    GPUOptions,
    GraphDef,
    Int64List,
    NodeDef,
    RunOptions,
    Summary,
    UnknownFieldError,
    wire,
)
from staticgraph.formats.tf.messages.fields import TYPES, Field
from staticgraph.formats.tf.messages.message import Message, unchecked


def test_every_type_of_every_schema_exists():
    kinds = [kind for kind in TYPES.values() if isinstance(kind, type)]
    assert len(kinds) > 80
    for kind in kinds:
        for field in kind._fields.values():
            assert field.type is not None
        made = kind()
        assert made.SerializeToString() == b"" and str(made) == "" and made == kind()


def test_every_schema_is_exported():
    kinds = {name: kind for name, kind in TYPES.items() if isinstance(kind, type) and "." not in name}
    ours = {name: kind for name, kind in kinds.items() if kind.__module__.startswith(messages.__name__)}
    assert len(ours) > 40
    assert all(getattr(messages, name) is kind for name, kind in ours.items())


class TestFields:
    def test_an_unknown_field_is_named_with_the_known_ones(self):
        for use in (
            lambda: NodeDef(nam="x"),
            lambda: setattr(NodeDef(), "nam", 1),
            lambda: NodeDef().HasField("nam"),
        ):
            with pytest.raises(UnknownFieldError, match="NodeDef has no field 'nam'") as caught:
                use()
            assert "hint: fields: attr, device, experimental_debug_info, input, name, op" in str(caught.value)
            assert "test_message.py" in str(caught.value)
        assert issubclass(UnknownFieldError, ValueError) and issubclass(UnknownFieldError, AttributeError)
        assert not hasattr(NodeDef(), "nam")

    def test_messages_lists_and_maps_are_not_assigned(self):
        config = ConfigProto()
        for name, cure in (
            ("gpu_options", "CopyFrom"),
            ("device_filters", "extend"),
            ("device_count", "entries"),
        ):
            with pytest.raises(AttributeError, match=f"{name}.*{cure}"):
                setattr(config, name, None)

    @pytest.mark.parametrize(
        "make, error",
        [
            (lambda: Int64List(value=[1.0]), TypeError),
            (lambda: Int64List(value=["1"]), TypeError),
            (lambda: Int64List(value=[None]), TypeError),
            (lambda: Int64List(value=3), TypeError),
            (lambda: Int64List(value=np.ones(2)), TypeError),
            (lambda: Int64List(value=[2**63]), ValueError),
            (lambda: messages.FloatList(value=["1"]), TypeError),
            (lambda: messages.FloatList(value=[1j]), TypeError),
            (lambda: messages.FloatList(value=np.ones((2, 2))), TypeError),
            (lambda: messages.BytesList(value=["text"]), TypeError),
            (lambda: messages.BytesList(value=b"text"), TypeError),
            (lambda: NodeDef(name=3), TypeError),
            (lambda: NodeDef(name=b"\xff"), ValueError),
            (lambda: GPUOptions(allow_growth="yes"), TypeError),
            (lambda: RunOptions(trace_level="ALL"), ValueError),
            (lambda: ConfigProto(gpu_options=3), TypeError),
            (lambda: ConfigProto(gpu_options=RunOptions()), TypeError),
            (lambda: ConfigProto(device_count={"GPU": 0.5}), TypeError),
            (lambda: ConfigProto(device_count={1: 0}), TypeError),
        ],
    )
    def test_values_of_another_type_are_refused(self, make, error):
        with pytest.raises(error):
            make()

    def test_numbers_of_numpy_are_numbers(self):
        assert Int64List(value=np.arange(3)).value == [0, 1, 2]
        assert Int64List(value=[np.bool_(True), np.int8(-1)]).value == [1, -1]
        assert type(Int64List(value=np.arange(1)).value[0]) is int
        assert messages.FloatList(value=np.float32([0.1])).value == [float(np.float32(0.1))]
        assert messages.FloatList(value=[0.1]).value == [float(np.float32(0.1))]
        assert messages.FloatList(value=[1e40, -1e40]).value == [np.inf, -np.inf]

    def test_enums_are_numbers_with_names(self):
        options = RunOptions(trace_level="FULL_TRACE")
        assert options.trace_level == RunOptions.FULL_TRACE == RunOptions.TraceLevel.Value("FULL_TRACE") == 3
        assert RunOptions.TraceLevel.Name(3) == "FULL_TRACE" and RunOptions.TraceLevel.FULL_TRACE == 3
        assert RunOptions.TraceLevel.keys()[0] == "NO_TRACE" and RunOptions.TraceLevel.values() == [
            0,
            1,
            2,
            3,
        ]
        options.trace_level = 77
        assert RunOptions.FromString(options.SerializeToString()).trace_level == 77
        assert messages.types.DT_FLOAT == DataType.DT_FLOAT == 1 and DataType.DT_STRING_REF == 107
        with pytest.raises(AttributeError, match="DT_FLOAT32"):
            messages.types.DT_FLOAT32
        with pytest.raises(ValueError, match="NO_TRACE, SOFTWARE_TRACE"):
            RunOptions.TraceLevel.Value("nothing")
        with pytest.raises(ValueError, match="99"):
            RunOptions.TraceLevel.Name(99)

    def test_a_field_of_the_class_is_its_declaration(self):
        assert isinstance(NodeDef.attr, Field) and NodeDef.attr.number == 5


class TestPresence:
    def test_reading_gives_nothing_and_writing_does(self):
        config = ConfigProto()
        assert not config.graph_options.optimizer_options.do_constant_folding
        assert config.SerializeToString() == b""
        config.graph_options.optimizer_options.opt_level = 0
        assert config.HasField("graph_options") and config.graph_options.HasField("optimizer_options")

    def test_one_read_earlier_is_part_of_the_message(self):
        config = ConfigProto()
        options = config.gpu_options
        options.allow_growth = True
        assert config.gpu_options.allow_growth

    def test_one_that_was_cleared_is_no_part_of_it(self):
        config = ConfigProto(gpu_options=GPUOptions(allow_growth=True))
        options = config.gpu_options
        config.ClearField("gpu_options")
        options.allocator_type = "BFC"
        assert not config.HasField("gpu_options") and config == ConfigProto()

    def test_lists_and_maps_within_make_it_count(self):
        feature = Feature()
        feature.bytes_list.value[:] = []
        feature.int64_list.value.extend([])
        assert feature.WhichOneof("kind") == "int64_list"
        function = AttrValue()
        function.func.attr["x"].i = 1
        assert function.WhichOneof("value") == "func"

    def test_of_a_group_one_is_kept(self):
        value = AttrValue(i=3)
        value.s = b"x"
        assert value.i == 0 and value.WhichOneof("value") == "s"
        value.ClearField("value")
        assert value.WhichOneof("value") is None
        with pytest.raises(ValueError, match="no group of fields 'i'"):
            value.WhichOneof("i")

    @pytest.mark.parametrize("name", ["device_filters", "device_count", "allow_soft_placement"])
    def test_lists_and_plain_values_have_none(self, name: str):
        with pytest.raises(ValueError, match="presence"):
            ConfigProto().HasField(name)


class TestContainers:
    def test_messages_are_copied_into_lists(self):
        node = NodeDef(name="x")
        graph = GraphDef(node=[node])
        graph.node.append(node)
        graph.node.extend([node, {"name": "y"}])
        graph.node.insert(0, NodeDef(name="first"))
        node.name = "changed"
        assert [n.name for n in graph.node] == ["first", "x", "x", "x", "y"]
        assert [n.name for n in graph.node[3:]] == ["x", "y"] and graph.node.pop().name == "y"
        del graph.node[0]
        with pytest.raises(TypeError, match="not assigned"):
            graph.node[0] = node
        with pytest.raises(TypeError, match="NodeDef"):
            graph.node.append(GraphDef())

    def test_lists_check_all_that_is_put_in(self):
        values = Int64List(value=[1]).value
        for use in (values.append, lambda v: values.insert(0, v), lambda v: values.__setitem__(0, v)):
            with pytest.raises(TypeError):
                use("x")
        with pytest.raises(TypeError):
            values[:] = [1.5]
        values += [2]
        values[0] = 7
        values.MergeFrom([3])
        assert values == [7, 2, 3]

    def test_maps_check_all_that_is_put_in(self):
        counts = ConfigProto(device_count={"CPU": 1}).device_count
        for use in (lambda: counts.update(a=1.5), lambda: counts.setdefault("a", "x"), lambda: counts[3]):
            with pytest.raises(TypeError):
                use()
        counts |= {"GPU": 2}
        assert counts.setdefault("CPU", 5) == 1 and counts.setdefault("new", 6) == 6 and counts["zero"] == 0
        assert counts == {"CPU": 1, "GPU": 2, "new": 6, "zero": 0} and counts.get("none") is None

    def test_messages_in_maps_are_filled_in_place(self):
        features = Features()
        features.feature["a"].int64_list.value.append(1)
        features.feature.get_or_create("b").CopyFrom(features.feature["a"])
        features.feature.update(c=features.feature["a"])
        features.feature["c"].int64_list.value.append(2)
        assert [len(features.feature[name].int64_list.value) for name in "abc"] == [1, 1, 2]
        with pytest.raises(ValueError, match="CopyFrom"):
            features.feature["d"] = Feature()

    def test_lists_and_maps_copied_are_plain(self):
        config = ConfigProto(device_count={"CPU": 1}, device_filters=["a"])
        assert (
            type(copy.deepcopy(config.device_count)) is dict
            and type(copy.copy(config.device_filters)) is list
        )


def test_a_list_that_is_set_through_a_slice_is_there():
    made = AttrValue()
    made.list.i[:] = [1, 2]
    assert made.HasField("list") and list(AttrValue.FromString(made.SerializeToString()).list.i) == [1, 2]


class TestWhole:
    def test_copies_share_nothing(self):
        one = Example(features={"feature": {"x": Feature(int64_list={"value": [1]})}})
        two = copy.deepcopy(one)
        assert two == one and type(two) is Example
        two.features.feature["x"].int64_list.value.append(2)
        assert two != one and one.features.feature["x"].int64_list.value == [1]
        one.CopyFrom(two)
        assert one == two
        one.CopyFrom(one)
        assert one == two
        one.Clear()
        assert one == Example() and one.ByteSize() == 0 and one.IsInitialized()

    def test_copying_another_type_changes_nothing(self):
        node = NodeDef(name="x")
        with pytest.raises(
            TypeError, match="NodeDef takes over the fields of another NodeDef, and not of a GraphDef"
        ):
            node.CopyFrom(GraphDef())
        assert node.name == "x"

    def test_equality_is_of_the_same_type(self):
        assert NodeDef() != GraphDef() and NodeDef() != None  # noqa: E711
        with pytest.raises(TypeError, match="unhashable"):
            hash(NodeDef())

    def test_parsing_replaces_and_merging_adds(self):
        made = Int64List(value=[1])
        assert made.MergeFromString(b"\x0a\x01\x02") == 3 and made.value == [1, 2]
        assert made.ParseFromString(b"\x0a\x01\x03") == 3 and made.value == [3]

    def test_fields_of_another_version_are_kept_until_they_are_discarded(self):
        graph = GraphDef(node=[NodeDef.FromString(b"\x0a\x01x\xf8\x7f\x01")])
        again = GraphDef.FromString(graph.SerializeToString())
        assert again == graph and again != GraphDef(node=[{"name": "x"}])
        again.DiscardUnknownFields()
        assert again == GraphDef(node=[{"name": "x"}])

    def test_a_value_of_another_wire_type_is_unknown(self):
        made = NodeDef.FromString(b"\x08\x05")
        assert made.name == "" and made.SerializeToString() == b"\x08\x05"

    def test_a_nested_name(self):
        assert Summary.Value(tag="x").tag == "x" and issubclass(Summary.Value, Message)


@pytest.mark.parametrize(
    "kind, dtype",
    [(messages.FloatList, "f"), (messages.FloatList, "i"), (Int64List, "u1"), (Int64List, "i8")],
)
def test_arrays_are_taken_at_once_as_their_values_one_by_one(kind, dtype):
    array = (np.random.RandomState(0).uniform(0, 200, 50)).astype(dtype)
    made = kind(value=array)
    assert made.value == kind(value=list(array)).value
    assert {type(value) for value in made.value} == {type(kind(value=[1]).value[0])}
    assert kind.FromString(made.SerializeToString()) == made


def test_arrays_beyond_the_range():
    assert messages.FloatList(value=np.array([1e300, -1e300])).value == [np.inf, -np.inf]
    with pytest.raises(ValueError, match="out of range"):
        messages.MemoryStats(persistent_tensor_alloc_ids=np.array([1, 2**64 - 1], np.uint64))
    with pytest.raises(TypeError):
        Int64List(value=np.array([1.0, 2.0]))
    with pytest.raises(TypeError):
        messages.BytesList(value=np.array([1, 2]))


@pytest.mark.parametrize(
    "values", [[True, 2], (n for n in range(1, 3)), [np.int8(1), 2], np.array([1, 2]), range(1, 3)]
)
def test_whole_numbers_of_all_kinds(values):
    assert list(map(type, (made := Int64List(value=values)).value)) == [int, int] and made.value[0] == 1


class TestEncoded:
    """Messages that are bytes until a field is read: those that writers of graphs make, and copies."""

    @staticmethod
    def made() -> NodeDef:
        return unchecked(
            NodeDef, name="x", input=["a", "^b"], attr={"T": AttrValue(i=3), "A": AttrValue(b=True)}
        )

    def test_the_bytes_are_those_of_the_message(self):
        plain = NodeDef(name="x", input=["a", "^b"], attr={"T": AttrValue(i=3), "A": AttrValue(b=True)})
        assert self.made().SerializeToString() == plain.SerializeToString() and self.made() == plain
        assert str(self.made()) == str(plain) and self.made().attr["T"].i == 3

    def test_a_change_is_written_though_it_came_late(self):
        node = self.made()
        value = node.attr["T"]
        assert value.WhichOneof("value") == "i"
        value.s = b"new"
        node.input.append("c")
        again = NodeDef.FromString(node.SerializeToString())
        assert again.attr["T"].s == b"new" and list(again.input) == ["a", "^b", "c"]

    def test_copies_share_nothing(self):
        node = self.made()
        graph = GraphDef(node=[node])
        graph.node[0].name = "changed"
        assert node.name == "x" and graph.node[0].name == "changed"
        node.CopyFrom(graph.node[0])
        node.device = "/cpu:0"
        assert (node.name, graph.node[0].device) == ("changed", "")

    def test_fields_can_be_cleared_and_unknown_ones_discarded(self):
        node = self.made()
        node.ClearField("attr")
        assert node == NodeDef(name="x", input=["a", "^b"])
        late = NodeDef._encoded_as(node.SerializeToString() + b"\xf8\x7f\x01")
        late.DiscardUnknownFields()
        assert late == node and late.SerializeToString() == node.SerializeToString()
        other = self.made()
        other.Clear()
        assert other == NodeDef() and other.SerializeToString() == b""

    def test_threads_read_the_whole_of_it(self):
        nodes = [self.made() for _ in range(500)]
        with ThreadPoolExecutor(4) as pool:
            seen = list(pool.map(lambda at: (nodes[at // 4].name, len(nodes[at // 4].attr)), range(2000)))
        assert set(seen) == {("x", 2)}

    def test_entries_of_maps_that_were_read_before(self):
        node = NodeDef.FromString(self.made().SerializeToString())
        for _ in range(3):
            again = NodeDef.FromString(node.SerializeToString())
            assert again == node
            again.attr["T"].i = 4
            assert again.attr["T"].i == 4 and again.SerializeToString() != node.SerializeToString()

    def test_what_is_read_again_is_written_in_order(self):
        entry = b"\x0a\x01T\x12" + wire.encode_bytes(b"\x30\x01\x18\x07")  # of its group, the last one counts
        for _ in range(3):
            read = NodeDef.FromString(b"\x2a" + wire.encode_bytes(entry))
            assert read.SerializeToString() == NodeDef(attr={"T": AttrValue(i=7)}).SerializeToString()

    @pytest.mark.parametrize("depth, deep", [(20, False), (60, True)])
    def test_depth_is_bounded_though_it_was_read_before(self, depth: int, deep: bool):
        data = b""
        for _ in range(depth):
            value = b"\x52" + wire.encode_bytes(
                b"\x12" + wire.encode_bytes(b"\x12" + wire.encode_bytes(data))
            )
            data = value if len(data) else b"\x18\x01"
        for _ in range(3):
            if deep:
                with pytest.raises(messages.DecodeError, match="deep"):
                    AttrValue.FromString(data)
            else:
                AttrValue.FromString(data)


def test_the_cache_of_entries_is_bounded():
    for start in range(0, 10_000, 1000):
        entries = {f"k{at}": AttrValue(i=at) for at in range(start, start + 1000)}
        NodeDef.FromString(NodeDef(attr=entries).SerializeToString())
    assert len(NodeDef._fields["attr"]._seen) <= 4097
