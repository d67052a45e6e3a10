"""Fake secrets, one per pattern; generated on demand, so that no file of this project contains one."""

from __future__ import annotations

import random
import string

__all__ = ["FAKES"]

_made = random.Random("tooltrue")
_ALNUM = string.ascii_letters + string.digits
_B64 = _ALNUM + "+/"
_HEX = "0123456789abcdef"
_B32 = string.ascii_uppercase + "234567"


def _some(count: int, signs: str = _ALNUM) -> str:
    # A digit and a capital in front: without them some shapes are no secrets.
    lead = "7Q" if {"7", "Q"} <= set(signs) else ""
    return lead + "".join(_made.choice(signs) for _ in range(count - len(lead)))


def _pem(kind: str) -> str:
    lines = "\n".join(_some(64, _B64) for _ in range(8))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


FAKES: tuple[tuple[str, str], ...] = (
    ("aws-access-key", "AKIA" + _some(16, _B32)),
    ("aws-access-key", "ASIA" + _some(16, _B32)),
    ("aws-secret-key", "aws_secret_access_key = " + _some(40, _B64)),
    ("aws-secret-key", 'SecretAccessKey": "' + _some(40, _B64) + '"'),
    ("github-token", "ghp" + "_" + _some(36)),
    ("github-token", "ghs" + "_" + _some(36)),
    ("github-token", "github" + "_pat_" + _some(22) + "_" + _some(59)),
    ("gitlab-token", "glpat" + "-" + _some(20)),
    ("slack-token", "xoxb" + "-" + _some(12, string.digits) + "-" + _some(24)),
    ("slack-webhook", "https://hooks.slack.com" + "/services/T" + _some(8) + "/B" + _some(8) + "/" + _some(24)),
    ("google-key", "AIza" + _some(35)),
    ("google-token", "ya29" + "." + _some(60)),
    ("google-token", "GOCSPX" + "-" + _some(28)),
    ("openai-key", "sk" + "-proj-" + _some(74)),
    ("openai-key", "sk" + "-" + _some(20) + "T3BlbkFJ" + _some(20)),
    ("anthropic-key", "sk" + "-ant-api03-" + _some(93)),
    ("openrouter-key", "sk" + "-or-v1-" + _some(64, _HEX)),
    ("stripe-key", "sk" + "_live_" + _some(24)),
    ("stripe-key", "whsec" + "_" + _some(32)),
    ("npm-token", "npm" + "_" + _some(36)),
    ("pypi-token", "pypi" + "-AgE" + _some(80)),
    ("huggingface-token", "hf" + "_" + _some(34)),
    ("sendgrid-key", "SG" + "." + _some(22) + "." + _some(43)),
    ("telegram-token", _some(9, string.digits) + ":AA" + _some(33)),
    ("digitalocean-token", "dop" + "_v1_" + _some(64, _HEX)),
    ("shopify-token", "shpat" + "_" + _some(32, _HEX)),
    ("vault-token", "hvs" + "." + _some(24)),
    ("databricks-token", "dapi" + _some(32, _HEX)),
    ("linear-key", "lin" + "_api_" + _some(40)),
    ("atlassian-token", "ATATT3" + _some(180)),
    ("grafana-token", "glsa" + "_" + _some(32) + "_" + _some(8, _HEX)),
    ("newrelic-key", "NRAK" + "-" + _some(27, string.ascii_uppercase + string.digits)),
    ("notion-token", "ntn" + "_" + _some(11, string.digits) + _some(35)),
    ("supabase-token", "sbp" + "_" + _some(40, _HEX)),
    ("postman-key", "PMAK" + "-" + _some(24, _HEX) + "-" + _some(34, _HEX)),
    ("groq-key", "gsk" + "_" + _some(52)),
    ("xai-key", "xai" + "-" + _some(80)),
    ("replicate-token", "r8" + "_" + _some(37)),
    ("perplexity-key", "pplx" + "-" + _some(48)),
    ("alibaba-key", "LTAI" + _some(20)),
    ("tencent-key", "AKID" + _some(32)),
    ("age-key", "AGE-SECRET-KEY" + "-1" + _some(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    ("pulumi-token", "pul" + "-" + _some(40, _HEX)),
    ("jwt", "eyJ" + _some(20) + ".eyJ" + _some(40) + "." + _some(43)),
    ("private-key", _pem("PRIVATE" + " KEY")),
    ("private-key", _pem("RSA PRIVATE" + " KEY")),
    ("private-key", _pem("OPENSSH PRIVATE" + " KEY")),
    ("azure-key", "DefaultEndpointsProtocol=https;AccountKey" + "=" + _some(86, _B64) + "=="),
    ("connection-password", "postgres://shop:" + _some(16) + "@db.prod:5432/shop"),
    ("connection-password", "mongodb+srv://root:" + _some(10) + "@cluster0.mongodb.net"),
    ("connection-password", "redis://:" + _some(12) + "@cache:6379/0"),
    ("connection-password", "https://oauth2:" + _some(14) + "@git.corp.internal/x.git"),
    ("connection-password", "Server=db;Database=shop;User Id=sa;Password" + "=" + _some(12) + ";"),
    ("tooltrue-key", "tt" + "_ci_" + _some(43, _ALNUM + "-_")),
)
"""kind → a text that holds one"""
