"""What differs between the hosts: how each is started against a model on loopback, and what is known of it.

Measured; a host of another version may do otherwise, and then a session says what did not come.
"""

import json

SHELL_WORD = "the-shell-ran"


def claude(home, model):
    (home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True}))
    quiet = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING"]
    return {"IS_SANDBOX": "1", "ENABLE_TOOL_SEARCH": "false", "ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "test", **{name: "1" for name in quiet}}


def codex(home, model):
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(
        'model = "gpt-5-codex"\nmodel_provider = "loopback"\ncheck_for_update_on_startup = false\n\n'
        f'[model_providers.loopback]\nname = "loopback"\nbase_url = "{model}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n\n'
        "[analytics]\nenabled = false\n"
    )
    return {"OPENAI_API_KEY": "test"}


def gemini(home, model):
    (home / ".gemini").mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    (home / ".gemini/settings.json").write_text(json.dumps(settings, indent=2))
    return {"GOOGLE_GEMINI_BASE_URL": model, "GEMINI_API_KEY": "test", "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def qwen(home, model):
    (home / ".qwen").mkdir()
    settings = {"security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False}}
    (home / ".qwen/settings.json").write_text(json.dumps(settings, indent=2))
    return {"OPENAI_BASE_URL": model + "/v1", "OPENAI_API_KEY": "test", "OPENAI_MODEL": "m"}


def opencode(home, model):
    folder = home / ".config/opencode"
    folder.mkdir(parents=True)
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": model + "/v1", "apiKey": "test"}, "models": {"m": {"name": "m"}}}
    settings = {"$schema": "https://opencode.ai/config.json", "model": "loopback/m", "provider": {"loopback": provider}}
    (folder / "opencode.json").write_text(json.dumps(settings, indent=2))
    quiet = ["OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD"]
    return {name: "1" for name in quiet}


ROWS = {
    "claude": {
        "prepare": claude,
        "session": ["claude", "-p", "go on", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"],
        "list": ["claude", "mcp", "list"],
        "healthy": r"frith: .*Connected",
        "shell": ("Bash", {"command": f"echo {SHELL_WORD}", "description": "x"}),
        "hooks": True,
        "starts": True,
        "searches": False,
        # It has hooks that make and remove worktrees.
        "worktrees": True,
    },
    "codex": {
        "prepare": codex,
        "session": ["codex", "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", "go on"],
        "list": ["codex", "mcp", "list"],
        "healthy": r"frith .*enabled",
        "shell": ("exec_command", {"cmd": f"echo {SHELL_WORD}"}),
        "hooks": True,
        "starts": True,
        "searches": False,
        "worktrees": False,
    },
    "gemini": {
        "prepare": gemini,
        "session": ["gemini", "--yolo", "-m", "gemini-2.5-flash", "-o", "stream-json", "-p", "go on"],
        "list": ["gemini", "mcp", "list"],
        "healthy": r"frith: .*Connected",
        "shell": ("run_shell_command", {"command": f"echo {SHELL_WORD}"}),
        "hooks": True,
        "starts": True,
        "searches": False,
        "worktrees": False,
    },
    "qwen": {
        "prepare": qwen,
        "session": ["qwen", "--yolo", "--output-format", "stream-json", "-p", "go on"],
        "list": ["qwen", "mcp", "list"],
        "healthy": r"frith: .*Connected",
        "shell": ("run_shell_command", {"command": f"echo {SHELL_WORD}", "is_background": False}),
        "hooks": True,
        # Without a terminal it fires no hook when a session starts or ends.
        "starts": False,
        # It shows tools of servers only to a model that searches for them.
        "searches": True,
        "worktrees": False,
    },
    "opencode": {
        "prepare": opencode,
        "session": ["opencode", "run", "--format", "json", "go on"],
        "list": ["opencode", "mcp", "list"],
        "healthy": r"frith .*connected",
        "shell": ("bash", {"command": f"echo {SHELL_WORD}", "description": "x"}),
        "hooks": False,
        "starts": False,
        "searches": False,
        "worktrees": False,
    },
}
