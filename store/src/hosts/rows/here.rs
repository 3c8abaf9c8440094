//! How each host is found on a machine, in the order of the rows.

use super::super::{Here, Moved, Signs};

/// The variable that moves a user's settings, for hosts that heed it.
const XDG: Moved = Moved::folder("XDG_CONFIG_HOME", "~/.config");

pub(super) static CLAUDE: Here = Here::by(&[
    Signs::command(&["claude"]).of("cli").linux(&["~/.local/bin/claude", "~/.claude/local/claude"]).macos(&[
        "~/.local/bin/claude",
        "~/.claude/local/claude",
        "/opt/homebrew/bin/claude",
    ]),
    Signs::application(&["claude-desktop"]).of("desktop").macos(&["/Applications/Claude.app", "~/Applications/Claude.app"]),
])
.moved(&[Moved::folder("CLAUDE_CONFIG_DIR", "~/.claude"), Moved::file("CLAUDE_CONFIG_DIR", "~/.claude.json", ".claude.json")])
.skills("~/.claude/skills")
.hooks_off(&["disableAllHooks"], true);

pub(super) static CURSOR: Here = Here::by(&[Signs::application(&["cursor-agent", "cursor"])
    .linux(&["~/.local/bin/cursor-agent", "/usr/share/cursor/cursor", "/opt/Cursor/cursor"])
    .macos(&["~/.local/bin/cursor-agent", "/Applications/Cursor.app", "~/Applications/Cursor.app"])])
.skills("~/.cursor/skills");

pub(super) static CODEX: Here =
    Here::by(&[Signs::application(&["codex"]).macos(&["/opt/homebrew/bin/codex", "/Applications/Codex.app", "~/Applications/Codex.app"])])
        .moved(&[Moved::folder("CODEX_HOME", "~/.codex")])
        .skills("~/.codex/skills")
        .adds_to_entry(&["tools"]);

pub(super) static WINDSURF: Here = Here::by(&[Signs::application(&["windsurf"])
    .linux(&["/usr/share/windsurf/windsurf", "/opt/windsurf/windsurf"])
    .macos(&["/Applications/Windsurf.app", "~/Applications/Windsurf.app"])])
.skills("~/.codeium/windsurf/skills");

pub(super) static DEVIN: Here = Here::by(&[Signs::application(&["devin", "devin-desktop"]).linux(&["~/.local/bin/devin"]).macos(&[
    "~/.local/bin/devin",
    "/Applications/Devin.app",
    "~/Applications/Devin.app",
])])
.moved(&[XDG])
.skills("~/.config/devin/skills");

pub(super) static KILO: Here =
    Here::by(&[Signs::extension(&["kilo", "kilocode"], &["kilocode.kilo-code"])]).moved(&[XDG]).skills("~/.config/kilo/skills");

pub(super) static GROK: Here = Here::by(&[Signs::command(&["grok"]).linux(&["~/.grok/bin/grok"]).macos(&["~/.grok/bin/grok"])])
    .moved(&[Moved::folder("GROK_HOME", "~/.grok")])
    .skills("~/.grok/skills");

pub(super) static MIMO: Here = Here::by(&[Signs::command(&["mimo", "mimocode"])]).moved(&[XDG]);

pub(super) static OMP: Here =
    Here::by(&[Signs::command(&["omp"])]).moved(&[Moved::folder("PI_CODING_AGENT_DIR", "~/.omp/agent")]).skills("~/.omp/agent/skills");

pub(super) static ANTIGRAVITY: Here =
    Here::by(&[Signs::application(&["antigravity", "agy"]).macos(&["/Applications/Antigravity.app", "~/Applications/Antigravity.app"])]);

pub(super) static OPENCODE: Here = Here::by(&[
    Signs::command(&["opencode"])
        .of("cli")
        .linux(&["~/.opencode/bin/opencode"])
        .macos(&["~/.opencode/bin/opencode", "/opt/homebrew/bin/opencode"]),
    Signs::application(&["opencode-desktop"]).of("desktop").macos(&["/Applications/OpenCode.app", "~/Applications/OpenCode.app"]),
])
.moved(&[XDG])
.skills("~/.config/opencode/skills");

pub(super) static PI: Here = Here::by(&[Signs::command(&["pi"])]).skills("~/.pi/agent/skills");

pub(super) static ZCODE: Here = Here::by(&[Signs::application(&["zcode"])
    .linux(&["/opt/ZCode/zcode"])
    .macos(&["/Applications/ZCode.app", "~/Applications/ZCode.app"])])
.skills("~/.zcode/skills")
.hooks_off(&["hooks", "enabled"], false);

pub(super) static KIMI: Here = Here::by(&[Signs::command(&["kimi"]).linux(&["~/.local/bin/kimi"]).macos(&["~/.local/bin/kimi"])])
    .moved(&[Moved::folder("KIMI_CODE_HOME", "~/.kimi-code")])
    .skills("~/.kimi-code/skills");

pub(super) static COPILOT: Here =
    Here::by(&[Signs::command(&["copilot"])]).moved(&[Moved::folder("COPILOT_HOME", "~/.copilot")]).skills("~/.copilot/skills");

