"""What secrets look like, row by row. A new issuer is a new row, with its secret in the tests.

A row needs something that nothing else has: a beginning, a word beside it. That keeps it from what is merely random.
Texts are made against it as well: what it repeats before something that may be missing has a bound, or stops where it
may begin again.
"""
# ruff: noqa: E501 - a pattern is read in one piece

from __future__ import annotations

from toolwright.protocol.types import Value

__all__ = ["SHAPES", "Shape", "without_edges"]


class Shape(Value, frozen=True):
    """A kind of secret: ``begins`` is how it begins, or else ``known`` are words of which one is never far from it;
    ``pattern`` is what it is. What the group ``secret`` holds is masked, or all of it."""

    kind: str
    begins: tuple[str, ...]
    pattern: str
    known: tuple[str, ...] = ()


# Also behind "-" and "_", and behind the escape of a line's end, as in the text of a JSON file.
_FROM = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"
# The same where what follows has no bound: once for a run of such characters, with a few names in front.
_FROM_ONCE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt]))(?:[A-Za-z0-9]{0,32}[_-]){0,8}?"
_END = r"(?![A-Za-z0-9_-])"
_PEM = r"(?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PEM_HEAD = r"(?:(?:\\[rn]|\s){1,40}+[A-Z][A-Za-z-]{1,40}: [^\n\\]{0,300}+){0,16}+"

_EDGES = (_FROM_ONCE, _FROM, _END, "(?![A-Za-z0-9])", "(?![A-Za-z0-9/+=])")


def without_edges(pattern: str) -> str:
    """A pattern that does not mind what stands before and behind."""
    for edge in _EDGES:
        pattern = pattern.replace(edge, "")
    return pattern


