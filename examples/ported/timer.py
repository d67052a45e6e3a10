"""Waits, a countdown that reports its progress, and the time: in place of mcp-timer 0.2.2 (MIT)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from tooltrue import Context, Lifespan, Server, ToolError

DAY = 86_400
# The fields of a cron expression: the least and the greatest value, and names that stand for values.
MONTH_NAMES = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
MONTHS = {name: at for at, name in enumerate(MONTH_NAMES, 1)}
WEEKDAYS = {name: at for at, name in enumerate(["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])}
FIELDS = ((0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, MONTHS), (0, 7, WEEKDAYS))


class Clock:
    now = staticmethod(datetime.now)
    sleep = staticmethod(asyncio.sleep)

    async def until(self, time: datetime) -> None:
        while (left := (time - self.now()).total_seconds()) > 0:
            await self.sleep(left)


@asynccontextmanager
async def lifespan(server: Server) -> AsyncGenerator[Clock]:
    yield Clock()


Time = Annotated[Clock, Lifespan]
Seconds = Annotated[int, Field(ge=0, le=DAY)]
server = Server("timer", version="1.0", lifespan=lifespan)


@server.tool(effect="read", seconds=DAY + 60)
async def wait(seconds: Annotated[Seconds, "How long, at most a day"], clock: Time) -> str:
    """Wait for some seconds before the next step. For a wait that shows its progress use countdown."""
    await clock.sleep(seconds)
    return f"{seconds} seconds are over. It is {clock.now():%F %T}."


@server.tool(effect="read", seconds=DAY + 60)
async def wait_until(
    target_time: Annotated[str, "'17:30:00', or with a day '2026-08-01 17:30:00', in the local time"],
    clock: Time,
    next_day_if_passed: Annotated[bool, "Take the same time of tomorrow if it is over today"] = False,
) -> str:
    """Wait until a time of today or of a given day, at most a day ahead."""
    now = clock.now()
    try:
        target = datetime.fromisoformat(target_time if " " in target_time else f"{now:%F} {target_time}")
    except ValueError:
        raise ToolError(f"{target_time!r} is no time. Write it like '17:30:00' or '2026-08-01 17:30:00'.") from None
    if target < now and next_day_if_passed and " " not in target_time:
        target += timedelta(days=1)
    if not now <= target <= now + timedelta(days=1):
        raise ToolError(f"It is {now:%F %T}: {target:%F %T} is over, or more than a day ahead. Give another time.")
    await clock.until(target)
    return f"It is {clock.now():%F %T}."


def values(field: str, least: int, greatest: int, names: dict[str, int]) -> set[int]:
    """The values of one field, such as '1-5', '*/10' or 'MON,WED'."""
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        ends = [names.get(end.upper()) or int(end) for end in span.split("-")] if span != "*" else [least, greatest]
        if not least <= ends[0] <= ends[-1] <= greatest or len(ends) > 2 or (step and int(step) < 1):
            raise ValueError(part)
        found.update(range(ends[0], (greatest if step and len(ends) == 1 else ends[-1]) + 1, int(step or 1)))
    return found


def next_match(expression: str, now: datetime, seconds: int) -> datetime | None:
    """The first minute after ``now``, within ``seconds``, that a cron expression matches."""
    texts = expression.split()
    minutes, hours, days, months, weekdays = (values(text, *of) for text, of in zip(texts, FIELDS, strict=True))
    either = not texts[2].startswith("*") and not texts[4].startswith("*")  # as cron does: one of the two is enough
    for minute in range(1, seconds // 60 + 2):
        time = now.replace(second=0, microsecond=0) + timedelta(minutes=minute)
        fits = (time.day in days, bool({time.isoweekday(), time.isoweekday() % 7} & weekdays))
        today = time.month in months and (any(fits) if either else all(fits))
        if today and time.hour in hours and time.minute in minutes and time <= now + timedelta(seconds=seconds):
            return time
    return None


@server.tool(effect="read", seconds=DAY + 60)
async def cron_wait(
    expression: Annotated[str, "Minute, hour, day, month, weekday: '*/5 * * * *', '0 9 * * MON-FRI'"],
    clock: Time,
    timeout_seconds: Annotated[Seconds, "Give up if there is none within this time"] = DAY,
) -> str:
    """Wait until the next minute that a cron expression matches. For a single time use wait_until."""
    try:
        time = next_match(expression, clock.now(), timeout_seconds)
    except ValueError:
        raise ToolError(f"{expression!r} is no cron expression. Write five fields, such as '30 8 * * 1-5'.") from None
    if time is None:
        raise ToolError(f"No minute of the next {timeout_seconds} seconds matches {expression!r}. Wait longer.")
    await clock.until(time)
    return f"{expression} matches: it is {clock.now():%F %T}."


@server.tool(effect="read", seconds=DAY + 60)
async def countdown(
    seconds: Annotated[int, "How long, at most a day", Field(ge=1, le=DAY)],
    clock: Time,
    context: Context,
    interval: Annotated[int, "Seconds between two reports", Field(ge=1)] = 60,
) -> str:
    """Wait for some seconds, and report the progress in intervals, so that the user sees how long it still takes."""
    for done in [*range(0, seconds, interval), seconds][1:]:
        await clock.sleep(min(interval, seconds % interval or interval) if done == seconds else interval)
        context.progress(done, seconds, f"{seconds - done} seconds are left")
    return f"The {seconds} seconds are over. It is {clock.now():%F %T}."


@server.tool(effect="read", seconds=DAY + 60)
async def timeout_guard(
    seconds: Annotated[int, "The time limit, at most a day", Field(ge=1, le=DAY)],
    clock: Time,
    message: Annotated[str, "Text of the answer"] = "The time is over",
) -> str:
    """Answer after a time limit. Call it beside other work: if it answers first, the work takes too long."""
    await clock.sleep(seconds)
    return f"{message} ({seconds} s, {clock.now():%F %T})."


NAMED = {"iso": "%FT%T.%f", "unix": "%s", "date": "%F", "time": "%T"}


@server.tool(effect="read")
async def timestamp(
    clock: Time,
    fmt: Annotated[str, "A format of strftime, e.g. '%d.%m.%Y', or the name of a usual one, such as 'unix'"] = "iso",
    offset_seconds: Annotated[int, "Seconds from now; negative for the past", Field(ge=-(10**10), le=10**10)] = 0,
) -> str:
    """Tell the local time, or one that is some seconds away from now."""
    return (clock.now() + timedelta(seconds=offset_seconds)).strftime(NAMED.get(fmt, fmt))


if __name__ == "__main__":
    server.run()
