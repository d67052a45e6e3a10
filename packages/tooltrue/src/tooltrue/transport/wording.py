"""Messages of transports, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

SERVER_SHUTTING_DOWN: Final = message(
    "TT1053",
    "The server is about to end; ask again later.",
    "服务器即将停止；请稍后再试。",
)
SERVER_LIFESPAN_NOT_STARTED: Final = message(
    "TT1056",
    "The server has not been started, so its guards are not in place yet. Run its lifespan where the application "
    'is mounted (uvicorn: lifespan="on"), or enter `async with app.serving()` around all requests.',
    '服务器尚未启动，其防护还未生效。挂载它的人请运行其 lifespan（uvicorn：lifespan="on"），或在所有请求之外进入 `'
    "async with app.serving()`。",
)
TOKEN_IN_URL: Final = message(
    "TT1103",
    "A token stands in the URL, where logs keep it; it counts as given away. Send a new one in Authorization.",
    "URL 中含有令牌，会被日志保存，应视为已泄露。请换用新令牌并在 Authorization 中发送。",
)
DUPLICATE_HEADER: Final = message(
    "TT1027",
    "The header {header} is sent more than once.",
    "请求头 {header} 出现了多次。",
)
HTTP_REQUEST_REFUSED: Final = message(
    "TT1028",
    "Refused: {reason}.",
    "已拒绝：{reason}。",
)
LISTEN_ADDRESS_INVALID: Final = message(
    "TT4003",
    "{address!r} is not an address; write HOST:PORT, [IPV6]:PORT or :PORT.",
    "{address!r} 不是地址；请写 HOST:PORT、[IPV6]:PORT 或 :PORT。",
)
PUBLIC_ADDRESS_WITHOUT_AUTHENTICATION: Final = message(
    "TT4005",
    "Refusing to listen on {address}: other machines reach it, and there is no authentication. Listen on "
    "127.0.0.1, or authenticate callers: --keys FILE, --oauth ISSUER --resource URL, [auth] in the file of "
    "--config, Server(…, authenticate=…); or admit anyone with --public.",
    "拒绝监听 {address}：其他机器可以访问，却没有身份验证。请监听 127.0.0.1，或说明谁可以调用：--keys FILE、--oaut"
    "h ISSUER --resource URL、--config 文件中的 [auth]、Server(…, authenticate=…)，或用 --public 允许任何人。",
)
LISTEN_FAILED: Final = message(
    "TT4007",
    "Cannot listen on {address}: {problem}.",
    "无法监听 {address}：{problem}。",
)
STDOUT_NOT_WRITABLE: Final = message(
    "TT4011",
    "Standard output cannot be written: {problem}. The program ends; its output is incomplete.",
    "无法写入标准输出：{problem}。程序即将结束，其输出不完整。",
)
FETCH_REFUSED: Final = message(
    "TT4210",
    "{url} is not fetched: {problem}.",
    "不会获取 {url}：{problem}。",
)
FETCH_FAILED: Final = message(
    "TT4211",
    "{url} cannot be fetched: {problem}.",
    "无法获取 {url}：{problem}。",
)
SERVER_COMMAND_START_FAILED: Final = message(
    "TT5003",
    "{command} cannot be started: {problem}.",
    "无法启动 {command}：{problem}。",
)
SERVER_COMMAND_EXITED: Final = message(
    "TT5004",
    "{command} has ended. The last that it printed to standard error: {stderr}",
    "{command} 已退出。其标准错误的最后输出：{stderr}",
)
SERVER_LINE_TOO_LONG: Final = message(
    "TT5005",
    "The server sent a line that is too long; the connection is given up.",
    "服务器发送的行过长；连接已放弃。",
)
SERVER_UNREACHABLE: Final = message(
    "TT5006",
    "{url} cannot be reached: {problem}.",
    "无法访问 {url}：{problem}。",
)
HTTP_ERROR_STATUS: Final = message(
    "TT5007",
    "{url} answered with HTTP status {status}{said}.",
    "{url} 返回了 HTTP 状态 {status}{said}。",
)
SESSION_ENDED_BY_SERVER: Final = message(
    "TT5020",
    "The server has ended the session.",
    "服务器已结束会话。",
)
RESPONSE_STREAM_UNSTABLE: Final = message(
    "TT5021",
    "The answer stream of the server broke off {count} times in a row without anything new; it is given up.",
    "服务器的应答流连续 {count} 次中断且没有新内容；已放弃。",
)
SERVER_INPUT_NOT_READ: Final = message(
    "TT5027",
    "{command} does not read its input; the connection is closed.",
    "{command} 不读取发送给它的内容；连接已放弃。",
)
RESPONSE_TO_OTHER_REQUEST: Final = message(
    "TT5030",
    "{url} has answered with a message that does not answer the request: {problem}.",
    "{url} 返回的内容不是对该请求的应答：{problem}。",
)
REDIRECT_NOT_FOLLOWED: Final = message(
    "TT5031",
    "{url} redirects to {target} (HTTP status {status}). Redirects are not followed: if that is where the server "
    "is, connect to that URL.",
    "{url} 重定向到 {target}（HTTP 状态 {status}）。不会跟随重定向：如果服务器确实在那里，请直接连接该 URL。",
)
SSE_ENDPOINT_REFUSED: Final = message(
    "TT5032",
    "{url} names {endpoint} as the endpoint of HTTP+SSE, which is refused: {problem}.",
    "{url} 指定 {endpoint} 作为 HTTP+SSE 的端点，已拒绝：{problem}。",
)
SSE_ENDPOINT_TIMEOUT: Final = message(
    "TT5033",
    "{url} opened a stream of HTTP+SSE, and named no endpoint within {seconds:g} s.",
    "{url} 打开了 HTTP+SSE 流，但在 {seconds:g} 秒内没有指定端点。",
)
SSE_STREAM_ENDED: Final = message(
    "TT5034",
    "The stream of {url} has ended, and the session of HTTP+SSE with it. Requests in flight may have taken effect.",
    "{url} 的流已结束，HTTP+SSE 会话随之结束。尚未完成的请求可能已经生效。",
)
CONNECTION_LIMIT_REACHED: Final = message(
    "TT7060",
    "Connections are turned away: a worker has {most} at the most, and {of_one} of one address. Where a proxy "
    "stands in front, name it with --trust-proxy; --connections and --connections-per-address set the limits.",
    "正在拒绝新连接：每个工作进程最多 {most} 个连接，每个地址最多 {of_one} 个。"
    "如前面有代理，请用 --trust-proxy 指明；可用 --connections 和 --connections-per-address 设置上限。",
)
TOO_MANY_CONNECTIONS: Final = message(
    "TT7061",
    "There are too many connections to this server, or from your address. Close some, or try again later.",
    "与本服务器的连接过多，或来自您地址的连接过多。请关闭一些连接，或稍后再试。",
)
REASON_FETCH_TIMEOUT: Final = message(
    "TT5210",
    "no answer within {seconds:g} s",
    "{seconds:g} 秒内没有应答",
)
REASON_OF_NO_REQUEST: Final = message(
    "TT5211",
    "it belongs to no request",
    "它不属于任何请求",
)
REASON_SECOND_ENDPOINT: Final = message(
    "TT5212",
    "it is the second",
    "这是第二个端点",
)
REASON_OTHER_ORIGIN: Final = message(
    "TT5213",
    "it is not of the origin of {url}",
    "它与 {url} 不同源",
)
REASON_ENDPOINT_TOO_LONG: Final = message(
    "TT5214",
    "it is too long",
    "它过长",
)
REASON_ENDPOINT_CHARACTERS: Final = message(
    "TT5215",
    "it holds white space, a control character, a backslash, or what is not ASCII",
    "其中含有空白、控制字符、反斜杠或非 ASCII 字符",
)
REASON_ENDPOINT_WITHOUT_HOST: Final = message(
    "TT5216",
    "it has a scheme or two slashes, and no host",
    "它有协议名或两个斜杠，却没有主机",
)
