"""Messages of the web tools, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# the web tools
WEB_EXTRA_MISSING: Final = message(
    "TT6400",
    "The web tools need packages of the extra 'web' that are not installed ({packages}). Run: {command}",
    "网页工具需要附加组件 web 中尚未安装的软件包（{packages}）。请运行：{command}",
)
PAGE_URL_INVALID: Final = message(
    "TT6401",
    "{url!r} is no address that can be fetched: {problem}. Give it like 'https://example.com/page', without a user "
    "or a password.",
    "{url!r} 不是可以获取的网址：{problem}。请按 'https://example.com/page' 的形式给出，不含用户名或密码。",
)
PAGE_FETCH_REFUSED: Final = message(
    "TT6402",
    "{url} is not fetched: {problem}. Only public web sites are; another page may have the same content. If the "
    "user needs this one, the operator of this server can allow its host and port.",
    "不会获取 {url}：{problem}。只获取公开网站；可换用内容相同的其他网页。如果用户确实需要它，可请本服务器的运营者"
    "开放该主机和端口。",
)
PAGE_FETCH_FAILED: Final = message(
    "TT6403",
    "{url} cannot be fetched: {problem}. Check the spelling of the host, try again later, or use another page.",
    "无法获取 {url}：{problem}。请检查主机名拼写，稍后重试，或换用其他网页。",
)
PAGE_NOT_FOUND: Final = message(
    "TT6404",
    "There is no page at {url} (status {status}). Check the path, or begin with the start page of the site.",
    "{url} 处没有内容（状态 {status}）。请检查路径，或从该网站首页开始。",
)
PAGE_NOT_PUBLIC: Final = message(
    "TT6405",
    "{url} is not shown to everybody (status {status}), and this tool cannot log in. Ask the user for the content, "
    "or use a public page.",
    "{url} 并非对所有人开放（状态 {status}），本工具无法登录。请向用户索取内容，或换用公开网页。",
)
PAGE_SITE_BUSY: Final = message(
    "TT6406",
    "{url} is too busy (status {status}). Fetch it again in {seconds} s, not earlier.",
    "{url} 繁忙（状态 {status}）。请在 {seconds} 秒之后再获取，不要提前。",
)
PAGE_ERROR_STATUS: Final = message(
    "TT6407",
    "{url} answered with status {status}, which is no document. Use another page, or tell the user.",
    "{url} 返回状态 {status}，没有文档。请换用其他网页，或告知用户。",
)
PAGE_TOO_LARGE: Final = message(
    "TT6408",
    "{url} is too large: {problem}. Use a smaller document, such as one page of it.",
    "{url} 过大：{problem}。请换用更小的文档，例如其中一页。",
)
PAGE_TYPE_WITHOUT_TEXT: Final = message(
    "TT6409",
    "{url} is {type}, which has no text. HTML, PDF, text, JSON and XML can be read; use a page about it.",
    "{url} 的类型是 {type}，没有文本。可读取 HTML、PDF、文本、JSON 和 XML；请换用介绍它的网页。",
)
PAGE_START_BEYOND_END: Final = message(
    "TT6410",
    "start is {start}, but {url} has {size} characters. Use next_start of the last result, or 0.",
    "start 为 {start}，但 {url} 只有 {size} 个字符。请使用上次结果中的 next_start，或 0。",
)
PAGE_DISALLOWED_BY_ROBOTS: Final = message(
    "TT6411",
    "The site asks programs not to fetch {url} (robots.txt), or does not say for the moment. Use another page, or "
    "tell the user.",
    "该网站要求程序不要获取 {url}（robots.txt），或暂时无法得知其要求。请换用其他网页，或告知用户。",
)
PAGE_TOO_MANY_REDIRECTS: Final = message(
    "TT6412",
    "{url} leads on and on: {problem}. Use the address that it should lead to.",
    "{url} 不断跳转：{problem}。请直接使用最终网址。",
)
PAGE_UNREADABLE: Final = message(
    "TT6413",
    "{url} cannot be read: {problem}. Use another page or form of the document.",
    "无法读取 {url}：{problem}。请换用其他网页或该文档的其他形式。",
)
PAGE_STYLE_SHEETS_TOO_LARGE: Final = message(
    "TT6414",
    "{url} cannot be read: its style sheets are too large to determine the hidden text. Use another page, or "
    "part='source', where hidden text is not left out.",
    "无法读取 {url}：样式表过大，无法判断哪些文字被隐藏。请换用其他网页，或用 part='source'（不去除隐藏文字）。",
)
COORDINATES_OUT_OF_RANGE: Final = message(
    "TT6420",
    "{location!r} is nowhere on Earth. Latitude is between -90 and 90, longitude between -180 and 180.",
    "{location!r} 不在地球上。纬度在 -90 到 90 之间，经度在 -180 到 180 之间。",
)
UNKNOWN_LOCATION: Final = message(
    "TT6421",
    "No place is known as {location!r}. Check the spelling, give the name of a larger city nearby, or latitude and "
    "longitude.",
    "没有名为 {location!r} 的地点。请检查拼写，改用附近较大城市的名称，或给出经纬度。",
)
WEATHER_SERVICE_ERROR: Final = message(
    "TT6422",
    "The weather service does not answer as it should: {problem}. Try again later, or tell the user.",
    "天气服务未正常应答：{problem}。请稍后重试，或告知用户。",
)
WEATHER_SERVICE_RATE_LIMITED: Final = message(
    "TT6423",
    "The weather service is asked too often. Ask again in {seconds} s, not earlier.",
    "对天气服务的请求过于频繁。请在 {seconds} 秒之后再试，不要提前。",
)
REASON_READING_TOO_LONG: Final = message(
    "TT6415",
    "reading it takes too long",
    "读取时间过长",
)
REASON_DOCUMENT_BEYOND_LIMITS: Final = message(
    "TT6416",
    "it takes more memory or time than a document may",
    "所需的内存或时间超过文档的限额",
)
REASON_ANSWERED_STATUS: Final = message(
    "TT6424",
    "it answered with status {status}",
    "它返回了状态码 {status}",
)
REASON_NO_PLACES: Final = message(
    "TT6425",
    "the answer is no list of places",
    "应答不是地点列表",
)
REASON_NO_FORECAST: Final = message(
    "TT6426",
    "the answer is no forecast",
    "应答不是天气预报",
)
LABEL_BINARY_DATA: Final = message(
    "TT6417",
    "binary data",
    "二进制数据",
)
