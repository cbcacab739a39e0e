"""The transition table and its machines, with a traffic light that was once simpler."""

import copy
import pickle
import subprocess
import sys
from itertools import product
from types import SimpleNamespace

import pytest
import transitions
import transitions.extensions

from statemachines.releases import Release
from statemachines.tables.table import IllegalTransition, Row, Table, TableState, trigger


class Light(TableState):
    Red = 3
    Green = 1
    Amber = 2
    Broken = 9
    Off = 0


class Door(TableState):
    Open = 1
    Shut = 3


Red, Green, Amber, Broken, Off = Light

LIGHT: Table[Light] = Table(
    "light",
    Off,
    (
        Row(Off, Red),
        Row(Red, Green),
        Row(Green, Red, before=Release("1.0.0")),
        Row(Green, Amber, since=Release("1.0.0")),
        Row(Amber, Amber),
        Row(Amber, Red),
        Row(Amber, Broken, since=Release("0.11.0.0"), before=Release("2.0.0")),
        Row(Red, Broken),
    ),
)

OLD = {(Off, Red), (Red, Green), (Green, Red), (Amber, Amber), (Amber, Red), (Red, Broken)}
NEW = {(Off, Red), (Red, Green), (Green, Amber), (Amber, Amber), (Amber, Red), (Red, Broken)}

PAIRS = list(product(Light, repeat=2))
each_release = pytest.mark.parametrize(
    ("table", "legal"),
    [
        (LIGHT, NEW),
        (LIGHT.at("0.10"), OLD),
        (LIGHT.at("0.11"), OLD | {(Amber, Broken)}),
        (LIGHT.at("1.0"), NEW | {(Amber, Broken)}),
        (LIGHT.at("1.1.1"), NEW | {(Amber, Broken)}),
        (LIGHT.at("2.0"), NEW),
        (LIGHT.at("0.10").at("2.0"), NEW),
    ],
    ids=str,
)


class TestState:
    def test_prints_its_name(self) -> None:
        assert f"{Red}" == str(Red) == "Red"

    def test_sorts_by_code(self) -> None:
        assert sorted(Light) == [Off, Green, Amber, Red, Broken]

    def test_sets_come_in_the_same_order_in_every_process(self) -> None:
        assert [hash(state) for state in Light] == [3, 1, 2, 9, 0]

    def test_is_never_taken_for_a_state_of_another_machine_with_the_same_code(self) -> None:
        states: list[TableState] = [Green, Door.Open]
        assert states[0] != states[1]
        with pytest.raises(TypeError):
            sorted(states)

    def test_survives_copying_and_pickling_as_itself(self) -> None:
        assert copy.deepcopy(Red) is Red
        assert pickle.loads(pickle.dumps(Red)) is Red


class TestRow:
    def test_names_the_releases_that_had_it(self) -> None:
        since, before = Release("2.3.0"), Release("3.0.0")
        assert Row(Red, Green).releases == ""
        assert Row(Red, Green, since=since).releases == "2.3+"
        assert Row(Red, Green, before=before).releases == "before 3.0"
        assert Row(Red, Green, since=since, before=before).releases == "2.3+, before 3.0"

    def test_a_range_without_releases_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"Red -> Green: no release is 2\.3\.1\+, before 2\.3\.1"):
            Row(Red, Green, since=Release("2.3.1"), before=Release("2.3.1"))


