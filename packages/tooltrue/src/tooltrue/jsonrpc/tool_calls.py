"""Tool calls, decoded in one typed step: the one kind of request that comes often enough to be worth it.

:func:`read_call` accepts a frame only where it proves that the careful way (``decode`` and ``parse`` of
:mod:`tooltrue.jsonrpc.messages`) would read the same. It returns ``None`` for all other frames, which then take the
careful way and get its errors. The proof is by length: a frame that holds each expected member once, without white
space, has exactly one possible length, so that a member twice, an unknown member or an escape makes it longer. The
arguments are proved by encoding them again. The ``_meta`` is left to its reader, since few different ones come.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tooltrue.jsonrpc.messages import MAX_DEPTH, Id, canonical, encode

__all__ = ["PlainCall", "read_call"]


class PlainCall(msgspec.Struct, frozen=True, gc=False):
    """A ``tools/call`` with a name, arguments and ``_meta``, and no other parameter. ``text`` is the canonical JSON of
    the arguments, and ``meta`` the ``_meta`` as it came, which is not proved."""

    id: Id
    name: str
    arguments: dict[str, Any]
    text: bytes
    meta: bytes


class _Params(msgspec.Struct, gc=False):
    name: str
    arguments: msgspec.Raw
    meta: msgspec.Raw = msgspec.field(name="_meta")


class _Frame(msgspec.Struct, gc=False, tag_field="method", tag="tools/call"):
    jsonrpc: str
    id: Id
    params: _Params


_decode_frame = msgspec.json.Decoder(_Frame).decode
_decode_arguments = msgspec.json.Decoder(dict[str, Any]).decode
_REFUSALS = (msgspec.MsgspecError, UnicodeError, RecursionError)
_FIXED = len('{"jsonrpc":"2.0","id":,"method":"tools/call","params":{"name":"","arguments":,"_meta":}}')
_SHALLOW = 2 * MAX_DEPTH
"""Bytes in which nothing can be nested too deeply: each level takes two."""


def read_call(frame: bytes) -> PlainCall | None:
    """Return the call in ``frame``, or ``None`` if it takes the careful way to tell what the frame is."""
    try:
        outer = _decode_frame(frame)
        params, id = outer.params, outer.id
        raw, meta, name = bytes(params.arguments), bytes(params.meta), params.name
        if len(frame) != _FIXED + len(encode(id)) + len(name) + len(raw) + len(meta) or outer.jsonrpc != "2.0":
            return None
        if len(raw) > _SHALLOW and raw.count(b"[") + raw.count(b"{") > MAX_DEPTH:
            return None
        arguments = _decode_arguments(raw)
    except _REFUSALS:
        return None
    text = canonical(arguments)
    return PlainCall(id, name, arguments, text, meta) if text == raw or encode(arguments) == raw else None
