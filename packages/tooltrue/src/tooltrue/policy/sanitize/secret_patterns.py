"""Patterns of secrets, row by row. A new issuer is a new row, with its secret in the tests.

A row needs a feature that no other text has: a beginning, or a word beside it. That separates it from merely random
text. Hostile texts are made against it as well: a repetition before an optional part has a bound, or stops where it may
begin again.
"""
# ruff: noqa: E501 - a pattern is read in one piece

from __future__ import annotations

from collections.abc import Callable

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.protocol.types import Value

__all__ = ["LONGEST_GLUE", "SECRET_PATTERNS", "SecretPattern", "is_named", "is_random", "with_glue", "without_edges"]


class SecretPattern(Value, frozen=True):
    """A kind of secret. It has one of the ``prefixes``, or else one of the ``words`` is never far from it. It
    matches ``pattern``, of which the group ``secret`` is masked, or all of it."""

    kind: str
    prefixes: tuple[str, ...]
    pattern: str
    words: tuple[str, ...] = ()
    holds: Callable[[str], bool] | None = None
    """Whether a match of the pattern is a secret, where the pattern alone cannot tell."""

    @property
    def is_whole(self) -> bool:
        """Whether its beginning is unique: then it is recognized behind a letter too, and in pieces."""
        return _FROM in self.pattern and self.prefixes != () and all(map(_is_rare, self.prefixes))


def _is_rare(prefix: str) -> bool:
    return len(prefix) >= 4 or (len(prefix) == 3 and prefix[-1] in "_-.")


def is_mixed(secret: str) -> bool:
    """Return whether a text has capitals, small letters and two digits, or is 32 or more hexadecimal digits: names that
    people choose do not."""
    if len(secret) >= 32 and not secret.strip("0123456789abcdefABCDEF-") and not secret.isdigit():
        return True
    return sum(map(str.isdigit, secret)) >= 2 and secret != secret.lower() and secret != secret.upper()


def is_random(secret: str) -> bool:
    """Return whether a text behind a letter that begins like a token is one, and not part of a name in a program."""
    if sum(map(str.isdigit, secret)) < 2:
        return False
    return (
        secret.isupper()
        or (secret != secret.lower() and secret != secret.upper())
        or _HEX.compiled.search(secret.replace("-", "")) is not None
    )


_HEX = LazyPattern(r"[0-9a-f]{32}")
_WORDS = LazyPattern(r"[A-Za-z_]\w*(?:[.:/-]+[A-Za-z_]\w*)*")
_SPECIAL = LazyPattern(r"[^\w.:/-]")
_EXAMPLE = LazyPattern(
    r"(?i)pass|pwd|test|example|secret|admin|user|changeme|your|demo|foo|bar|sample|dummy|here|value|min|max|length|char|field|none|null|true|false"
)


def _is_password(secret: str) -> bool:
    """Return whether a text is likely a chosen password, and not a word, a name in a program or an example."""
    has_digit, has_letter = any(map(str.isdigit, secret)), any(map(str.isalpha, secret))
    if not (has_letter and (has_digit or _SPECIAL.compiled.search(secret))) or secret.endswith(":"):
        return False
    is_name = _WORDS.compiled.fullmatch(secret) is not None
    is_mixed = secret != secret.lower() and secret != secret.upper() and has_digit
    if is_name and not is_mixed:
        return not (_EXAMPLE.compiled.search(secret) or "_" in secret or "." in secret or "-" in secret)
    return not (is_name and _EXAMPLE.compiled.search(secret)) and len(set(secret)) > 4


# Also behind "-" and "_", and behind the escape of a line end, as in the text of a JSON file.
_FROM = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"
# The same for a pattern without a bound: once for a run of such characters, with a few names in front.
_FROM_ONCE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt]))(?:[A-Za-z0-9]{0,32}[_-]){0,8}?"
_END = r"(?![A-Za-z0-9_-])"
_PEM = r"(?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_PEM_HEAD = r"(?:(?:\\[rn]|\s){1,40}+[A-Z][A-Za-z-]{1,40}: [^\n\\]{0,300}+){0,16}+"

