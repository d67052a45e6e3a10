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
    "The server has not been started, so its guards are not in place yet. An application does not start what is "
    "mounted in it: with `tools = server.http_app()`, write `FastAPI(lifespan=tools.lifespan)` (or Starlette), or "
    'enter `async with tools.serving()` in its own lifespan. Under uvicorn alone: lifespan="on".',
    "服务器尚未启动，其防护还未生效。外层应用不会启动挂载在其中的应用：设 `tools = server.http_app()`，"
    "请写 `FastAPI(lifespan=tools.lifespan)`（Starlette 同理），或在外层应用自己的 lifespan 中进入 "
    '`async with tools.serving()`。单独使用 uvicorn 时：lifespan="on"。',
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
BATCH_FILE_ARGUMENT_REFUSED: Final = message(
    "TT4700",
    "{command} is a batch file, and cmd.exe would interpret the character {character!r} in its argument {argument!r}; "
    "it is not started. Start the program behind it instead, such as node with the script of a package, or pass the "
    "value in a variable of the environment.",
    "{command} 是批处理文件，cmd.exe 会解释其参数 {argument!r} 中的字符 {character!r}；因此不予启动。请改为直接启动其"
    "背后的程序（例如用 node 运行软件包的脚本），或通过环境变量传递该值。",
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
CONNECTION_NOT_ACCEPTED: Final = message(
    "TT4720",
    "A connection could not be accepted: {problem}. The server tries again in a second.",
    "无法接受一个连接：{problem}。服务器将在一秒后重试。",
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
REASON_ADDRESS_NOT_PUBLIC: Final = message(
    "TT5240",
    "{address} is not a public address, and the settings do not name this host and port",
    "{address} 不是公网地址，且设置中没有指明此主机和端口",
)
REASON_PORT_NOT_OF_WEB: Final = message(
    "TT5241",
    "port {port} is not a port of the web, and the settings do not name this host and port",
    "{port} 不是网页使用的端口，且设置中没有指明此主机和端口",
)
REASON_HTTPS_REQUIRED: Final = message(
    "TT5242",
    "https is required",
    "必须使用 https",
)
REASON_TOO_MANY_REDIRECTS: Final = message(
    "TT5243",
    "more than {limit} redirects",
    "重定向超过 {limit} 次",
)
REASON_ANSWER_TOO_LARGE: Final = message(
    "TT5244",
    "the answer has more than {limit} bytes",
    "应答超过 {limit} 字节",
)
REASON_ANSWER_CODING: Final = message(
    "TT5245",
    "the answer is compressed by {coding!r}, which was not requested",
    "应答使用了未请求的压缩方式 {coding!r}",
)
REASON_UNPACKED_TOO_LARGE: Final = message(
    "TT5246",
    "the answer has more than {limit} bytes when it is unpacked",
    "应答解压后超过 {limit} 字节",
)
REASON_UNPACKED_RATIO: Final = message(
    "TT5247",
    "the answer unpacks to more than {ratio} times its size",
    "应答解压后超过其大小的 {ratio} 倍",
)
REASON_ANSWER_TRUNCATED: Final = message(
    "TT5248",
    "the answer ends in the middle of its compression",
    "应答的压缩数据不完整",
)
REASON_ANSWER_NOT_COMPRESSED: Final = message(
    "TT5249",
    "the answer is not compressed as its header says",
    "应答的压缩方式与其响应头不符",
)
REASON_NOT_PLAIN_HTTP_URL: Final = message(
    "TT5250",
    "it is not an http(s) URL with a host and without a user",
    "它不是带主机且不含用户名的 http(s) URL",
)
REASON_NOT_HTTP_URL: Final = message(
    "TT5251",
    "it is not an http(s) URL with a host",
    "它不是带主机的 http(s) URL",
)
REASON_HOST_WITHOUT_ADDRESS: Final = message(
    "TT5252",
    "the host has no address",
    "该主机没有地址",
)
REASON_URL_CHARACTERS: Final = message(
    "TT5253",
    "it holds white space, a control character or a backslash",
    "其中含有空白、控制字符或反斜杠",
)
REASON_URL_WITH_USER: Final = message(
    "TT5254",
    "it names a user",
    "其中含有用户名",
)
REASON_URL_TEXT_AFTER_HOST: Final = message(
    "TT5255",
    "text stands behind the brackets of its host",
    "其主机的方括号之后还有文字",
)
REASON_URL_PORT_ZERO: Final = message(
    "TT5256",
    "no port has the number 0",
    "端口号不能为 0",
)
REASON_HEADER_INVALID: Final = message(
    "TT5257",
    "the header {name!r} has an invalid name or value",
    "请求头 {name!r} 的名称或值无效",
)
REASON_CONNECT_TIMEOUT: Final = message(
    "TT5258",
    "there is no connection after {seconds:g} s",
    "{seconds:g} 秒后仍未建立连接",
)
REASON_UNREQUESTED_ANSWER: Final = message(
    "TT5259",
    "it has sent an answer that was not requested",
    "它发送了未请求的应答",
)
REASON_ANSWER_NOT_HTTP: Final = message(
    "TT5260",
    "its answer is not HTTP: {problem}",
    "其应答不是 HTTP：{problem}",
)
REASON_HEAD_TOO_LARGE: Final = message(
    "TT5261",
    "the head or the trailer of its answer is too large",
    "其应答的首部或尾部过大",
)
REASON_CONNECTION_CLOSED: Final = message(
    "TT5262",
    "it has closed the connection",
    "它关闭了连接",
)
LABEL_NO_OUTPUT: Final = message(
    "TT5263",
    "nothing",
    "没有输出",
)
REASON_HOST_NOT_SERVED: Final = message(
    "TT1034",
    "Host {host!r} is not served here",
    "此处不提供 Host {host!r}",
)
REASON_ORIGIN_NOT_ALLOWED: Final = message(
    "TT1035",
    "Origin {origin!r} is not allowed here",
    "此处不允许 Origin {origin!r}",
)
REASON_PATH_UNKNOWN: Final = message(
    "TT1036",
    "nothing here; the endpoint is {path}",
    "此处没有内容；端点是 {path}",
)
REASON_CODING_NOT_READ: Final = message(
    "TT1037",
    "Content-Encoding {coding!r} is not read; send the body as it is",
    "不支持 Content-Encoding {coding!r}；请直接发送未编码的正文",
)
REASON_LENGTH_INVALID: Final = message(
    "TT1038",
    "Content-Length {length!r} is not a number of bytes",
    "Content-Length {length!r} 不是字节数",
)
REASON_BODY_TIMEOUT: Final = message(
    "TT1039",
    "the body did not arrive within {seconds:g} s",
    "正文未在 {seconds:g} 秒内到达",
)
REASON_BODY_TOO_LARGE: Final = message(
    "TT1045",
    "a body may have {limit} bytes",
    "正文最多 {limit} 字节",
)
REASON_CONTENT_TYPE: Final = message(
    "TT1046",
    "send application/json",
    "请发送 application/json",
)
REASON_CHARSET: Final = message(
    "TT1047",
    "JSON is sent in UTF-8",
    "JSON 须以 UTF-8 发送",
)
REASON_STREAM_NEEDS_HTTP_1_1: Final = message(
    "TT1048",
    "a stream without an end takes HTTP/1.1, and the request came by HTTP/1.0",
    "不会结束的流需要 HTTP/1.1，而请求使用的是 HTTP/1.0",
)
ROUTE_WITHOUT_RESPONSE: Final = message(
    "TT4545",
    "The route has ended without a response.",
    "该路由结束时没有给出响应。",
)
MIDDLEWARE_WITHOUT_LIFESPAN: Final = message(
    "TT4546",
    "A middleware of Server(middleware=…) does not pass on the lifespan, so the server cannot start. In it, hand each "
    "scope whose type is not 'http' to the application that it wraps.",
    "Server(middleware=…) 中的某个中间件没有转发 lifespan，服务器无法启动。请在其中把类型不是 "
    "'http' 的 scope 转交给被包装的应用。",
)
MIDDLEWARE_INVALID: Final = message(
    "TT4536",
    "Server(middleware=…) takes ASGI middleware: classes or functions that take an ASGI application and return one; "
    "{kind} is none.",
    "Server(middleware=…) 接受 ASGI 中间件：接受一个 ASGI 应用并返回另一个 ASGI 应用的类或函数；{kind} 不是。",
)

# a client over an author's own transport
CLIENT_LINK_FAILED: Final = message(
    "TT4510",
    "The link {link} failed: {problem}",
    "链接 {link} 失败：{problem}",
)
CLIENT_LINK_NOT_READ: Final = message(
    "TT4511",
    "The link {link} does not take messages: 64 MiB are waiting to be sent.",
    "链接 {link} 不再接收消息：已有 64 MiB 在等待发送。",
)