class TestTable:
    def test_two_rows_never_claim_one_pair(self) -> None:
        with pytest.raises(ValueError, match="light: two rows claim Red -> Green"):
            Table("light", Off, (Row(Red, Green), Row(Off, Red), Row(Red, Green)))

    def test_rows_of_different_releases_never_claim_one_pair(self) -> None:
        then = Release("1.0.0")
        with pytest.raises(ValueError, match="light: two rows claim Red -> Green"):
            Table("light", Off, (Row(Red, Green, before=then), Row(Red, Green, since=then)))

    @pytest.mark.parametrize(
        "row", [Row[TableState](Red, Door.Open), Row[TableState](Door.Shut, Red)], ids=["dest", "source"]
    )
    def test_a_state_of_another_machine_is_refused(self, row: Row[TableState]) -> None:
        with pytest.raises(TypeError, match=r"light: <Door.* is no Light"):
            Table[TableState]("light", Off, (row,))

    def test_is_a_value(self) -> None:
        assert Table("light", Off, LIGHT.rows) == LIGHT
        assert hash(LIGHT.at("1.0")) == hash(LIGHT.at("1.0.2"))
        with pytest.raises(AttributeError):
            LIGHT.rows = ()  # type: ignore[misc]

    def test_states_are_those_of_the_enumeration_in_its_order(self) -> None:
        assert LIGHT.states == (Red, Green, Amber, Broken, Off)

    @each_release
    def test_every_pair_is_a_row_or_a_refusal(self, table: Table[Light], legal: set[tuple[Light, Light]]) -> None:
        assert {(source, target) for source, target in PAIRS if table.allows(source, target)} == legal

    @each_release
    def test_targets_are_those_of_the_rows_in_order(
        self, table: Table[Light], legal: set[tuple[Light, Light]]
    ) -> None:
        for state in Light:
            assert table.targets(state) == tuple(sorted(target for source, target in legal if source is state))

    def test_says_which_release_it_speaks_for(self) -> None:
        assert str(LIGHT) == "light"
        assert str(LIGHT.at("1.0.2")) == "light of 1.0"
        assert LIGHT.at(Release("1.0")) == LIGHT.at("1.0")

    def test_a_table_in_use_can_still_be_pickled(self) -> None:
        LIGHT.become(SimpleNamespace(state=Off), Red)
        assert pickle.loads(pickle.dumps(LIGHT)) == LIGHT


class TestMachine:
    @each_release
    def test_triggers_follow_the_table(self, table: Table[Light], legal: set[tuple[Light, Light]]) -> None:
        machine = table.machine()
        for source, target in PAIRS:
            machine.set_state(source)
            if (source, target) in legal:
                assert machine.trigger(trigger(target))
                assert machine.state is target
            else:
                with pytest.raises((transitions.MachineError, AttributeError)):
                    machine.trigger(trigger(target))
                assert machine.state is source

    def test_has_one_trigger_for_each_target_and_no_automatic_ones(self) -> None:
        assert sorted(LIGHT.machine().events) == ["to_Amber", "to_Broken", "to_Green", "to_Red"]

    def test_moves_the_model_it_is_given(self) -> None:
        class Crossing:
            state: Light

        crossing = Crossing()
        machine = LIGHT.machine(crossing)
        machine.events[trigger(Red)].trigger(crossing)
        assert crossing.state is Red

    def test_each_call_makes_another(self) -> None:
        assert LIGHT.machine() is not LIGHT.machine()

    def test_accepts_the_librarys_options(self) -> None:
        """Callbacks, queued events, another initial state, another class."""
        seen: list[str] = []

        class Crossing:
            state: Light

            def on_enter_Green(self) -> None:  # noqa: N802 - the library finds it by its name
                seen.append("on_enter_Green")
                self.trigger("to_Amber")  # type: ignore[attr-defined]
                seen.append("waits for its turn")

            def on_enter_Amber(self) -> None:  # noqa: N802
                seen.append("on_enter_Amber")

        crossing = Crossing()
        machine = LIGHT.machine(crossing, transitions.extensions.LockedMachine, initial=Red, queued=True)
        machine.get_transitions("to_Green", source=Red)[0].conditions.append(
            transitions.core.Condition(lambda: not seen)
        )
        assert crossing.trigger("to_Green")  # type: ignore[attr-defined]
        assert (crossing.state, seen) == (Amber, ["on_enter_Green", "waits for its turn", "on_enter_Amber"])

    def test_callbacks_of_one_machine_do_not_run_for_another(self) -> None:
        """The controller has a machine of its own."""
        seen: list[str] = []
        LIGHT.machine(after_state_change=lambda: seen.append("mine"))
        light = SimpleNamespace(state=Off)
        LIGHT.become(light, Red)
        assert (light.state, seen) == (Red, [])

    def test_the_library_accepts_the_declaration_unchanged(self) -> None:
        machine = transitions.Machine(
            states=list(LIGHT.states), transitions=LIGHT.transitions, initial=Off, auto_transitions=False
        )
        assert machine.trigger("to_Red")
        assert machine.state is Red