_EDGES = (_FROM_ONCE, _FROM, _END, "(?![A-Za-z0-9])", "(?![A-Za-z0-9/+=])")


def without_edges(pattern: str) -> str:
    """Remove the conditions on the text before and behind a pattern."""
    for edge in _EDGES:
        pattern = pattern.replace(edge, "")
    return pattern


_NAME = r"(?i:(?:api|access|auth|client|secret|session|refresh|private|bearer|bot|app|service|account|master|signing|encryption|storage|admin|deploy|webhook|x)[_. -]?(?:api[_-]?)?(?:key|token|secret)|authtoken|apikey)"
_SAYS = r"\\?[\"']?\s{0,4}(?:=>|:=|[:=])\s{0,4}(?:\\?[\"'])?"
_ENDS = r"(?=[\"'`\s,;&<\\)}\]|]|$)"

SECRET_PATTERNS = (
    SecretPattern("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?<!X-Amz-Credential=)" + _FROM + r"(?:AKIA|ASIA|ABIA|ACCA)(?![A-Z2-7]{0,9}EXAMPLE)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    SecretPattern("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _FROM + r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    SecretPattern("github-token", ("github_pat_",), _FROM + r"github_pat_[A-Za-z0-9_]{70,255}"),
    SecretPattern("gitlab-token", ("glpat-", "glptt-", "gldt-", "glrt-", "glrtr-", "glft-", "glimt-", "glsoat-", "glcbt-", "glagent-", "gloas-", "glffct-", "glwt-"), _FROM + r"gl(?:pat|ptt|dt|rtr?|ft|imt|soat|cbt|agent|oas|ffct|wt)-(?=[A-Za-z_.-]{0,60}\d)[A-Za-z0-9_.-]{20,}"),
    SecretPattern("gitlab-token", ("GR1348941",), _FROM + r"GR1348941[A-Za-z0-9_-]{20,}"),
    SecretPattern("slack-token", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxc-", "xoxd-", "xapp-"), _FROM + r"(?:xox[abcdeprs]|xapp)-(?=[A-Za-z%-]{0,60}\d)[A-Za-z0-9%/+-]{20,}"),
    SecretPattern("slack-token", ("xoxe.",), _FROM + r"xoxe\.xox[bp]-\d-[A-Za-z0-9]{40,}"),
    SecretPattern("google-key", ("AIza",), _FROM + r"AIza[A-Za-z0-9_-]{35}" + _END),
    SecretPattern("google-token", ("GOCSPX-",), _FROM + r"GOCSPX-[A-Za-z0-9_-]{28}"),
    SecretPattern("google-token", ("ya29.",), _FROM + r"ya29\.[A-Za-z0-9_-]{30,}"),
    SecretPattern("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), _FROM + r"sk-(?:proj|svcacct|admin)-(?=[A-Za-z_-]{0,100}\d)[A-Za-z0-9_-]{40,}"),
    SecretPattern("openai-key", ("sk-",), _FROM + r"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}" + _END),
    SecretPattern("anthropic-key", ("sk-ant-",), _FROM + r"sk-ant-[a-z]{1,20}\d\d-[A-Za-z0-9_-]{40,}"),
    SecretPattern("openrouter-key", ("sk-or-",), _FROM + r"sk-or-v1-[0-9a-f]{64}" + _END),
    SecretPattern("stripe-key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_prod_", "rk_prod_"), _FROM + r"[rs]k_(?:live|test|prod)_[A-Za-z0-9]{20,}"),
    SecretPattern("stripe-key", ("whsec_",), _FROM + r"whsec_[A-Za-z0-9+/]{32,}"),
    SecretPattern("npm-token", ("npm_",), _FROM + r"npm_(?=[A-Za-z]{0,35}\d)[A-Za-z0-9]{36}" + _END),
    SecretPattern("tooltrue-key", ("tt_",), _FROM + r"tt_[a-z0-9][a-z0-9.-]{0,63}_(?=[a-z0-9_-]{0,42}[A-Z])[A-Za-z0-9_-]{43}" + _END),
    SecretPattern("pypi-token", ("pypi-AgE",), _FROM + r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    SecretPattern("huggingface-token", ("hf_",), _FROM + r"hf_(?=[a-z0-9]{0,33}[A-Z])[A-Za-z0-9]{34}" + _END),
    SecretPattern("sendgrid-key", ("SG.",), _FROM + r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}" + _END),
    SecretPattern("telegram-token", ("AA",), _FROM + r"\d{8,10}:AA[A-Za-z0-9_-]{33}" + _END),
    SecretPattern("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), _FROM + r"do[opr]_v1_[0-9a-f]{64}" + _END),
    SecretPattern("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), _FROM + r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}" + _END),
    SecretPattern("vault-token", ("hvs.", "hvb."), _FROM + r"hv[bs]\.[A-Za-z0-9_-]{24,}"),
    SecretPattern("databricks-token", ("dapi",), _FROM + r"dapi[0-9a-f]{32}(?:-\d)?" + _END),
    SecretPattern("linear-key", ("lin_api_", "lin_oauth_"), _FROM + r"lin_(?:api_[A-Za-z0-9]{40}|oauth_[0-9a-f]{64})" + _END),
    SecretPattern("atlassian-token", ("ATATT3", "ATCTT3"), _FROM + r"AT[AC]TT3[A-Za-z0-9_=-]{60,}"),
    SecretPattern("grafana-token", ("glsa_", "glc_"), _FROM + r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{40,}={0,2})"),
    SecretPattern("newrelic-key", ("NRAK-", "NRII-", "NRRA-"), _FROM + r"NR(?:AK-[A-Z0-9]{27}|II-[A-Za-z0-9_-]{32}|RA-[0-9a-f]{42})" + _END),
    SecretPattern("notion-token", ("ntn_", "secret_"), _FROM + r"(?:ntn_[0-9]{11}[A-Za-z0-9]{35}|secret_(?=[A-Za-z]{0,42}\d)[A-Za-z0-9]{43})" + _END),
    SecretPattern("supabase-token", ("sbp_",), _FROM + r"sbp_[0-9a-f]{40}" + _END),
    SecretPattern("postman-key", ("PMAK-",), _FROM + r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}" + _END),
    SecretPattern("groq-key", ("gsk_",), _FROM + r"gsk_[A-Za-z0-9]{52}" + _END),
    SecretPattern("xai-key", ("xai-",), _FROM + r"xai-[A-Za-z0-9]{80}" + _END),
    SecretPattern("replicate-token", ("r8_",), _FROM + r"r8_[A-Za-z0-9]{37}" + _END),
    SecretPattern("perplexity-key", ("pplx-",), _FROM + r"pplx-[A-Za-z0-9]{48}" + _END),
    SecretPattern("alibaba-key", ("LTAI",), _FROM + r"LTAI[A-Za-z0-9]{20}" + _END),
    SecretPattern("tencent-key", ("AKID",), _FROM + r"AKID(?=[A-Za-z]{0,31}\d)[A-Za-z0-9]{32}" + _END),
    SecretPattern("age-key", ("AGE-SECRET-KEY-1",), _FROM + r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}" + _END),
    SecretPattern("pulumi-token", ("pul-",), _FROM + r"pul-[0-9a-f]{40}" + _END),
    SecretPattern("docker-token", ("dckr_pat_", "dckr_oat_"), _FROM + r"dckr_[po]at_[A-Za-z0-9_-]{24,}"),
    SecretPattern("fly-token", ("fo1_",), _FROM + r"fo1_[A-Za-z0-9_-]{36,}"),
    SecretPattern("fly-token", ("fm1r_", "fm1a_", "fm2_"), _FROM + r"fm[12][ar]?_[A-Za-z0-9+/_-]{60,}={0,3}"),
    SecretPattern("twilio-key", ("SK",), _FROM + r"SK[0-9a-f]{32}" + _END),
    SecretPattern("mailgun-key", ("key-",), r"(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt]))key-[0-9a-f]{32}" + _END),
    SecretPattern("mailgun-key", ("pubkey-",), _FROM + r"pubkey-[0-9a-f]{32}" + _END),
    SecretPattern("brevo-key", ("xkeysib-", "xsmtpsib-"), _FROM + r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}" + _END),
    SecretPattern("rubygems-key", ("rubygems_",), _FROM + r"rubygems_[0-9a-f]{48}" + _END),
    SecretPattern("crates-token", ("cio",), _FROM + r"cio(?=[A-Za-z]{0,31}\d)[A-Za-z0-9]{32}" + _END),
    SecretPattern("nuget-key", ("oy2",), _FROM + r"oy2[a-z0-9]{43}" + _END),
    SecretPattern("clojars-token", ("CLOJARS_",), _FROM + r"CLOJARS_[0-9a-z]{60}" + _END),
    SecretPattern("cloudflare-key", ("v1.0-",), _FROM + r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}" + _END),
    SecretPattern("cloudflare-key", ("cfk_", "cfut_", "cfat_"), _FROM + r"cf(?:k|ut|at)_(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{40,60}" + _END),
    SecretPattern("heroku-key", ("HRKU-",), _FROM + r"HRKU-[A-Za-z0-9_-]{36,}"),
    SecretPattern("netlify-token", ("nfp_",), _FROM + r"nfp_[A-Za-z0-9]{36}" + _END),
    SecretPattern("vercel-token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), _FROM + r"vc[paikr]_(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{40,}" + _END),
    SecretPattern("planetscale-token", ("pscale_",), _FROM + r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    SecretPattern("dynatrace-token", ("dt0",), _FROM + r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}" + _END),
    SecretPattern("doppler-token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), _FROM + r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{40,44}" + _END),
    SecretPattern("discord-token", ("MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"), _FROM + r"(?:M[DTjz]|N[DTjz]|O[DT])[A-Za-z0-9_-]{21,26}\.[A-Za-z0-9_-]{6}\.(?=[A-Za-z_-]{0,26}\d)[A-Za-z0-9_-]{27,40}" + _END),
    SecretPattern("square-token", ("sq0atp-", "sq0csp-", "sq0idp-"), _FROM + r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}" + _END),
    SecretPattern("square-token", ("EAAA",), _FROM + r"EAAA(?!AA)[A-Za-z0-9_-]{60}" + _END, holds=is_mixed),
    SecretPattern("facebook-token", ("EAA",), _FROM + r"EAA[A-Z](?!AA)[A-Za-z0-9]{80,}" + _END, holds=is_mixed),
    SecretPattern("plaid-token", ("access-",), _FROM + r"access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}" + _END),
    SecretPattern("adobe-secret", ("p8e-",), _FROM + r"p8e-[A-Za-z0-9_-]{32}" + _END),
    SecretPattern("airtable-token", ("pat",), _FROM + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}" + _END),
    SecretPattern("figma-token", ("figd_", "figu_", "figo_"), _FROM + r"fig[duo]_[A-Za-z0-9_-]{40,}"),
    SecretPattern("sentry-token", ("sntrys_", "sntryu_"), _FROM + r"sntry(?:u_[0-9a-f]{64}|s_eyJ[A-Za-z0-9+/=]{40,400}_[A-Za-z0-9+/]{43})"),
    SecretPattern("sonar-token", ("squ_", "sqa_", "sqp_"), _FROM + r"sq[uap]_[0-9a-f]{40}" + _END),
    SecretPattern("circleci-token", ("CCIPAT_", "CCIPRJ_"), _FROM + r"CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}" + _END),
    SecretPattern("buildkite-token", ("bkua_",), _FROM + r"bkua_[0-9a-f]{40}" + _END),
    SecretPattern("artifactory-key", ("AKC",), _FROM + r"AKC[a-z0-9][A-Za-z0-9]{64,74}" + _END, holds=is_mixed),
    SecretPattern("artifactory-key", ("cmVmdGtu",), _FROM + r"cmVmdGtu[A-Za-z0-9]{56}" + _END),
    SecretPattern("openai-key", ("sk-",), _FROM + r"sk-(?=[A-Za-z]{0,47}\d)[A-Za-z0-9]{32,64}" + _END),
    SecretPattern("elevenlabs-key", ("sk_",), _FROM + r"sk_[0-9a-f]{48}" + _END),
    SecretPattern("nvidia-key", ("nvapi-",), _FROM + r"nvapi-[A-Za-z0-9_-]{50,}"),
    SecretPattern("together-key", ("tgp_v1_",), _FROM + r"tgp_v1_[A-Za-z0-9_-]{40,}"),
    SecretPattern("langsmith-key", ("lsv2_",), _FROM + r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}" + _END),
    SecretPattern("langfuse-key", ("sk-lf-",), _FROM + r"sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}" + _END),
    SecretPattern("tavily-key", ("tvly-",), _FROM + r"tvly-(?:dev-|prod-)?(?=[A-Za-z]{0,31}\d)[A-Za-z0-9]{32}" + _END),
    SecretPattern("firecrawl-key", ("fc-",), _FROM + r"fc-[0-9a-f]{32}" + _END),
    SecretPattern("pinecone-key", ("pcsk_",), _FROM + r"pcsk_[A-Za-z0-9_]{50,}"),
    SecretPattern("cerebras-key", ("csk-",), _FROM + r"csk-[a-z0-9]{48}" + _END),
    SecretPattern("fireworks-key", ("fw_",), _FROM + r"fw_(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{22,24}" + _END, holds=is_mixed),
    SecretPattern("baidu-key", ("ALTAK-",), _FROM + r"ALTAK-[A-Za-z0-9]{21}/[0-9a-f]{40}" + _END),
    SecretPattern("firebase-key", ("AAAA",), _FROM + r"AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{140}" + _END),
    SecretPattern("easypost-key", ("EZAK", "EZTK"), _FROM + r"EZ[AT]K[A-Za-z0-9]{54}" + _END),
    SecretPattern("flutterwave-key", ("FLWSECK",), _FROM + r"FLWSECK(?:_TEST|_LIVE)?-[A-Za-z0-9]{32}-X" + _END),
    SecretPattern("contentful-token", ("CFPAT-",), _FROM + r"CFPAT-[A-Za-z0-9_-]{43}" + _END),
    SecretPattern("duffel-token", ("duffel_",), _FROM + r"duffel_(?:test|live)_[A-Za-z0-9_-]{43}" + _END),
    SecretPattern("prefect-key", ("pnu_", "pnb_"), _FROM + r"pn[ub]_[A-Za-z0-9]{36}" + _END),
    SecretPattern("readme-key", ("rdme_",), _FROM + r"rdme_[a-z0-9]{70}" + _END),
    SecretPattern("shippo-token", ("shippo_",), _FROM + r"shippo_(?:live|test)_[0-9a-f]{40}" + _END),
    SecretPattern("typeform-token", ("tfp_",), _FROM + r"tfp_[A-Za-z0-9_.=-]{44,64}" + _END),
    SecretPattern("frameio-token", ("fio-u-",), _FROM + r"fio-u-[A-Za-z0-9_=-]{64}" + _END),
    SecretPattern("1password-token", ("ops_eyJ",), _FROM + r"ops_eyJ[A-Za-z0-9+/_-]{60,}={0,3}"),
    SecretPattern("tailscale-key", ("tskey-",), _FROM + r"tskey-[a-z]{2,10}-[A-Za-z0-9]{8,30}-[A-Za-z0-9]{16,}"),
    SecretPattern("okta-token", ("00",), r"(?<![A-Za-z0-9_+/-])00(?=[A-Za-z-]{0,8}[A-Z])(?=[^a-z]{0,12}[a-z])[A-Za-z][A-Za-z0-9_-]{39}(?![A-Za-z0-9_+/=-])", holds=is_mixed),
    SecretPattern("terraform-token", (), _FROM + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}", words=(".atlasv1.",)),
    SecretPattern("discord-webhook", (), r"/api/webhooks/\d{15,22}/(?P<secret>[A-Za-z0-9_-]{50,})", words=("/api/webhooks/",)),
    SecretPattern("teams-webhook", (), r"webhook\.office\.com/webhookb2/(?P<secret>[0-9a-f][0-9a-f@A-Za-z/-]{60,200})", words=("webhook.office.com",)),
    SecretPattern("zapier-webhook", (), r"hooks\.zapier\.com/hooks/catch/(?P<secret>\d{4,12}/[a-z0-9]{6,12})", words=("hooks.zapier.com",)),
    SecretPattern("braintree-token", (), r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", words=("access_token$",)),
    SecretPattern("azure-secret", (), r"(?:(?<![A-Za-z0-9_~.-])|(?<=\\[bfnrt]))[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~-])", words=("Q~",)),
    SecretPattern("azure-token", (), r"(?<![A-Za-z0-9])[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])", words=("AZDO",)),
    SecretPattern("google-token", (), r"(?<![A-Za-z0-9/])1//0[A-Za-z0-9_-]{38,}", words=("1//0",)),
    SecretPattern("mailchimp-key", (), r"(?<![A-Za-z0-9])[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9-])", words=("-us",)),
    SecretPattern("npm-token", (), r"_authToken\s{0,3}=\s{0,3}[\"']?(?P<secret>[A-Za-z0-9_+/=-]{20,})", words=("_authToken",)),
    SecretPattern("jwt", ("eyJ", "ewo"), _FROM_ONCE + r"(?P<secret>e(?:yJ|wo)[A-Za-z0-9_-]{10,}\.e(?:yJ|wo)[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})"),
    SecretPattern("slack-webhook", (), _FROM + r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/]{30,})", words=("hooks.slack.com",)),
    SecretPattern("private-key", (), r"-----BEGIN " + _PEM + _PEM_HEAD + r"[^-]{40,}+(?:-----END " + _PEM + r")?", words=("PRIVATE KEY",)),
    SecretPattern("private-key", (), r"Private-Lines: ?\d{1,4}(?:\r?\n|(?:\\r)?\\n)(?P<secret>(?:[A-Za-z0-9+/=]{4,}+(?:\r?\n|(?:\\r)?\\n|$)){1,200}+(?:Private-(?:MAC|Hash): ?[0-9a-f]{32,64})?)", words=("Private-Lines:",)),
    SecretPattern("private-key", (), r"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----[^-]{40,}+(?:---- END SSH2 ENCRYPTED PRIVATE KEY ----)?", words=("ENCRYPTED PRIVATE KEY",)),
    SecretPattern("aws-secret-key", (), r"(?i:secret_?access_?key)[\"'\s:=>\\]{1,8}(?P<secret>(?=[A-Za-z0-9/+]{0,39}\d)(?![A-Za-z0-9/+]{0,33}EXAMPLE)[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])", words=("ecretAccessKey", "ecret_access_key", "CCESS_KEY")),
    SecretPattern("azure-key", (), _FROM + r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{43,86}={1,2})", words=("ccountKey=", "AccessKey=")),
    SecretPattern("connection-password", (), _FROM + r"[a-z][a-z0-9+.-]{1,20}://[^\s:/?#@\"'<>`]*:(?P<secret>[^\s/?#\"'<>`]{3,})@(?!(?:[A-Za-z0-9-]{1,63}\.){0,10}example\.(?:com|net|org)\b)[A-Za-z0-9_.\[-]", words=("://",)),
    SecretPattern("connection-password", (), r"(?i:\b(?:server|data source|host|user id|uid|user)=[^\n;]{1,100}(?:;[^\n;=]{1,40}=[^\n;]{0,100}){0,8}?;\s{0,8}(?:password|pwd)=)(?P<secret>[^;\s\"']{3,})", words=("assword=",)),
    SecretPattern("authorization", (), r"(?:[Aa]uthorization|AUTHORIZATION)" + _SAYS + r"(?i:bearer|token|apikey|key|bot)\s{1,4}(?P<secret>(?=[A-Za-z._~+/-]{0,80}\d)[A-Za-z0-9._~+/-]{16,}={0,2})", words=("uthorization", "UTHORIZATION")),
    SecretPattern("authorization", (), r"(?:[Aa]uthorization|AUTHORIZATION)" + _SAYS + r"(?i:basic)\s{1,4}(?P<secret>[A-Za-z0-9+/_-]{12,}={0,2})", words=("uthorization", "UTHORIZATION")),
    SecretPattern("cookie", (), r"(?:[Ss]et-[Cc]ookie|SET-COOKIE)" + _SAYS + r"[^\s;=\"']{1,60}=(?P<secret>(?=[^\s;\"'\\,]{0,100}\d)[^\s;\"'\\,]{16,})", words=("ookie", "COOKIE")),
    SecretPattern("cookie", (), r"(?:(?<![A-Za-z-])|(?<=\\[bfnrt]))(?:[Cc]ookie|COOKIE)" + _SAYS + r"(?P<secret>(?=[^\n\"']{0,300}?(?i:sess|sid|auth|token|jwt|remember)[^\s;=\"']{0,30}=[^;\s\"'\\]{0,40}\d)[^\s=;\"']{1,60}=[^;\s\"'\\]{0,4000}(?:;[ ]?[^\s=;\"']{1,60}=[^;\s\"'\\]{0,4000}){0,40})", words=("ookie", "COOKIE"), holds=lambda secret: len(secret) >= 20),
    SecretPattern("password", (), r"(?:[Pp]assw(?:or)?d|PASSW(?:OR)?D|[Pp]assphrase|PASSPHRASE|密码|口令)" + _SAYS.replace("[:=]", "[:=：]") + r"(?P<secret>[^\s\"'`,;<>{}()\[\]$\\|&]{8,128})" + _ENDS, words=("assword", "ASSWORD", "passwd", "assphrase", "密码", "口令"), holds=_is_password),
    SecretPattern("named-key", (), _NAME + _SAYS + r"(?P<secret>(?=[A-Za-z_~+/-]{0,100}\d)[A-Za-z0-9_~+/.-]{20,}={0,2})" + _ENDS, holds=is_mixed),
)  # fmt: skip

_NAMED = frozenset({"authorization", "cookie", "password", "named-key"})


def is_named(secret_pattern: SecretPattern) -> bool:
    """Return whether such a secret is recognized by the name before it alone."""
    return secret_pattern.kind in _NAMED


def with_glue(secret_pattern: SecretPattern) -> str:
    """Return the pattern of a token that stands directly behind a few letters, digits and signs of names."""
    whole = secret_pattern.pattern.replace(_FROM, "(?<=[A-Za-z0-9])", 1)
    return rf"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{{1,{LONGEST_GLUE}}}?(?P<secret>{whole})"


LONGEST_GLUE = 24
