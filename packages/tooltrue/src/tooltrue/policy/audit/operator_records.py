"""The records of what an operator does to the task of a caller."""

from __future__ import annotations

from tooltrue.policy.audit.record import Record, RecordSource, snapshot
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.tasks.records import OperatorAct
from tooltrue.tools.vocabulary import CallRecord, Principal

__all__ = ["record_act"]


async def record_act(recorder: Recorder, task: str, act: OperatorAct) -> None:
    """Record the act of an operator on a task; it is durable when this returns. ``StateError`` if that fails."""
    if not recorder.audit.is_on:
        return
    source = RecordSource(recorder.masks, recorder.instance, f"operator {act.verb}", act.tool, Principal(act.who))
    trail = CallRecord()
    trail.note(f"task {task[:8]}")
    trail.ran = True
    arguments, size = snapshot({"questions": list(act.questions)} if act.questions else {})
    await recorder.log.append(Record(source, arguments, size, act.at, None, trail, 0, "ok"))
