"""Names of files that hold secrets, and of files that programs obey: data, with a public source for each group.

A name is a pattern as in :mod:`fnmatch` for one entry, in small letters; ``a/b`` is an entry ``b`` in a directory
``a``. :class:`tooltrue_toolbox.rooted_paths.PathRules` gives the groups their meaning.

Left out on purpose are build files that people edit and run every day and knowingly, such as ``Makefile``,
``package.json``, ``pyproject.toml`` or ``Dockerfile``: a question about each of them would be agreed to unread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["HARMLESS", "NEEDS_APPROVAL", "OBEYED", "SECRET", "PatternGroup", "patterns"]


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """A group of ``names`` with the same meaning, and the page that documents it."""

    about: str
    source: str
    names: tuple[str, ...]


def _group(about: str, source: str, names: str) -> PatternGroup:
    return PatternGroup(about, source, tuple(names.split()))


def patterns(groups: Iterable[PatternGroup]) -> tuple[str, ...]:
    return tuple(name for group in groups for name in group.names)


_GITHUB_IGNORES = "https://github.com/github/gitignore"

SECRET: tuple[PatternGroup, ...] = (
    _group(
        "environment files",
        "https://docs.docker.com/compose/how-tos/environment-variables/set-environment-variables/",
        ".env .env.* .env_* .env-* .env[0-9]* .envrc .envrc.* *.env .dev.vars .flaskenv .secrets .secrets.*",
    ),
    _group(
        "secrets of applications",
        "https://cheatsheetseries.owasp.org/cheatsheets/Secrets_Management_Cheat_Sheet.html",
        " ".join(
            f"{name}.{ending}"
            for name in (
                "secret",
                "secrets",
                "credential",
                "credentials",
                "*-credentials",
                "*_credentials",
                "*-secrets",
            )
            for ending in (
                "json",
                "yml",
                "yaml",
                "toml",
                "ini",
                "cfg",
                "conf",
                "properties",
                "xml",
                "csv",
                "txt",
                "enc",
            )
        )
        + " secrets.env secrets.tfvars credentials.tfrc.json credentials.yml.enc .credentials.json .credentials"
        " local.settings.json .htpasswd .passwd .pwd etc/shadow etc/gshadow etc/master.passwd",
    ),
    _group(
        "settings of web applications with the password of their database",
        "https://developer.wordpress.org/advanced-administration/wordpress/wp-config/",
        "wp-config.php localsettings.php default/settings.php default/settings.local.php etc/env.php"
        " appsettings.production.json appsettings.staging.json",
    ),
    _group(
        "Terraform state and variables",
        "https://developer.hashicorp.com/terraform/language/manage-sensitive-data",
        "*.tfstate *.tfstate.* *.tfvars *.tfvars.json .terraformrc terraform.rc .vault-token",
    ),
    _group(
        "credentials of clouds",
        "https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html",
        ".aws .azure .oci .aliyun .tccli .bluemix .boto .s3cfg"
        " .passwd-s3fs .config/gcloud .config/doctl .config/rclone"
        " rclone.conf application_default_credentials.json rootkey.csv *_accesskeys.csv *accesskeys*.csv"
        " service-account*.json service_account*.json serviceaccount*.json"
        " *-service-account.json *_service_account.json"
        " *serviceaccount*.json *firebase-adminsdk*.json client_secret*.json token.json token.pickle"
        " .config/heroku .fly/config.yml .netlify/config.json .vercel/auth.json",
    ),
    _group(
        "clusters and containers",
        "https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/",
        ".kube kubeconfig kubeconfig.* *.kubeconfig .docker/config.json .dockercfg containers/auth.json .config/helm"
        " helm/registry/config.json",
    ),
    _group(
        "forges and registries of packages",
        "https://docs.npmjs.com/cli/configuring-npm/npmrc",
        ".npmrc .pypirc .git-credentials git/credentials gh/hosts.yml glab-cli/config.yml .config/hub .config/op"
        " .cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json composer/auth.json"
        " .codex/auth.json .m2/settings.xml .m2/settings-security.xml settings-security.xml .gradle/gradle.properties"
        " .subversion/auth",
    ),
    _group(
        "logins of network programs",
        "https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html",
        ".netrc _netrc .authinfo .authinfo.* .smbcredentials *.ovpn wg[0-9]*.conf .msmtprc .fetchmailrc .mutt/muttrc"
        " wpa_supplicant.conf *.nmconnection",
    ),
    _group(
        "logins of databases",
        "https://www.postgresql.org/docs/current/libpq-pgpass.html",
        ".pgpass pgpass.conf .my.cnf .mylogin.cnf .mysql/credentials .dbshell",
    ),
    _group(
        "keys of SSH and GnuPG",
        "https://man.openbsd.org/ssh-keygen#FILES",
        ".ssh .gnupg id_rsa* id_dsa* id_ecdsa* id_ed25519* id_xmss* id_*_sk"
        " identity.ppk *.ppk secring.* ssh_host_*_key",
    ),
    _group(
        "private keys and stores of them",
        "https://www.rfc-editor.org/rfc/rfc7468",
        "*.pem *.key *.p12 *.pfx *.p8 *.pkcs8 *.pkcs12 *.jks *.keystore *.bks *.agekey age/keys.txt",
    ),
    _group(
        "password stores, keyrings and wallets",
        "https://wiki.gnome.org/Projects/GnomeKeyring",
        "*.kdbx *.kdb *.keyring *.kwl *.keychain *.keychain-db *.1pux *.opvault *.agilekeychain .password-store"
        " share/keyrings share/kwalletd wallet.dat *.wallet wallet.json .electrum"
        " .bitcoin .ethereum ethereum/keystore"
        " solana/id.json *.mnemonic",
    ),
    _group(
        "histories of shells and consoles",
        "https://www.gnu.org/software/bash/manual/html_node/Bash-History-Facilities.html",
        ".*_history .*history .*-history .histfile *_history.txt fish_history .zhistory .lesshst .viminfo .wget-hsts"
        " consolehost_history.txt",
    ),
    _group(
        "logins and cookies of browsers",
        "https://support.mozilla.org/en-US/kb/profiles-where-firefox-stores-user-data",
        "logins.json logins-backup.json key3.db key4.db signons.sqlite cookies.sqlite cookies.sqlite-* cert9.db"
        " login?data login?data-journal login?data?for?account default/cookies network/cookies default/web?data"
        " cookies.binarycookies",
    ),
    _group(
        "what people have agreed to: a tool that writes it agrees with itself",
        "https://owasp.org/www-community/Access_Control",
        "tooltrue-approvals.db*",
    ),
)
"""Neither read nor written, in any spelling, and neither are their backups."""

HARMLESS: tuple[PatternGroup, ...] = (
    _group(
        "examples that are made to be shared",
        _GITHUB_IGNORES,
        " ".join(
            f"{pattern.format(word)}"
            for word in ("example", "examples", "sample", "template", "dist", "defaults", "schema")
            for pattern in (
                ".env.{0}",
                ".env.*.{0}",
                ".env-{0}",
                ".env_{0}",
                "{0}.env",
                "*.env.{0}",
                "*.{0}.env",
                "*.tfvars.{0}",
                "*.{0}.tfvars",
                "secrets.{0}.*",
                "credentials.{0}.*",
                "*.{0}.json",
                ".envrc.{0}",
            )
        ),
    ),
    _group("hashes of known findings", "https://github.com/Yelp/detect-secrets", ".secrets.baseline"),
    _group("public halves of keys", "https://man.openbsd.org/ssh-keygen#FILES", "*.pub"),
)
"""Names that a pattern of :data:`SECRET` would wrongly take for a secret."""

OBEYED: tuple[PatternGroup, ...] = (
    _group(
        "version control: hooks and settings that run commands",
        "https://git-scm.com/docs/githooks",
        ".git git~1 .hg .svn .jj .gitmodules .gitconfig .husky .pre-commit-config.yaml",
    ),
    _group(
        "hosts and editors: servers, tasks and hooks that start by themselves",
        "https://code.visualstudio.com/docs/editor/workspace-trust",
        ".mcp.json .claude claude_desktop_config.json .codex .cursor .gemini .kiro .roo .windsurf .zed .vscode .idea"
        " .devcontainer",
    ),
    _group(
        "what tools may do, and what has been agreed to about them",
        "https://owasp.org/www-community/Access_Control",
        "tooltrue.toml tooltrue.lock",
    ),
    _group(
        "what shells and tools run when somebody enters a folder or logs in",
        "https://www.gnu.org/software/bash/manual/html_node/Bash-Startup-Files.html",
        ".direnvrc .cargo .yarnrc.yml .pnpmfile.cjs .exrc .vimrc .nvimrc .gdbinit .lldbinit .bashrc .bash_* .profile"
        " .zshrc .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc .kshrc"
        " .login .logout config.fish .xprofile .xinitrc"
        " .xsession* .pam_environment",
    ),
)
"""Read, and never written."""

NEEDS_APPROVAL: tuple[PatternGroup, ...] = (
    _group(
        "instructions of agents",
        "https://agents.md",
        "claude.md claude.*.md agents.md agents.*.md agent.md gemini.md qwen.md crush.md warp.md codex.md skill.md"
        " copilot-instructions.md *.instructions.md *.prompt.md *.chatmode.md *.agent.md *.mdc .cursorrules"
        " .windsurfrules .clinerules* .roorules* .roomodes .kilocodemodes .goosehints"
        " .continuerules .rules .replit.md"
        " .augment-guidelines .junie .trae .amazonq .augment .kilocode .qwen .crush"
        " .opencode .factory .goose .openhands"
        " .tabnine .agent .agents .aider* .continue",
    ),
    _group(
        "servers of hosts",
        "https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        "*mcp*.json *mcp*.jsonc *mcp*.json5 *mcp*.toml *mcp*.yaml *mcp*.yml .mcp* .claude* opencode.json* crush.json"
        " .crush.json librechat.yaml claude*.json .vs goose.yaml",
    ),
    _group(
        "pipelines that build and deploy",
        "https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax",
        ".github .gitlab .gitlab-ci* .gitea .forgejo .circleci .buildkite .woodpecker* .drone.yml .drone.jsonnet"
        " .travis.yml jenkinsfile* azure-pipelines* .azure-pipelines*"
        " bitbucket-pipelines.yml appveyor.yml .appveyor.yml"
        " cloudbuild.yaml cloudbuild.yml .cirrus.yml .semaphore .teamcity codemagic.yaml netlify.toml vercel.json"
        " .gitpod.yml .idx .replit replit.nix action.yml action.yaml dependabot.yml renovate.json* .renovaterc*",
    ),
    _group(
        "hooks and filters of version control",
        "https://lefthook.dev/configuration/",
        "lefthook* .lefthook* .githooks githooks .gitattributes gitconfig"
        " .gitconfig.* .hgrc .overcommit.yml .huskyrc*"
        " .lintstagedrc* .pre-commit-hooks.yaml .pre-commit-config.*",
    ),
    _group(
        "versions of tools and environments of folders",
        "https://mise.jdx.dev/configuration.html",
        "mise.toml mise.*.toml .mise* .rtx.toml direnvrc .autoenv* .asdfrc .tool-versions devcontainer.json"
        " devbox.json shell.nix default.nix .condarc",
    ),
    _group(
        "settings of a person",
        "https://specifications.freedesktop.org/basedir-spec/latest/",
        ".config .local autostart *.desktop .mailcap",
    ),
    _group(
        "services and timers",
        "https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html",
        "*.service *.timer *.socket launchagents launchdaemons crontab .crontab crontabs"
        " cron.* anacrontab rc.local init.d rc.d profile.d ld.so.preload ld.so.conf* udev sudoers sudoers.d pam.d"
        " desktop.ini autorun.inf *.lnk",
    ),
    _group(
        "logins and mail",
        "https://man.openbsd.org/sshd#FILES",
        "authorized_keys* .rhosts .shosts hosts.equiv shosts.equiv .k5login .k5users .forward* .procmailrc .qmail*"
        " .maildroprc .login_conf",
    ),
    _group(
        "shells",
        "https://fishshell.com/docs/current/language.html#configuration-files",
        ".shrc .ashrc .mkshrc .profile.* .xonshrc *profile.ps1 env.nu config.nu"
        " .inputrc inputrc .screenrc .tmux* tmux.conf"
        " .zpreztorc .zimrc .bash* .zsh* *.fish .kshrc.* .xserverrc .startxrc",
    ),
    _group(
        "editors, pagers and debuggers",
        "https://www.gnu.org/software/emacs/manual/html_node/emacs/Init-File.html",
        ".emacs* init.el early-init.el .spacemacs .doom.d .dir-locals*.el .vim .gvimrc _vimrc _gvimrc init.vim .nvim*"
        " .helix .kakrc kakrc .nanorc .lesskey .lessfilter .gdbearlyinit .gdbinit.* .pdbrc* .perldb *.sublime-project"
        " *.code-workspace .fleet .exrc.*",
    ),
    _group(
        "consoles of languages and databases",
        "https://www.postgresql.org/docs/current/app-psql.html",
        ".psqlrc* psqlrc .sqliterc .duckdbrc .mysqlrc .mongorc.js .mongoshrc.js .rprofile* rprofile.site .renviron*"
        " renviron.site .irbrc irbrc .pryrc .rdebugrc .ghci .ocamlinit"
        " .pythonrc* .pystartup .ipython ipython_*config.py"
        " .jupyter jupyter_*config.py .iex.exs .erlang .guile .sbclrc .eclrc .clisprc* .racketrc .julia .juliarc.jl"
        " .octaverc .noderc .gnuplot .bcrc .sqlplus login.sql glogin.sql",
    ),
    _group(
        "Python starts and tests",
        "https://docs.python.org/3/library/site.html",
        "sitecustomize.py usercustomize.py conftest.py *.pth pyvenv.cfg pip.conf pip.ini .pydistutils.cfg .pdm.toml",
    ),
    _group(
        "packages and builds of a person or an installation",
        "https://docs.gradle.org/current/userguide/init_scripts.html",
        ".yarnrc .pnpmfile* .pnp.* .gemrc .bundle .mvn .m2"
        " init.gradle* gradle-wrapper.properties .bazelrc nuget.config"
        " .curlrc _curlrc .wgetrc",
    ),
    _group(
        "web servers",
        "https://httpd.apache.org/docs/current/howto/htaccess.html",
        ".htaccess .user.ini web.config",
    ),
)
"""Read, and written once a person has agreed, even where other writes need no approval."""