SHAPES = (
    Shape("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?<!X-Amz-Credential=)" + _FROM + r"(?:AKIA|ASIA|ABIA|ACCA)(?![A-Z2-7]{0,9}EXAMPLE)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    Shape("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _FROM + r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    Shape("github-token", ("github_pat_",), _FROM + r"github_pat_[A-Za-z0-9_]{70,255}"),
    Shape("gitlab-token", ("glpat-", "glptt-", "gldt-", "glrt-"), _FROM + r"gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_-]{20,}"),
    Shape("slack-token", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-"), _FROM + r"(?:xox[abeprs]|xapp)-(?=[A-Za-z-]{0,60}\d)[A-Za-z0-9-]{20,}"),
    Shape("google-key", ("AIza",), _FROM + r"AIza[A-Za-z0-9_-]{35}" + _END),
    Shape("google-token", ("GOCSPX-",), _FROM + r"GOCSPX-[A-Za-z0-9_-]{28}"),
    Shape("google-token", ("ya29.",), _FROM + r"ya29\.[A-Za-z0-9_-]{30,}"),
    Shape("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), _FROM + r"sk-(?:proj|svcacct|admin)-(?=[A-Za-z_-]{0,100}\d)[A-Za-z0-9_-]{40,}"),
    Shape("openai-key", ("sk-",), _FROM + r"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}" + _END),
    Shape("anthropic-key", ("sk-ant-",), _FROM + r"sk-ant-[a-z]{1,20}\d\d-[A-Za-z0-9_-]{40,}"),
    Shape("openrouter-key", ("sk-or-",), _FROM + r"sk-or-v1-[0-9a-f]{64}" + _END),
    Shape("stripe-key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_"), _FROM + r"[rs]k_(?:live|test)_[A-Za-z0-9]{20,}"),
    Shape("stripe-key", ("whsec_",), _FROM + r"whsec_[A-Za-z0-9+/]{32,}"),
    Shape("npm-token", ("npm_",), _FROM + r"npm_(?=[A-Za-z]{0,35}\d)[A-Za-z0-9]{36}" + _END),
    Shape("pypi-token", ("pypi-AgE",), _FROM + r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    Shape("huggingface-token", ("hf_",), _FROM + r"hf_(?=[a-z0-9]{0,33}[A-Z])[A-Za-z0-9]{34}" + _END),
    Shape("sendgrid-key", ("SG.",), _FROM + r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}" + _END),
    Shape("telegram-token", ("AA",), _FROM + r"\d{8,10}:AA[A-Za-z0-9_-]{33}" + _END),
    Shape("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), _FROM + r"do[opr]_v1_[0-9a-f]{64}" + _END),
    Shape("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), _FROM + r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}" + _END),
    Shape("vault-token", ("hvs.", "hvb."), _FROM + r"hv[bs]\.[A-Za-z0-9_-]{24,}"),
    Shape("databricks-token", ("dapi",), _FROM + r"dapi[0-9a-f]{32}(?:-\d)?" + _END),
    Shape("linear-key", ("lin_api_",), _FROM + r"lin_api_[A-Za-z0-9]{40}" + _END),
    Shape("atlassian-token", ("ATATT3", "ATCTT3"), _FROM + r"AT[AC]TT3[A-Za-z0-9_=-]{60,}"),
    Shape("grafana-token", ("glsa_", "glc_"), _FROM + r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{40,}={0,2})"),
    Shape("newrelic-key", ("NRAK-",), _FROM + r"NRAK-[A-Z0-9]{27}" + _END),
    Shape("notion-token", ("ntn_",), _FROM + r"ntn_[0-9]{11}[A-Za-z0-9]{35}" + _END),
    Shape("supabase-token", ("sbp_",), _FROM + r"sbp_[0-9a-f]{40}" + _END),
    Shape("postman-key", ("PMAK-",), _FROM + r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}" + _END),
    Shape("groq-key", ("gsk_",), _FROM + r"gsk_[A-Za-z0-9]{52}" + _END),
    Shape("xai-key", ("xai-",), _FROM + r"xai-[A-Za-z0-9]{80}" + _END),
    Shape("replicate-token", ("r8_",), _FROM + r"r8_[A-Za-z0-9]{37}" + _END),
    Shape("perplexity-key", ("pplx-",), _FROM + r"pplx-[A-Za-z0-9]{48}" + _END),
    Shape("alibaba-key", ("LTAI",), _FROM + r"LTAI[A-Za-z0-9]{20}" + _END),
    Shape("tencent-key", ("AKID",), _FROM + r"AKID(?=[A-Za-z]{0,31}\d)[A-Za-z0-9]{32}" + _END),
    Shape("age-key", ("AGE-SECRET-KEY-1",), _FROM + r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}" + _END),
    Shape("pulumi-token", ("pul-",), _FROM + r"pul-[0-9a-f]{40}" + _END),
    Shape("jwt", ("eyJ", "ewo"), _FROM_ONCE + r"(?P<secret>e(?:yJ|wo)[A-Za-z0-9_-]{10,}\.e(?:yJ|wo)[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})"),
    Shape("slack-webhook", (), _FROM + r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/]{30,})", known=("hooks.slack.com",)),
    Shape("private-key", (), r"-----BEGIN " + _PEM + _PEM_HEAD + r"[^-]{40,}+(?:-----END " + _PEM + r")?", known=("PRIVATE KEY",)),
    Shape("aws-secret-key", (), r"(?i:secret_?access_?key)[\"'\s:=>\\]{1,8}(?P<secret>(?=[A-Za-z0-9/+]{0,39}\d)(?![A-Za-z0-9/+]{0,33}EXAMPLE)[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", known=("ecretAccessKey", "ecret_access_key", "CCESS_KEY")),
    Shape("azure-key", (), _FROM + r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{43,86}={1,2})", known=("ccountKey=", "AccessKey=")),
    Shape("connection-password", (), _FROM + r"[a-z][a-z0-9+.-]{1,20}://[^\s:/?#@\"'<>`]*:(?P<secret>[^\s/?#@\"'<>`]{3,})@(?!(?:[A-Za-z0-9-]{1,63}\.){0,10}example\.(?:com|net|org)\b)[A-Za-z0-9_.\[-]", known=("://",)),
    Shape("connection-password", (), r"(?i:\b(?:server|data source|host|user id|uid|user)=[^\n;]{1,100}(?:;[^\n;=]{1,40}=[^\n;]{0,100}){0,8}?;\s{0,8}(?:password|pwd)=)(?P<secret>[^;\s\"']{3,})", known=("assword=",)),
)  # fmt: skip