pub(super) static VSCODE: Here = Here::by(&[
    Signs::application(&["code"])
        .of("stable")
        .linux(&["/usr/share/code/code", "/snap/bin/code"])
        .macos(&["/Applications/Visual Studio Code.app", "~/Applications/Visual Studio Code.app"]),
    Signs::application(&["code-insiders"])
        .of("insiders")
        .linux(&["/usr/share/code-insiders/code-insiders", "/snap/bin/code-insiders"])
        .macos(&["/Applications/Visual Studio Code - Insiders.app", "~/Applications/Visual Studio Code - Insiders.app"]),
])
.moved(&[XDG]);

pub(super) static COMMANDCODE: Here = Here::by(&[Signs::command(&["commandcode", "command-code"])]).skills("~/.commandcode/skills");

pub(super) static GEMINI: Here = Here::by(&[Signs::command(&["gemini"]).macos(&["/opt/homebrew/bin/gemini"])])
    .moved(&[Moved::folder("GEMINI_CLI_HOME", "~")])
    .skills("~/.gemini/skills");

pub(super) static CLINE: Here =
    Here::by(&[Signs::command(&["cline"]).of("cli"), Signs::extension(&[], &["saoudrizwan.claude-dev"]).of("extension")])
        .moved(&[Moved::folder("CLINE_DATA_DIR", "~/.cline/data"), Moved::folder("CLINE_DIR", "~/.cline"), XDG])
        .skills("~/.cline/skills");

pub(super) static ROO: Here = Here::by(&[Signs::extension(&[], &["rooveterinaryinc.roo-cline"])]).moved(&[XDG]).skills("~/.roo/skills");

pub(super) static JUNIE: Here =
    Here::by(&[Signs::command(&["junie"]).linux(&["~/.local/bin/junie"]).macos(&["~/.local/bin/junie"])]).skills("~/.junie/skills");

pub(super) static DROID: Here =
    Here::by(&[Signs::command(&["droid"]).linux(&["~/.local/bin/droid"]).macos(&["~/.local/bin/droid"])]).skills("~/.factory/skills");

pub(super) static KIRO: Here = Here::by(&[Signs::application(&["kiro-cli", "kiro"])
    .linux(&["~/.local/bin/kiro-cli", "/usr/share/kiro/kiro"])
    .macos(&["~/.local/bin/kiro-cli", "/Applications/Kiro.app", "/Applications/Kiro CLI.app"])])
.skills("~/.kiro/skills");

pub(super) static AMP: Here =
    Here::by(&[Signs::extension(&["amp"], &["sourcegraph.amp"]).linux(&["~/.amp/bin/amp"]).macos(&["~/.amp/bin/amp"])])
        .skills("~/.config/agents/skills");

pub(super) static WARP: Here = Here::by(&[Signs::application(&[])
    .linux(&["/opt/warpdotdev/warp-terminal/warp", "/usr/bin/warp-terminal"])
    .macos(&["/Applications/Warp.app", "~/Applications/Warp.app"])]);

pub(super) static CRUSH: Here = Here::by(&[Signs::command(&["crush"]).macos(&["/opt/homebrew/bin/crush"])])
    .moved(&[Moved::folder("CRUSH_GLOBAL_CONFIG", "$XDG_CONFIG_HOME/crush")])
    .skills("~/.config/crush/skills");

pub(super) static OPENHANDS: Here =
    Here::by(&[Signs::command(&["openhands"]).linux(&["~/.local/bin/openhands"]).macos(&["~/.local/bin/openhands"])])
        .skills("~/.openhands/skills");

pub(super) static AUGMENT: Here = Here::by(&[Signs::extension(&["auggie"], &["augment.vscode-augment"])]).skills("~/.augment/skills");

pub(super) static REASONIX: Here =
    Here::by(&[Signs::command(&["reasonix"])]).moved(&[Moved::folder("REASONIX_HOME", "~/.reasonix")]).skills("~/.reasonix/skills");

pub(super) static QWEN: Here =
    Here::by(&[Signs::command(&["qwen"])]).moved(&[Moved::folder("QWEN_HOME", "~/.qwen")]).skills("~/.qwen/skills");

pub(super) static CODEBUDDY: Here = Here::by(&[Signs::command(&["codebuddy", "cbc"])]).skills("~/.codebuddy/skills");

pub(super) static GOOSE: Here = Here::by(&[Signs::application(&["goose"]).linux(&["~/.local/bin/goose"]).macos(&[
    "/Applications/Goose.app",
    "~/Applications/Goose.app",
    "~/.local/bin/goose",
])])
.moved(&[XDG])
.skills("~/.config/goose/skills");

pub(super) static CONTINUE: Here = Here::by(&[Signs::extension(&["cn"], &["continue.continue"])]).skills("~/.continue/skills");

pub(super) static CODEWHALE: Here = Here::by(&[Signs::command(&["codewhale"])])
    .moved(&[Moved::folder("DEEPSEEK_MCP_CONFIG", "~/.codewhale/mcp.json"), Moved::folder("CODEWHALE_HOME", "~/.codewhale")])
    .skills("~/.codewhale/skills");

pub(super) static AIDER: Here = Here::by(&[Signs::command(&["aider"]).linux(&["~/.local/bin/aider"]).macos(&["~/.local/bin/aider"])]);

pub(super) static ZED: Here = Here::by(&[Signs::application(&["zed", "zeditor"])
    .linux(&["~/.local/zed.app/bin/zed"])
    .macos(&["/Applications/Zed.app", "~/Applications/Zed.app"])])
.moved(&[XDG]);
