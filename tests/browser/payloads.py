"""Sixty texts that a hostile server or model could write where the console shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["PAYLOADS"]

_RUN: Final = "window.hit=1;alert(1)"

_SCRIPTS: Final = (
    f"<script>{_RUN}</script>",
    f"<SCRIPT SRC=data:text/javascript,{_RUN}></SCRIPT>",
    f"</script><script>{_RUN}</script>",
    f"<img src=x onerror={_RUN}>",
    f"<img src=x onerror='{_RUN}'//>",
    f'"><img src=x onerror="{_RUN}">',
    f"'><svg onload={_RUN}>",
    f"<svg/onload={_RUN}>",
    f"<svg><script>{_RUN}</script></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<body onload={_RUN}>",
    f"<iframe src=javascript:{_RUN}>",
    f'<iframe srcdoc="<script>{_RUN}</script>">',
    f"<object data=javascript:{_RUN}>",
    f"<embed src=javascript:{_RUN}>",
    f"<details open ontoggle={_RUN}>",
    f"<input autofocus onfocus={_RUN}>",
    f"<video><source onerror={_RUN}>",
    f"<math><mi xlink:href=javascript:{_RUN}>x</mi></math>",
    f"<a href=javascript:{_RUN}>click</a>",
    f"<form><button formaction=javascript:{_RUN}>x</button></form>",
    f"<style>@import 'javascript:{_RUN}';</style>",
    f"<link rel=stylesheet href=data:text/css,*{{background:url(javascript:{_RUN})}}>",
    f"<meta http-equiv=refresh content='0;url=javascript:{_RUN}'>",
    f"<base href=javascript:{_RUN}//>",
    f"<template><script>{_RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN}>'>",
    f"<textarea></textarea><script>{_RUN}</script>",
    f"</textarea><script>{_RUN}</script>",
    f"</title><script>{_RUN}</script>",
    f"<!--><script>{_RUN}</script>-->",
    f"<![CDATA[<script>{_RUN}</script>]]>",
    f"<div hx-get='/console/approvals' hx-trigger='load'>{_RUN}</div>",
    f"<div hx-on::load='{_RUN}'></div>",
    "<div data-hx-get='/console/approvals' data-hx-trigger='load'></div>",
    "{{ self.__init__.__globals__ }} {% raw %}",
    "{{ 7*7 }}${7*7}<%= 7*7 %>",
    f"javascript:{_RUN}",
    f"data:text/html,<script>{_RUN}</script>",
    f"&lt;script&gt;{_RUN}&lt;/script&gt;",
    f"&#60;script&#62;{_RUN}",
    f"\\u003cscript\\u003e{_RUN}",
    f"+ADw-script+AD4-{_RUN}+ADw-/script+AD4-",
    f"<scr\x00ipt>{_RUN}</scr\x00ipt>",
    f"＜script＞{_RUN}＜/script＞",
    f"x' onmouseover='{_RUN}",
    f'x" autofocus onfocus="{_RUN}',
    f"x` onload=`{_RUN}",
)
_HIDDEN: Final = (
    "pay\u202egnp.exe",
    "safe\u2066 hidden \u2069text",
    "zero\u200bwidth\u200djoin",
    "bell\x07 and escape \x1b[31mred\x1b[0m",
    "back\x08\x08\x08\x08space",
    "line\r\nevent: tickets\r\ndata: []",
    "tag\U000e0041\U000e0042\U000e0043s",
    "soft\u00adhyphen and no\u00a0break",
    "arabic \u0627\u0644\u0639\u0631\u0628\u064a\u0629 (1) 2",
    "many\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308 marks",
    "null\x00byte",
    "blank" + " " * 400 + "end",
)
PAYLOADS: Final[Sequence[str]] = (*_SCRIPTS, *_HIDDEN)