class TestBecome:
    @each_release
    def test_a_model_makes_only_the_transitions_of_the_table(
        self, table: Table[Light], legal: set[tuple[Light, Light]]
    ) -> None:
        for source, dest in PAIRS:
            light = SimpleNamespace(state=source)
            if (source, dest) in legal:
                table.become(light, dest)
                assert light.state is dest
            else:
                with pytest.raises(IllegalTransition):
                    table.become(light, dest)
                assert light.state is source

    def test_the_library_moves_and_guards(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(event: transitions.Event, model: object) -> bool:
            raise transitions.MachineError(f"{event.name} is closed today")

        light = SimpleNamespace(state=Off)
        monkeypatch.setattr(transitions.Event, "trigger", refuse)
        with pytest.raises(transitions.MachineError, match="to_Red is closed today"):
            LIGHT.become(light, Red)
        assert light.state is Off

    def test_the_machine_decides_which_transitions_are_allowed(self) -> None:
        """A transition that its machine loses is no longer allowed."""
        table = LIGHT.at("1.1")
        table._machine.remove_transition("to_Green", source="Red")
        assert not table.allows(Red, Green)
        assert table.targets(Red) == (Broken,)

    def test_an_error_of_the_model_is_passed_on(self) -> None:
        class Crossing:
            @property
            def state(self) -> Light:
                raise KeyError("to_Red")

        with pytest.raises(KeyError):
            LIGHT.become(Crossing(), Red)  # type: ignore[arg-type]

    def test_a_refusal_by_another_machine_is_passed_on(self) -> None:
        """A model may watch its changes with a machine of its own."""

        class Watched:
            at = Off

            @property
            def state(self) -> Light:
                return self.at

            @state.setter
            def state(self, state: Light) -> None:
                self.at = state
                raise transitions.MachineError("mine refuses")

        with pytest.raises(transitions.MachineError, match="mine refuses"):
            LIGHT.become(Watched(), Red)

    def test_the_error_names_source_target_and_allowed_targets(self) -> None:
        with pytest.raises(IllegalTransition) as caught:
            LIGHT.at("1.0").become(SimpleNamespace(state=Amber), Green)
        assert str(caught.value) == "light of 1.0: Amber cannot become Green; it may become Amber, Red, Broken"
        assert (caught.value.table, caught.value.source, caught.value.dest, caught.value.allowed) == (
            "light of 1.0",
            Amber,
            Green,
            (Amber, Red, Broken),
        )

    def test_from_a_terminal_state_nothing_is_allowed(self) -> None:
        with pytest.raises(IllegalTransition, match="light: Broken cannot become Red; it may become nothing"):
            LIGHT.become(SimpleNamespace(state=Broken), Red)

    def test_a_state_that_no_row_leads_to_is_refused_like_any_other(self) -> None:
        with pytest.raises(IllegalTransition, match="light: Red cannot become Off; it may become Green, Broken"):
            LIGHT.become(SimpleNamespace(state=Red), Off)

    def test_a_state_of_another_machine_is_refused(self) -> None:
        table = Table[TableState]("light", Off, (Row(Off, Red),))
        with pytest.raises(IllegalTransition, match="Off cannot become Open"):
            table.become(SimpleNamespace(state=Off), Door.Open)

    def test_the_error_can_be_pickled(self) -> None:
        error = IllegalTransition("light", Red, Off, (Green,))
        assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_tables_load_nothing_heavy() -> None:
    heavy = ["pygraphviz", "numpy", "pandas", "hypothesis", "networkx", "pyspark", "click", "rich"]
    program = (
        "import sys, statemachines.tables.partition, statemachines.tables.replica;"
        "import statemachines.drawing.table_diagrams;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
