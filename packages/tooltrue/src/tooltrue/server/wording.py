"""Messages of the server, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

MESSAGE_LINE_TOO_LONG: Final = message(
    "TT1069",
    "The line is longer than {limit} bytes; the connection is closed.",
    "该行超过 {limit} 字节；连接已关闭。",
)
MESSAGE_TOO_LARGE: Final = message(
    "TT1005",
    "The message is larger than {limit} bytes.",
    "消息超过 {limit} 字节。",
)
PROTOCOL_VERSION_NOT_SUPPORTED: Final = message(
    "TT1014",
    "Protocol version {requested!r} is not supported; supported: {supported}.",
    "不支持协议版本 {requested!r}；支持：{supported}。",
)
STALE_CURSOR: Final = message(
    "TT1015",
    "The cursor is not valid any more; list again from the start.",
    "游标已失效；请从头重新列出。",
)
UNKNOWN_SESSION: Final = message(
    "TT1019",
    "The session is unknown or has ended; begin again with initialize.",
    "会话不存在或已结束；请重新发送 initialize。",
)
INVALID_REQUEST_STATE: Final = message(
    "TT1030",
    "The requestState is not valid: changed, expired, or of another request. Send the request again without it.",
    "requestState 无效：已被更改、已过期或属于另一个请求。请去掉它并重新发送请求。",
)
REQUEST_STATE_REUSED: Final = message(
    "TT1031",
    "The requestState has been used already. Send the request again without it if it is to run once more.",
    "requestState 已被使用过。若确需再次执行，请去掉它并重新发送请求。",
)
CLIENT_CAPABILITY_MISSING: Final = message(
    "TT1033",
    "{subject} has to ask the user, and the request does not declare the client capability for it: {missing}.",
    "{subject} 需要询问用户，但该请求未声明所需的客户端能力：{missing}。",
)
REQUEST_URI_INVALID: Final = message(
    "TT1043",
    "The uri is not an absolute URI (RFC 3986) of at most {limit} characters.",
    "uri 不是长度不超过 {limit} 个字符的绝对 URI（RFC 3986）。",
)
TOO_MANY_SUBSCRIPTIONS: Final = message(
    "TT1044",
    "This session follows {limit} resources already; unsubscribe from some.",
    "该会话已订阅 {limit} 个资源；请先取消一些订阅。",
)
STREAM_NOT_RESUMABLE: Final = message(
    "TT1050",
    "The stream cannot resume after the event {id!r}: the event is unknown here or no longer stored. Open a new "
    "stream, or repeat the request.",
    "无法从事件 {id!r} 之后继续：该事件未知或已不再保留。请重新监听，或重新请求。",
)
STREAM_EVENTS_EXPIRED: Final = message(
    "TT1051",
    "Some events after {id!r} are no longer stored; the stream sends no incomplete rest.",
    "事件 {id!r} 之后的内容已不完整；为免遗漏，不再补发其中一部分。",
)
TOO_MANY_SESSIONS: Final = message(
    "TT1052",
    "No more than {limit} sessions may be open at once; try again later.",
    "同时打开的会话最多 {limit} 个；请稍后再试。",
)
TOO_MANY_STREAMS: Final = message(
    "TT1054",
    "{limit} streams are open for you already; close some of them.",
    "您已打开 {limit} 个流；请先关闭其中一些。",
)
TOO_MANY_OPEN_QUESTIONS: Final = message(
    "TT1055",
    "{limit} questions wait for your answers already; answer some of them.",
    "已有 {limit} 个问题在等待您的回答；请先回答其中一些。",
)
WORKER_GONE_EFFECT_UNKNOWN: Final = message(
    "TT1057",
    "The worker that ran this request has ended, or does not answer. Whether the request took effect is not "
    "known: look before you send it again.",
    "处理该请求的工作进程已终止或没有响应。请求是否已生效无法确定：请先查明，再决定是否重新发送。",
)
MULTIPLE_INTROSPECTION_ENDPOINTS: Final = message(
    "TT1061",
    "Two issuers have an introspection endpoint. An opaque token could be from either, and to ask one would show "
    "it the tokens of the other: give one issuer an endpoint, and let the others issue signed tokens.",
    "有两个签发者都配置了 introspection。不透明令牌可能属于其中任何一个，而询问会把一方的令牌泄露给另一方：请只为"
    "一个签发者配置，其余签发者使用已签名的令牌。",
)
AUTH_SETTING_INVALID: Final = message(
    "TT1062",
    "{place}: {problem} [{cause}]",
    "{place} 有误：{problem} [{cause}]",
)
ALLOWED_CALLERS_SET_TWICE: Final = message(
    "TT1063",
    "{option} and {other} both set the allowed callers. Set them in one place.",
    "{option} 说明了谁可以调用，{other} 也说明了。请只在一处说明。",
)
CLIENT_SECRET_NOT_AVAILABLE: Final = message(
    "TT1064",
    "The secret of the client {client!r} is not there: {problem}. Name one of client_secret_env (a variable of the "
    "environment) and client_secret_file.",
    "找不到客户端 {client!r} 的密钥：{problem}。请用 client_secret_env（环境变量名）或 client_secret_file 之一指明。",
)
AUTHENTICATION_REQUIRED: Final = message(
    "TT1101",
    "This server requires authentication. Send Authorization: Bearer with a token or key that is for this server.",
    "本服务器必须知道调用者的身份。请在 Authorization: Bearer 中发送用于本服务器的令牌或密钥。",
)
TOKEN_NOT_ACCEPTED: Final = message(
    "TT1102",
    "The token is not accepted: {problem}. Get a new one for this server, and send it once, in Authorization.",
    "令牌未被接受：{problem}。请获取一个用于本服务器的新令牌，并仅在 Authorization 中发送一次。",
)
AUTHENTICATION_UNAVAILABLE: Final = message(
    "TT1104",
    "The caller cannot be authenticated now; try again in a minute. The token may be valid.",
    "目前无法核验调用者的身份；请一分钟后重试。令牌本身可能是有效的。",
)
REMOTE_CALL_WITHOUT_AUTHENTICATION: Final = message(
    "TT1105",
    "This server has no authentication, so it accepts calls from this machine only; this call comes from "
    "{address}. The operator of the server can change that: Server(…, authenticate=…).",
    "此处没有身份验证，因此只有本机可以调用，而该请求来自 {address}。服务器的运行者可以更改：Server(…, authenticat"
    "e=…)。",
)
CLIENT_CANNOT_ASK_USER: Final = message(
    "TT2011",
    "{subject} has to ask the user, and this client cannot be asked so ({missing}). Tell the user.",
    "{subject} 需要询问用户，而此客户端不支持这种询问（{missing}）。请告知用户。",
)
QUESTION_TO_CLIENT_FAILED: Final = message(
    "TT2012",
    "{subject} asked the client and got no answer: {problem}. The request was not continued; tell the user.",
    "{subject} 向客户端提问但没有得到回答：{problem}。后续操作均未执行；请告知用户。",
)
LOG_MESSAGES_DROPPED: Final = message(
    "TT2015",
    "More than {limit} messages a second: some are left out.",
    "每秒消息超过 {limit} 条：部分已省略。",
)
STORED_ANSWERS_TOO_LARGE: Final = message(
    "TT2016",
    "The answers to the questions of {subject} are too large to continue with: {size} bytes, more than {limit}. "
    "Tell the user.",
    "对 {subject} 所提问题的回答过大，无法继续：{size} 字节，超过 {limit}。请告知用户。",
)
ONCE_VALUES_TOO_LARGE: Final = message(
    "TT3206",
    "the values that a call stores between its rounds have {size} bytes, more than {limit}. Store less with once().",
    "一次调用在各轮之间保留的数据有 {size} 字节，超过上限 {limit}。请减少 once() 中保留的内容。",
)
UNKNOWN_SERVER_SETTING: Final = message(
    "TT3045",
    "Server takes its name, and settings by keyword; {name!r} is not one of them. {advice}",
    "Server 接受名称和按名称给出的设置；{name!r} 不在其中。{advice}",
)
RUN_TAKES_NO_SETTINGS: Final = message(
    "TT3046",
    "run() takes a transport, host=, port= and allow_hosts=, and no setting {name!r}. {advice}",
    "run() 接受传输方式、host=、port= 和 allow_hosts=，没有 {name!r} 这项设置。{advice}",
)
MOUNT_TAKES_NO_SETTINGS: Final = message(
    "TT4644",
    "mount() takes the other server, and prefix=; {name!r} is not one of them. {advice}",
    "mount() 接受另一个服务器和 prefix=；{name!r} 不在其中。{advice}",
)
SOURCE_NOT_INSTALLED: Final = message(
    "TT6905",
    "Server.from_{name} needs another distribution: {command}",
    "Server.from_{name} 需要另一个发行包：{command}",
)
RUN_WITHIN_EVENT_LOOP: Final = message(
    "TT4645",
    "run() starts an event loop of its own, and one runs already, because the code is async or a command is loading "
    'this file. Put the call below `if __name__ == "__main__":`; in async code, write `await server.serve_stdio()`.',
    "run() 会启动自己的事件循环，而此时已有一个在运行：可能是异步代码，或某个命令正在加载此文件。请把该调用放到 "
    '`if __name__ == "__main__":` 之下；在异步代码中请写 `await server.serve_stdio()`。',
)
HINT_STDIO_SERVER_WAITING: Final = message(
    "TT4023",
    "{server} waits for a client on standard input: a host starts it, and speaks to it there. To try it, run "
    "`tooltrue list {target}` or `tooltrue call {target} TOOL`; to serve HTTP, `tooltrue serve {target} "
    "--http :8000`. Ctrl-C ends it.",
    "{server} 正在标准输入上等待客户端：它由宿主启动并与之通信。试用：`tooltrue list {target}` 或 "
    "`tooltrue call {target} TOOL`；HTTP 服务：`tooltrue serve {target} --http :8000`。按 Ctrl-C 结束。",
)
SETTINGS_FROZEN_WHILE_SERVING: Final = message(
    "TT4038",
    "The server {server} is in use already, so its settings cannot change: {settings}. Set them before the first "
    "client connects, and call run() or http_app() first.",
    "服务器 {server} 已在使用，其设置不能再更改：{settings}。"
    "请在第一个客户端连接之前设置，并先调用 run() 或 http_app()。",
)
OAUTH_EXTRA_MISSING: Final = message(
    "TT4201",
    "OAuth needs the extra 'auth', which is not installed. Run: {command}",
    "OAuth 需要尚未安装的附加组件 auth。请运行：{command}",
)
KEYS_FILE_INVALID: Final = message(
    "TT4202",
    "The keys in {path} cannot be used: {problem}. Mend the file, or make it anew with 'tooltrue keys new'.",
    "无法使用 {path} 中的密钥：{problem}。请修正该文件，或用 'tooltrue keys new' 重新创建。",
)
API_KEY_MALFORMED: Final = message(
    "TT4203",
    "A key is not as it should be: {problem}.",
    "密钥格式有误：{problem}。",
)
AUTHENTICATION_SET_TWICE: Final = message(
    "TT4206",
    "{target} has an authentication of its own, in its code; {option} would be a second one. Take one of them out.",
    "{target} 的代码中已有身份验证；{option} 将成为第二种。请去掉其中之一。",
)
EVENT_LOOP_BLOCKED: Final = message(
    "TT4104",
    "{what} has blocked the event loop for more than {seconds:g} s, and with it every other call: {place}. Make "
    "the function a plain def, which runs on a thread, or await an operation that does not block.",
    "{what} 阻塞事件循环已超过 {seconds:g} 秒，所有其他调用均被拖延：{place}。请将该函数改为普通 def（在线程中运行"
    "），或改用不阻塞的 await。",
)
SEALED_TOKEN_UNREADABLE: Final = message(
    "TT7056",
    "A client has sent a session, cursor or requestState that this worker cannot open, and the server has no keys "
    "of its own. Such tokens end with the process that made them. Where several workers run, give all of them the "
    "same Server(keys=…, facts=…), or use tooltrue serve --workers. This is said once.",
    "客户端发来的会话、游标或 requestState 无法由此工作进程解封，而服务器未设置自己的密钥。"
    "这类令牌随生成它的进程一同失效。若运行多个工作进程，请为所有进程设置相同的 Server(keys=…, facts=…)，"
    "或使用 tooltrue serve --workers。此提示只出现一次。",
)
WORKERS_WITHOUT_SHARED_STATE: Final = message(
    "TT7057",
    "{workers} workers are started without shared state: a session, cursor or question of one fails at the "
    "others, and changes are not announced. Give them the same Server(keys=…, facts=…), or use tooltrue serve "
    "--workers.",
    "将启动 {workers} 个互不共享的工作进程：一个进程的会话、游标或提问在其他进程上会失败，变更也不会相互通知。请为"
    "它们设置相同的 Server(keys=…, facts=…)，或使用 tooltrue serve --workers。",
)
REASON_ALREADY_INITIALIZED: Final = message(
    "TT1240",
    "the session has been initialized already",
    "会话已经初始化",
)
REASON_INITIALIZE_IN_BATCH: Final = message(
    "TT1241",
    '"initialize" cannot be part of a batch',
    '"initialize" 不能放在批量消息中',
)
LABEL_REVISION: Final = message(
    "TT1242",
    "revision {name}",
    "协议版本 {name}",
)
LABEL_KEY_NAME: Final = message(
    "TT4220",
    "the name {name!r}",
    "名称 {name!r}",
)
LABEL_KEY_NAME_FORM: Final = message(
    "TT4221",
    "up to 64 of a-z, 0-9, '.' and '-'",
    "最多 64 个 a-z、0-9、'.' 和 '-' 字符",
)
LABEL_SCOPE: Final = message(
    "TT4222",
    "the scope {scope!r}",
    "权限范围 {scope!r}",
)
LABEL_SCOPE_FORM: Final = message(
    "TT4223",
    "printable, without spaces or quotes",
    "可打印且不含空格和引号的文本",
)
REASON_KEY_NO_TABLE: Final = message(
    "TT4224",
    "a key is a table: [NAME]",
    "密钥须为表：[NAME]",
)
REASON_KEY_MEMBER_UNKNOWN: Final = message(
    "TT4225",
    "{name} means nothing there",
    "{name} 在此处没有意义",
)
REASON_KEY_DIGEST_INVALID: Final = message(
    "TT4226",
    "sha256 is 64 hexadecimal digits; 'tooltrue keys new' makes them",
    "sha256 须为 64 位十六进制数字；可由 'tooltrue keys new' 生成",
)
REASON_KEY_SCOPES_INVALID: Final = message(
    "TT4227",
    "scopes is an array of strings",
    "scopes 须为字符串数组",
)
REASON_KEY_EXPIRY_INVALID: Final = message(
    "TT4228",
    "expires is a time with an offset, like 2027-01-31T00:00:00Z",
    "expires 须为带时区偏移的时间，例如 2027-01-31T00:00:00Z",
)
LABEL_ADDRESSES_AND_NETWORKS: Final = message(
    "TT4229",
    "addresses and networks ({problem})",
    "地址和网络（{problem}）",
)
REASON_SECRET_NAMED_NOWHERE: Final = message(
    "TT1244",
    "it is named nowhere",
    "没有指明其来源",
)
REASON_SECRET_NAMED_TWICE: Final = message(
    "TT1245",
    "it is named twice",
    "指明了两个来源",
)
REASON_SECRET_ABSENT: Final = message(
    "TT1246",
    "{source} is empty or not there",
    "{source} 为空或不存在",
)
LABEL_SECONDS_UP_TO: Final = message(
    "TT4230",
    "0 to {limit} seconds",
    "0 到 {limit} 秒",
)
LABEL_SAID_OF_ONE_ISSUER: Final = message(
    "TT4231",
    "said of one of them: AuthorizationServer(…, {name}=…)",
    "只属于其中一个：AuthorizationServer(…, {name}=…)",
)
LABEL_DISTINCT_ISSUERS: Final = message(
    "TT4232",
    "one issuer or several, each once",
    "一个或多个互不相同的签发者",
)
LABEL_SCOPE_NAMES: Final = message(
    "TT4233",
    "names without spaces, and not {reserved}",
    "不含空格的名称，且不是 {reserved}",
)
LABEL_HTTPS_URL: Final = message(
    "TT4234",
    "an https URL (http on loopback only) without query, fragment and user",
    "https URL（仅回环地址可用 http），不含查询、片段和用户",
)
REASON_TOKEN_ALGORITHM: Final = message(
    "TT1106",
    "its algorithm is not one that is accepted",
    "不接受其签名算法",
)
REASON_NOT_ACCESS_TOKEN: Final = message(
    "TT1107",
    "it is not an access token",
    "它不是访问令牌",
)
REASON_KEY_NAME_NOT_TEXT: Final = message(
    "TT1108",
    "the name of its key is not text",
    "其密钥名称不是文本",
)
REASON_TOKEN_UNREADABLE: Final = message(
    "TT1109",
    "it is not a token that can be read",
    "它不是可读取的令牌",
)
REASON_CLAIM_MISSING: Final = message(
    "TT1110",
    "it has no claim {claim}",
    "其中没有声明 {claim}",
)
REASON_NOT_KEY_SET: Final = message(
    "TT1111",
    "it is not a set of keys",
    "它不是密钥集",
)
REASON_SIGNATURE_UNKNOWN: Final = message(
    "TT1112",
    "its signature is not one of the issuer's keys",
    "其签名不是由签发者的密钥生成的",
)
REASON_TOKEN_EXPIRED: Final = message(
    "TT1113",
    "it has expired",
    "它已过期",
)
REASON_CLAIM_INVALID: Final = message(
    "TT1114",
    "its claim {claim} is invalid",
    "其声明 {claim} 无效",
)
REASON_TOKEN_OF_OTHER_ISSUER: Final = message(
    "TT1115",
    "it comes from another issuer",
    "它来自另一个签发者",
)
REASON_TOKEN_FOR_OTHER_SERVER: Final = message(
    "TT1116",
    "it is for another server",
    "它用于另一个服务器",
)
REASON_TOKEN_NOT_YET_VALID: Final = message(
    "TT1117",
    "it is not valid yet",
    "它尚未生效",
)
REASON_TOKEN_FROM_FUTURE: Final = message(
    "TT1118",
    "it was issued in the future",
    "其签发时间在将来",
)
REASON_TOKEN_WITHOUT_SUBJECT: Final = message(
    "TT1119",
    "it names no subject",
    "其中没有指明主体",
)
REASON_TOKEN_INACTIVE: Final = message(
    "TT1120",
    "it is not valid any more, or never was",
    "它已失效，或从未有效",
)
REASON_TOKEN_TOO_LONG: Final = message(
    "TT1121",
    "it is longer than {limit} characters",
    "它超过 {limit} 个字符",
)
REASON_PROXY_NAME_INVALID: Final = message(
    "TT1122",
    "the name that the proxy gives is too long or not printable",
    "代理给出的名称过长或含有不可打印的字符",
)
REASON_NOT_API_KEY: Final = message(
    "TT1123",
    "it is not a key of tooltrue",
    "它不是 tooltrue 的密钥",
)
REASON_NO_SUCH_API_KEY: Final = message(
    "TT1124",
    "there is no such key, or it was removed",
    "没有这个密钥，或它已被移除",
)
REASON_API_KEY_EXPIRED: Final = message(
    "TT1125",
    "the key has expired",
    "该密钥已过期",
)
REASON_ISSUER_METADATA_MEMBER: Final = message(
    "TT1126",
    "its metadata has no {name}",
    "其元数据中没有 {name}",
)
REASON_ISSUER_WITHOUT_METADATA: Final = message(
    "TT1127",
    "it has no metadata",
    "它没有元数据",
)
REASON_ISSUER_METADATA_FOREIGN: Final = message(
    "TT1128",
    "the metadata at {url} is that of another issuer",
    "{url} 的元数据属于另一个签发者",
)
REASON_ISSUER_STATUS: Final = message(
    "TT1129",
    "HTTP status {status}",
    "HTTP 状态 {status}",
)
LABEL_ONE_OR_MORE: Final = message(
    "TT4063",
    "1 or more",
    "不小于 1 的数",
)
LABEL_KEYS_OF_LENGTH: Final = message(
    "TT4064",
    "keys of {count} bytes or more",
    "至少 {count} 字节的密钥",
)
ROUTE_PATH_INVALID: Final = message(
    "TT4530",
    "The path {path!r} of a route is not a plain path: after each '/', letters, digits and -._~!$&'()*+,;=:@, and no "
    "segment is '.' or '..'. For parameters in a path, use a Route of Starlette or mount an application.",
    "路由的路径 {path!r} 不是普通路径：每个 '/' 之后须为字母、数字和 -._~!$&'()*+,;=:@，且任何一段都不能是 "
    "'.' 或 '..'。若路径需要参数，请使用 Starlette 的 Route，或挂载一个应用。",
)
ROUTE_COVERS_RESERVED_PATH: Final = message(
    "TT4531",
    "The route {path!r} would cover {reserved}, a path of the server. Begin it with another segment; to serve an "
    "application at the root, mount server.http_app() in it.",
    "路由 {path!r} 会覆盖服务器自己的路径 {reserved}。请换用其他的第一段；"
    "若要在根路径提供应用，请把 server.http_app() 挂载到该应用中。",
)
ROUTE_DEFINED_TWICE: Final = message(
    "TT4532",
    "Two routes serve {path!r} with the same method. Keep one, or give them different methods.",
    "有两个路由以相同的方法提供 {path!r}。请只保留一个，或为它们指定不同的方法。",
)
ROUTE_ENDPOINT_INVALID: Final = message(
    "TT4533",
    "The endpoint of the route {path!r} must be an async function of one request, `async def f(request)`, or an ASGI "
    "application.",
    "路由 {path!r} 的端点必须是接受一个请求的异步函数 `async def f(request)`，或 ASGI 应用。",
)
ROUTE_KIND_UNKNOWN: Final = message(
    "TT4534",
    "Server(routes=…) takes Route objects of tooltrue, and Route and Mount objects of Starlette; this is a {kind}.",
    "Server(routes=…) 接受 tooltrue 的 Route 对象以及 Starlette 的 Route 和 Mount 对象；这里是 {kind}。",
)
ROUTE_METHODS_INVALID: Final = message(
    "TT4535",
    'The methods of the route {path!r} must be names of HTTP methods, such as ["GET", "POST"].',
    '路由 {path!r} 的 methods 必须是 HTTP 方法名，例如 ["GET", "POST"]。',
)
REASON_NO_KEYS: Final = message(
    "TT4044",
    "there is none",
    "其中没有密钥",
)
REASON_NOT_TEXT: Final = message(
    "TT4045",
    "it is not text",
    "它不是文本",
)
REASON_LINE_NOT_BASE64: Final = message(
    "TT4046",
    "a line is not base64",
    "有一行不是 base64",
)
REASON_KEY_TOO_SHORT: Final = message(
    "TT4047",
    "a key has {count} bytes, and needs {least}",
    "有密钥只有 {count} 字节，至少需要 {least} 字节",
)
SSE_REQUIRES_SINGLE_WORKER: Final = message(
    "TT4010",
    "--sse goes with one worker: the session of an HTTP+SSE client lives in the process that has its stream. "
    "Serve such clients from a process of their own, or without --workers.",
    "--sse 只能用于单个工作进程：HTTP+SSE 客户端的会话存在于持有其流的进程中。请用单独的进程服务此类客户端，"
    "或不使用 --workers。",
)
SEALING_KEY_UNREADABLE: Final = message(
    "TT7054",
    "No key can be read from {place}: {problem}. A key is base64 of 16 bytes or more on a line of its own, made "
    "with `openssl rand -base64 32`; the first seals, the others still open.",
    "无法从 {place} 读取密钥：{problem}。每行一个密钥，为至少 16 字节的 base64，"
    "可用 `openssl rand -base64 32` 生成；第一个用于封装，其余仍可用于解封。",
)
SHARED_STATE_FOLDER_MISSING: Final = message(
    "TT7058",
    "The workers share their state in a file, and there is no folder to put it in: {problem} Set TMPDIR to a "
    "folder that can be written, give the store with --state, or leave out --workers.",
    "各工作进程通过文件共享状态，但没有可用的目录：{problem}请将 TMPDIR 设为可写目录，用 --state 指定存储，"
    "或去掉 --workers。",
)
SEALING_KEY_REQUIRED: Final = message(
    "TT7055",
    "Servers that share {url} need the same key, and this one has none: the others could not open the cursors and "
    "tokens of this one. Write a key into a file with `openssl rand -base64 32`, give that file to each, and "
    "start with --sealing-key-file FILE or with TOOLTRUE_SEALING_KEY.",
    "共享 {url} 的各服务器需要相同的密钥，而此服务器没有：其中一台交给客户端的内容，其他服务器将无法打开。请用 `op"
    "enssl rand -base64 32` 把密钥写入文件，发给每台服务器，并用 --sealing-key-file 文件 或 TOOLTRUE_SEALING_KEY "
    "启动。",
)
RUN_TRANSPORT_UNKNOWN: Final = message(
    "TT4537",
    "run() has no transport {transport!r}: write {known}.",
    "run() 没有传输方式 {transport!r}：请写 {known}。",
)
RUN_SETTING_REQUIRES_HTTP: Final = message(
    "TT4538",
    'run({name}=…) goes with HTTP: write run("http", {name}=…).',
    'run({name}=…) 须与 HTTP 一起使用：请写 run("http", {name}=…)。',
)
LIFESPAN_START_FAILED: Final = message(
    "TT4522",
    "The server {server} cannot start: its lifespan raised {error} ({file}, line {line}: {text}).",
    "服务器 {server} 无法启动：其 lifespan 抛出 {error}（{file} 第 {line} 行：{text}）。",
)
LIFESPAN_NOT_A_FUNCTION: Final = message(
    "TT4523",
    "The lifespan of {server} must be a function of the server that makes an async context manager, or a list of such "
    "functions: @asynccontextmanager above async def lifespan(server).",
    "服务器 {server} 的 lifespan 必须是接收该服务器并创建异步上下文管理器的函数，或由这种函数组成的列表："
    "在 async def lifespan(server) 上方写 @asynccontextmanager。",
)
LIFESPAN_LEAVING_FAILED: Final = message(
    "TT4524",
    "The lifespan of {server} failed while it was left. The server ends all the same.",
    "服务器 {server} 的 lifespan 在退出时出错。服务器照常结束。",
)
LIFESPAN_LEAVING_HANGS: Final = message(
    "TT4525",
    "The lifespan of {server} was not left within {seconds:g} s, and was given up. Close faster, or set "
    "Limits(lifespan_seconds=…).",
    "服务器 {server} 的 lifespan 未能在 {seconds:g} 秒内退出，已放弃。请加快关闭，或设置 Limits(lifespan_seconds=…)。",
)
LIFESPAN_ENDED_EARLY: Final = message(
    "TT4526",
    "The lifespan of {server} ended while the server runs. Tools that take a value from it fail from now on.",
    "服务器 {server} 仍在运行，但其 lifespan 已结束。此后需要其中值的工具都会失败。",
)
LIFESPAN_MISSING: Final = message(
    "TT4527",
    "The server {server} has no lifespan, and {subject} takes a {type} from it; write Server(…, lifespan=lifespan).",
    "服务器 {server} 没有 lifespan，而 {subject} 需要由它提供 {type}；请写 Server(…, lifespan=lifespan)。",
)
PRESET_UNKNOWN: Final = message(
    "TT4540",
    "There is no sign-in preset {preset!r}; there are {known}. For any other authorization server, name its issuer: "
    "OAuth(issuer=…).",
    "没有名为 {preset!r} 的登录预设；现有 {known}。其他授权服务器请直接指定签发者：OAuth(issuer=…)。",
)
PRESET_SETTING_MISSING: Final = message(
    "TT4541",
    "The sign-in preset {preset} needs {names}.",
    "登录预设 {preset} 需要 {names}。",
)
PRESET_SETTING_UNKNOWN: Final = message(
    "TT4542",
    "The sign-in preset {preset} has no setting {name!r}. It takes {known}.",
    "登录预设 {preset} 没有设置 {name!r}。它接受 {known}。",
)
PRESET_SETTING_INVALID: Final = message(
    "TT4543",
    "{name} of the sign-in preset {preset} must be {wanted}.",
    "登录预设 {preset} 的 {name} 必须是 {wanted}。",
)
PRESET_AUDIENCE_OF_ALL: Final = message(
    "TT4544",
    "Every token of {preset} may have the audience {audience!r}, so tokens of other applications would be accepted. "
    "Make the issuer put the URL of this server into the audience of its tokens.",
    "{preset} 的任何令牌都可能带有受众 {audience!r}，其他应用的令牌也会因此被接受。"
    "请让签发者把此服务器的 URL 放入令牌的受众。",
)
PRESET_OR_ISSUERS: Final = message(
    "TT4547",
    "The table names either a preset, with its settings, or its issuers: one of the two.",
    "该表要么指定 preset 及其设置，要么指定 issuers，二者选一。",
)
LABEL_HOST_NAME: Final = message(
    "TT4548",
    "a host name, such as acme.example.com, without https://",
    "主机名，例如 acme.example.com，不带 https://",
)
LABEL_GUID: Final = message(
    "TT4549",
    "a GUID, as the overview of the directory or application shows it; a name such as common would admit every "
    "directory",
    "GUID，见目录或应用的概述页；common 之类的名称会允许所有目录",
)
LABEL_PATH_SEGMENT: Final = message(
    "TT4539",
    "made of letters, digits and ._~-",
    "由字母、数字和 ._~- 组成",
)
TASK_STORE_NEEDS_KEYS: Final = message(
    "TT5631",
    "Tasks in {store} need keys that all its servers share: give them to the server, or in a file to --keys.",
    "存储在 {store} 中的任务需要所有服务器共享的密钥：请传给服务器，或用 --keys 指定密钥文件。",
)
TASK_STORE_NOT_WRITABLE: Final = message(
    "TT5632",
    "The keys of tasks cannot be stored in {path}: {problem}.",
    "无法把任务密钥存储到 {path}：{problem}。",
)
TASK_NOT_SUPPORTED_BY_TOOL: Final = message(
    "TT5661",
    "{tool} does not run as a task. Call it without the parameter task.",
    "{tool} 不能作为任务运行。请去掉参数 task 再调用。",
)
TASK_REQUIRED_BY_TOOL: Final = message(
    "TT5662",
    "{tool} only runs as a task. Call it with the parameter task.",
    "{tool} 只能作为任务运行。请带上参数 task 再调用。",
)
TASK_HAS_ENDED: Final = message(
    "TT5663",
    "The task cannot be cancelled: it has ended, and is {status}.",
    "无法取消该任务：它已结束，状态为 {status}。",
)
SESSION_TASK_CANCELLED: Final = message(
    "TT5664",
    "The task was cancelled, and has no result.",
    "该任务已被取消，没有结果。",
)
