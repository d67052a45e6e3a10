"""The types of questions to a person: the answer to ``Form[T]`` has a ``value`` of ``T``."""

# pyright: strict

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from typing_extensions import TypedDict

from tooltrue import Answer, Context, Form, Link


@dataclass
class Guests:
    number: int


class Address(TypedDict):
    street: str


def an_answer_has_the_type_of_its_form(context: Context) -> None:
    guests = context.ask(Form("How many guests?", Guests))
    assert_type(guests, Answer[Guests])
    assert_type(guests.value.number, int)
    assert_type(guests.action, str)
    assert_type(context.ask(Form("Where?", Address), key="where").value["street"], str)


def a_form_may_be_declared_before(context: Context) -> None:
    sure: Form[None] = Form("Sure?")
    assert_type(context.ask(sure), Answer[None])
    assert_type(context.can_ask(sure), bool)


def an_answer_to_a_link_has_no_value(context: Context) -> None:
    assert_type(context.ask(Link("Sign in.", "https://example.com")), Answer[None])


def a_wrong_question_is_an_error(context: Context) -> None:
    context.ask("How many guests?")  # pyright: ignore[reportArgumentType]
    answer = context.ask(Form("How many guests?", Guests))
    print(answer.value.street)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    Form(Guests)  # pyright: ignore[reportArgumentType]
    wrong: Form[Guests] = Form("Where?", Address)  # pyright: ignore[reportAssignmentType]
    context.ask(wrong)
