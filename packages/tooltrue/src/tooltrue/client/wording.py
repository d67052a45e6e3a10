"""Messages of the client, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

NO_COMMON_PROTOCOL_REVISION: Final = message(
    "TT5008",
    "The server speaks no protocol revision that we do; it offers {offered}.",
    "服务器与我们没有共同的协议版本；它提供 {offered}。",
)
CLIENT_NOT_OPEN: Final = message(
    "TT4646",
    "The client is not open. Use it inside of `async with Client(…) as client:`.",
    "客户端尚未打开。请在 `async with Client(…) as client:` 之内使用它。",
)
CLIENT_TARGET_INVALID: Final = message(
    "TT4647",
    "A client connects to a URL, a command, the path of a .py file as text, a Server, or a ClientLink, and not to an "
    "object of {kind}; a file or a mapping of several servers is for Host.",
    "客户端可连接 URL、命令、以文本给出的 .py 文件路径、Server 或 ClientLink，不能连接 {kind} 的对象；"
    "包含多个服务器的文件或映射用于 Host。",
)
TOO_MANY_NON_MESSAGE_LINES: Final = message(
    "TT5011",
    "The server printed more than {count} lines that are no messages; is it an MCP server?",
    "服务器输出了超过 {count} 行非消息内容；它是 MCP 服务器吗？",
)
SERVER_QUESTION_NOT_SUPPORTED: Final = message(
    "TT5010",
    "The server has a question for the user, and this client cannot ask the user.",
    "服务器需要用户输入，而此客户端无人可问。",
)
TOO_MANY_INPUT_ROUNDS: Final = message(
    "TT5012",
    "The server has asked for input {limit} times without coming to an end.",
    "服务器已要求输入 {limit} 次仍未结束。",
)
RESULT_VIOLATES_OUTPUT_SCHEMA: Final = message(
    "TT5023",
    "The result of {tool} does not fit the output schema of the tool: {problem}. The effects of the call stay.",
    "{tool} 的结果不符合该工具的输出 schema：{problem}。调用的作用已经发生。",
)
RESULT_VIOLATES_REQUESTED_TYPE: Final = message(
    "TT5024",
    "The result of {tool} is not of the requested type: {problem}. The effects of the call stay.",
    "{tool} 的结果不是所要求的类型：{problem}。调用的作用已经发生。",
)
FAILURE_WITH_SERVER_STDERR: Final = message(
    "TT5025",
    "{problem} The last output of the server on standard error: {stderr}",
    "{problem} 服务器标准错误的最后输出：{stderr}",
)
SUBSCRIPTION_NOT_OFFERED: Final = message(
    "TT5026",
    "The server does not offer {what}, so it cannot be followed.",
    "服务器不提供 {what}，因此无法订阅。",
)
SAMPLING_DECLINED_BY_USER: Final = message(
    "TT5028",
    "The user does not want a model to be asked.",
    "用户不同意调用模型。",
)
SERVER_QUESTION_UNRELATED: Final = message(
    "TT5040",
    "{method} belongs to no open request. A server may ask while a call of a tool, a read of a resource or a "
    "prompt waits for its answer.",
    "{method} 不属于任何未完成的请求。仅当工具调用、资源读取或提示正在等待应答时，服务器才可以提问。",
)
TOO_MANY_PENDING_SERVER_QUESTIONS: Final = message(
    "TT5041",
    "The server asks too much: {limit} questions wait for an answer at most. The setting is questions=….",
    "服务器提问过多：最多同时有 {limit} 个问题等待回答。设置项为 questions=…。",
)
SERVER_QUESTIONS_RATE_LIMITED: Final = message(
    "TT5042",
    "The server asks too often: {method} is answered {limit} times a minute at most. The setting is questions=….",
    "服务器提问过于频繁：{method} 每分钟最多回答 {limit} 次。设置项为 questions=…。",
)
SERVER_QUESTIONS_REFUSED: Final = message(
    "TT5043",
    "{server}: {count} questions were refused. {why}",
    "{server}：已拒绝 {count} 个问题。{why}",
)
SERVER_QUESTION_TOO_LONG: Final = message(
    "TT5044",
    "The question is too long: it has {size} characters, and at most {limit} are put to a person. The setting is "
    "questions=….",
    "问题过长：共 {size} 个字符，最多显示 {limit} 个。设置项为 questions=…。",
)

# tasks
TASK_CANCELLED: Final = message(
    "TT5310",
    "The task {id} was cancelled before its end. It may have taken effect in part.",
    "任务 {id} 在结束之前被取消。其部分作用可能已经发生。",
)
TASK_EXPIRED: Final = message(
    "TT5311",
    "The task {id} has come to no end within {seconds:g} s, after which its server may forget it.",
    "任务 {id} 在 {seconds:g} 秒内没有结束，此后服务器可能不再保留它。",
)
TASK_TIMEOUT: Final = message(
    "TT5312",
    "The task {id} has come to no end within {seconds:g} s in all.",
    "任务 {id} 在总共 {seconds:g} 秒内没有结束。",
)
TASK_CONNECTION_LOST: Final = message(
    "TT5313",
    "The task {id} cannot be followed: {problem}. It may go on at its server; client.task({id!r}) follows it again.",
    "无法继续跟踪任务 {id}：{problem}。它可能仍在服务器上运行；可用 client.task({id!r}) 再次跟踪。",
)
TASKS_NOT_SPOKEN: Final = message(
    "TT5314",
    "There are no tasks on this connection: it needs a stateless server, and tasks=True in the client.",
    "此连接不支持任务：需要无状态服务器，且客户端设置了 tasks=True。",
)
REASON_TASK_METHOD: Final = message(
    "TT5320",
    "a task may answer tools/call alone",
    "只有 tools/call 可以用任务应答",
)
REASON_TASK_NOT_DECLARED: Final = message(
    "TT5321",
    "it is a task, and the request did not declare the extension for tasks",
    "应答是任务，而请求没有声明任务扩展",
)
REASON_TASK_OF_OTHER_ID: Final = message(
    "TT5322",
    "taskId is that of another task",
    "taskId 属于另一个任务",
)
REASON_TASK_TIME: Final = message(
    "TT5323",
    "{member} is not a time of ISO 8601",
    "{member} 不是 ISO 8601 时间",
)

# authorization of a client
AUTH_FOR_HTTP_ONLY: Final = message(
    "TT5100",
    "auth=… is for servers on HTTP: give a URL. A command gets its credentials by env=….",
    "auth=… 仅用于 HTTP 服务器：请给出 URL。命令的凭据请通过 env=… 提供。",
)
SIGN_IN_REQUIRED: Final = message(
    "TT5101",
    "{url} requires authentication, and no user has signed in. Run `tooltrue login {url}`, or give the client "
    "auth=SignIn(webbrowser.open).",
    "{url} 要求身份验证，但尚未登录。请运行 `tooltrue login {url}`，或设置 auth=SignIn(webbrowser.open)。",
)
SIGN_IN_METADATA_UNTRUSTED: Final = message(
    "TT5102",
    "The sign-in metadata of {url} is not trusted: {problem}. No request was sent there. Its operator can correct it.",
    "{url} 提供的登录信息不可信：{problem}。未向其发送任何内容。请联系其运营方修正。",
)
AUTHORIZATION_SERVER_ERROR: Final = message(
    "TT5103",
    "{url} admits no user: its authorization server says {problem}.",
    "无法获得 {url} 的访问权限：其授权服务器回复 {problem}。",
)
AUTHORIZATION_RESPONSE_MISMATCH: Final = message(
    "TT5104",
    "The browser came back with an answer that is not of {issuer}: {problem}. It was not used. Sign in again; if "
    "this happens twice, somebody mixes up authorization servers.",
    "浏览器带回的应答并非来自 {issuer}：{problem}。未使用该应答。请重新登录；若再次发生，可能有人混淆授权服务器。",
)
SIGN_IN_TIMEOUT: Final = message(
    "TT5105",
    "The user has not signed in for {url} within {seconds:g} s. Try again.",
    "{seconds:g} 秒内无人登录 {url}。请重试。",
)
CLIENT_REGISTRATION_FAILED: Final = message(
    "TT5106",
    "{issuer} does not register this client: {problem}. Register one there, and give its client_id.",
    "{issuer} 拒绝注册此客户端：{problem}。请在该处自行注册并提供 client_id。",
)
SCOPES_ALREADY_REQUESTED: Final = message(
    "TT5107",
    "{url} wants the scopes {scopes} for this, and they have been asked for already; asking again would not help.",
    "{url} 的此操作需要权限范围 {scopes}，此前已经申请过；再次申请没有用处。",
)
CLIENT_NOT_REGISTERED: Final = message(
    "TT5108",
    "{issuer} does not know this client, and takes no registrations. Register one there, and give its client_id.",
    "{issuer} 不认识此客户端，也不接受动态注册。请在该处注册并提供 client_id。",
)
REGISTERED_ISSUER_MISMATCH: Final = message(
    "TT5109",
    "The server redirects to {issuer}, but client_id was registered with {registered}. No request was sent.",
    "服务器要求使用 {issuer}，但 client_id 是与 {registered} 约定的。未发送任何内容。",
)
CREDENTIAL_STORE_UNUSABLE: Final = message(
    "TT5110",
    "Credentials cannot be kept in {place}: {problem}.",
    "无法在 {place} 保存凭据：{problem}。",
)
TOKEN_OVER_PLAIN_HTTP: Final = message(
    "TT5111",
    "Tokens are not sent to {url}: others could read them. Use https; http is for this machine only.",
    "不会向 {url} 发送令牌：他人可能读取。请使用 https；http 仅限本机。",
)
FRESH_TOKEN_REJECTED: Final = message(
    "TT5112",
    "{url} refuses the token that was just made for it. Its operator can say which tokens it takes.",
    "{url} 拒绝了刚刚为其签发的令牌。请向其运营方了解所接受的令牌。",
)
SIGNING_EXTRA_MISSING: Final = message(
    "TT5113",
    "Signing with a key needs the extra 'auth', which is not installed. Run: {command}",
    "使用密钥签名需要尚未安装的附加组件 auth。请运行：{command}",
)
REDIRECT_URI_UNUSABLE: Final = message(
    "TT5114",
    "The browser could not come back to {uri}: {problem}. Give a redirect_uri with another port, and register it.",
    "浏览器无法返回 {uri}：{problem}。请改用其他端口的 redirect_uri 并完成登记。",
)
AUTHORIZATION_SET_TWICE: Final = message(
    "TT5115",
    "headers=… has an Authorization of its own, and auth=… makes one: give one of the two.",
    "headers=… 中已有 Authorization，而 auth=… 也会生成：请只给出其一。",
)
TOKEN_REVOCATION_FAILED: Final = message(
    "TT5116",
    "Signed out here, but {issuer} could not be told: {problem}. Its tokens end by themselves.",
    "已在本机注销，但无法通知 {issuer}：{problem}。其令牌会自行过期。",
)
SIGN_IN_RATE_LIMITED: Final = message(
    "TT5117",
    "{url} has asked for a sign-in {count} times within {minutes:g} minutes. For a while the user is not asked again.",
    "{url} 在 {minutes:g} 分钟内已要求登录 {count} 次。暂时不再为其询问任何人。",
)

# the host: configuration
CLIENT_CONFIG_FILE_UNREADABLE: Final = message(
    "TT9200",
    "{file} cannot be read: {problem}.",
    "无法读取 {file}：{problem}。",
)
CLIENT_CONFIG_MALFORMED: Final = message(
    "TT9201",
    "{file} cannot be read: {problem}.",
    "无法解析 {file}：{problem}。",
)
CLIENT_CONFIG_WITHOUT_SERVERS: Final = message(
    "TT9202",
    "{file} names no servers: it needs one of mcpServers, servers or [servers.NAME], and has {keys} (near: {found}).",
    "{file} 没有列出服务器：需要 mcpServers、servers 或 [servers.NAME] 之一，而实际有 {keys}（相近：{found}）。",
)
CLIENT_CONFIG_SEVERAL_TABLES: Final = message(
    "TT9209",
    "{file} names servers in several tables: {tables}. Hosts differ in the table that they read; keep one.",
    "{file} 在多个表中列出了服务器：{tables}。各宿主读取的表不同；请只保留一个。",
)
CLIENT_CONFIG_KEY_UNKNOWN: Final = message(
    "TT9203",
    "{file} {path}: there is no such key; near: {near}.",
    "{file} {path}：没有这个键；相近的有：{near}。",
)
CLIENT_CONFIG_VALUE_INVALID: Final = message(
    "TT9204",
    "{file} {path}: it has to be {wanted}.",
    "{file} {path}：应为 {wanted}。",
)
CLIENT_CONFIG_TRANSPORT_AMBIGUOUS: Final = message(
    "TT9205",
    "{file} {path}: a server has either a command (with args, env, cwd) or a url (with headers), and a type that "
    "fits it.",
    "{file} {path}：服务器要么有 command（及 args、env、cwd），要么有 url（及 headers），且 type 与之相符。",
)
CLIENT_CONFIG_VARIABLE_UNSET: Final = message(
    "TT9206",
    "{file} {path}: the variable {name} is not set. Set it, or give it a default: ${{env:{name}:-…}}.",
    "{file} {path}：变量 {name} 未设置。请设置它，或给出默认值：${{env:{name}:-…}}。",
)
CLIENT_CONFIG_REFERENCE_UNKNOWN: Final = message(
    "TT9207",
    "{file} {path}: {reference} is unknown. There are ${{env:NAME}}, ${{env:NAME:-default}}, ${{NAME}}, "
    "${{input:ID}} of an input that is declared, ${{keyring:NAME}}, ${{workspaceFolder}} and ${{userHome}}.",
    "{file} {path}：{reference} 无法识别。可用：${{env:NAME}}、${{env:NAME:-default}}、${{NAME}}、已声明的 ${{inpu"
    "t:ID}}、${{keyring:NAME}}、${{workspaceFolder}} 和 ${{userHome}}。",
)
CLIENT_CONFIG_INPUT_MISSING: Final = message(
    "TT9208",
    "{file} {path}: the input {id} has no valid answer. Give one at the start.",
    "{file} {path}：输入 {id} 没有得到可接受的值。启动者须提供。",
)
CLIENT_CONFIG_SECRET_MISSING: Final = message(
    "TT4810",
    "{file} {path}: the keyring has no value named {name}.",
    "{file} {path}：密钥环中没有名为 {name} 的值。",
)
CLIENT_CONFIG_SECRET_UNREADABLE: Final = message(
    "TT4811",
    "{file} {path}: {name} cannot be read from the keyring: {problem}",
    "{file} {path}：无法从密钥环读取 {name}：{problem}",
)
KEYRING_UNUSABLE: Final = message(
    "TT4812",
    "There is no keyring here that can be used. It needs a service of the system that keeps secrets, and the extra: "
    "{install}",
    "此处没有可用的密钥环。需要系统的密钥保管服务以及扩展：{install}",
)
CLIENT_CONFIG_GRANT_IGNORED: Final = message(
    "TT9221",
    "{file} {path}: it grants no permission here. Your own rules decide which calls run without a question.",
    "{file} {path}：在此不授予任何权限。哪些可以不经询问运行，由您自己的规则决定。",
)
CLIENT_CONFIG_KEY_IGNORED: Final = message(
    "TT9222",
    "{file} {path}: it has no meaning here, and was ignored.",
    "{file} {path}：在此没有意义，已忽略。",
)
CLIENT_CONFIG_KEY_NOT_SUPPORTED: Final = message(
    "TT9223",
    "{file} {path}: it would need something that is not done here: {why}.",
    "{file} {path}：需要此处不提供的功能：{why}。",
)
CLIENT_CONFIG_SSE_DEPRECATED: Final = message(
    "TT9224",
    "{file} {path}: HTTP+SSE is deprecated; it is spoken to this server, as the file says.",
    "{file} {path}：HTTP+SSE 已弃用；将按该文件的设置用它连接此服务器。",
)
CLIENT_CONFIG_SIGN_IN_IGNORED: Final = message(
    "TT9225",
    "{file} {path}: how to sign in is not read from here, and was passed over.",
    "{file} {path}：登录方式不从此处读取，已忽略。",
)
REASON_NOT_DECLARED: Final = message(
    "TT5200",
    "{name} was not declared",
    "未声明 {name}",
)
REASON_MODE_INVALID: Final = message(
    "TT5201",
    "mode is neither form nor url",
    "mode 既不是 form 也不是 url",
)
REASON_QUESTION_INCOMPLETE: Final = message(
    "TT5202",
    "a message, and a requestedSchema or url, are needed",
    "需要 message，以及 requestedSchema 或 url",
)
REASON_REPLY_MISFIT: Final = message(
    "TT5203",
    "the reply does not fit the form: {problem}",
    "回答不符合表单：{problem}",
)
REASON_OTHERS_HAVE_ACCESS: Final = message(
    "TT5130",
    "others can get at it",
    "其他用户可以访问它",
)
REASON_ISSUER_ABSENT: Final = message(
    "TT5131",
    "it does not say whose it is",
    "其中没有说明来自哪个签发者",
)
REASON_ISSUER_DIFFERS: Final = message(
    "TT5132",
    "it says {issuer!r}",
    "其中写的是 {issuer!r}",
)
LABEL_KEYRING: Final = message(
    "TT5133",
    "the keyring",
    "系统密钥环",
)
LABEL_PRIVATE_KEY: Final = message(
    "TT5134",
    "a private key in PEM: RSA, EC or Ed25519",
    "PEM 格式的私钥：RSA、EC 或 Ed25519",
)
REASON_HTTP_STATUS: Final = message(
    "TT5135",
    "HTTP status {status}, {problem}",
    "HTTP 状态 {status}，{problem}",
)
REASON_PAGES_TOO_LARGE: Final = message(
    "TT5204",
    "its pages have more than {limit} bytes",
    "各页合计超过 {limit} 字节",
)
REASON_CURSOR_NOT_TEXT: Final = message(
    "TT5205",
    "nextCursor is not a string",
    "nextCursor 不是字符串",
)
REASON_CURSOR_REPEATED: Final = message(
    "TT5206",
    "its pages never end: nextCursor {cursor!r} comes again, and the last page has none",
    "分页没有尽头：nextCursor {cursor!r} 重复出现，而最后一页不应有 nextCursor",
)
REASON_PAGES_ENDLESS: Final = message(
    "TT5207",
    "its pages never end",
    "分页没有尽头",
)
REASON_MEMBER_NOT_ARRAY: Final = message(
    "TT5208",
    "{name} is not an array",
    "{name} 不是数组",
)
LABEL_OBJECT_OF_SERVERS: Final = message(
    "TT9280",
    "an object: a server by its name",
    "对象：服务器名称及其设置",
)
LABEL_OBJECT_WITH_ID: Final = message(
    "TT9281",
    "an object with an id",
    "带 id 的对象",
)
LABEL_OBJECT_WITH_COMMAND_OR_URL: Final = message(
    "TT9282",
    "an object with command or url",
    "带 command 或 url 的对象",
)
LABEL_TEXT: Final = message(
    "TT9283",
    "text",
    "文本",
)
LABEL_LIST_OF_TEXTS: Final = message(
    "TT9284",
    "a list of texts",
    "文本列表",
)
LABEL_OBJECT_OF_TEXTS: Final = message(
    "TT9285",
    "an object of texts",
    "值为文本的对象",
)
LABEL_TRUE_OR_FALSE: Final = message(
    "TT9286",
    "true or false",
    "true 或 false",
)
LABEL_OBJECT_OF_LISTS: Final = message(
    "TT9287",
    "an object of lists of texts",
    "值为文本列表的对象",
)
REASON_INPUT_REQUESTS_INVALID: Final = message(
    "TT5209",
    "inputRequests is not an object of requests",
    "inputRequests 不是由请求组成的对象",
)
REASON_NOTHING_ASKED: Final = message(
    "TT5220",
    "input is required, and nothing is asked",
    "要求输入，却没有提出任何问题",
)
REASON_RESULT_NO_OBJECT: Final = message(
    "TT5221",
    "the result is not an object",
    "结果不是对象",
)
REASON_RESULT_TYPE_UNKNOWN: Final = message(
    "TT5222",
    "unknown resultType {type!r}",
    "未知的 resultType {type!r}",
)
LABEL_ON_LOOPBACK: Final = message(
    "TT5136",
    "on loopback, like {example}",
    "回环地址，例如 {example}",
)
LABEL_HTTPS_URL_WITH_PATH: Final = message(
    "TT5137",
    "an https URL with a path",
    "带路径的 https URL",
)
LABEL_ONE_OF_THE_TWO: Final = message(
    "TT5138",
    "one of the two",
    "二者之一",
)
REASON_NO_STRUCTURED_CONTENT: Final = message(
    "TT5230",
    "there is no structuredContent",
    "没有 structuredContent",
)
LABEL_THE_SERVER: Final = message(
    "TT5231",
    "The server",
    "服务器",
)
REASON_TOKEN_TYPE_MISMATCH: Final = message(
    "TT5140",
    "its token is not of the type {type}",
    "其令牌不是 {type} 类型",
)
REASON_TOKEN_NOT_SENDABLE: Final = message(
    "TT5141",
    "its answer has no {name} that could be sent",
    "其应答中没有可发送的 {name}",
)
REASON_TOKEN_ANSWER_NO_OBJECT: Final = message(
    "TT5143",
    "its answer is not a JSON object",
    "其应答不是 JSON 对象",
)
REASON_METADATA_OF_OTHER_SERVER: Final = message(
    "TT5144",
    "the metadata is of another server, {resource!r}",
    "该元数据属于另一个服务器 {resource!r}",
)
REASON_METADATA_OF_OTHER_ISSUER: Final = message(
    "TT5145",
    "{issuer} publishes metadata of another issuer, {other!r}",
    "{issuer} 发布的是另一个签发者 {other!r} 的元数据",
)
REASON_METADATA_STATUS: Final = message(
    "TT5146",
    "its metadata is answered with HTTP status {status}",
    "请求其元数据时返回 HTTP 状态 {status}",
)
REASON_METADATA_INVALID: Final = message(
    "TT5147",
    "its metadata is not valid: {problem}",
    "其元数据无效：{problem}",
)
REASON_NO_REVOCATION_ENDPOINT: Final = message(
    "TT5148",
    "it has no endpoint for that",
    "它没有相应的端点",
)
REASON_NO_AUTHORIZATION_SERVER: Final = message(
    "TT5149",
    "the server names no authorization server",
    "该服务器没有指明授权服务器",
)
REASON_NO_ISSUER_METADATA: Final = message(
    "TT5150",
    "there is no metadata of {url}",
    "{url} 没有发布元数据",
)
REASON_PKCE_NOT_DECLARED: Final = message(
    "TT5151",
    "{issuer} does not declare PKCE with S256, and is not trusted without it",
    "{issuer} 未声明支持 S256 方式的 PKCE，因此不予信任",
)
REASON_NO_SIGN_IN_PAGE: Final = message(
    "TT5152",
    "{issuer} has no page to sign in",
    "{issuer} 没有登录页面",
)
REASON_SIGN_IN_PAGE_REFUSED: Final = message(
    "TT5153",
    "the page to sign in cannot be shown: {problem}",
    "无法显示登录页面：{problem}",
)
REASON_NO_AUTHORIZATION_CODE: Final = message(
    "TT5154",
    "the browser came back without a code",
    "浏览器返回时没有携带授权码",
)
REASON_NO_IDENTITY_ASSERTION: Final = message(
    "TT5155",
    "{issuer} gives no assertion of the identity of the user",
    "{issuer} 没有给出用户身份断言",
)
REASON_SIGN_IN_REFUSED: Final = message(
    "TT5156",
    "the sign-in was refused: {problem}",
    "登录被拒绝：{problem}",
)
REASON_HEADERS_COMMAND: Final = message(
    "TT9288",
    "a command that makes headers is not run here; use headers with ${{env:NAME}}",
    "此处不运行生成请求头的命令；请在 headers 中使用 ${{env:NAME}}",
)
REASON_AUTH_PROVIDER: Final = message(
    "TT9289",
    "its own way to sign in is not known here; use headers with ${{env:NAME}}",
    "此处不支持它自己的登录方式；请在 headers 中使用 ${{env:NAME}}",
)
LABEL_URL_OF_DOCUMENT: Final = message(
    "TT5157",
    "the URL at which the document will be published",
    "该文档的发布 URL",
)
