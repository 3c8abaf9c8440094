"""A whole session of one real host with the real `frith`, against a model that a script plays.

It runs in a network namespace that has loopback alone. The host's home is a temporary folder; so is everything of the node.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

from model import Model
from rows import ROWS, SHELL_WORD
import worktrees

PUSHED = "the-message-that-is-pushed"
READ = "the-message-that-is-read"
SENT = "the-message-that-is-sent"
TASK = "the-task-that-waits"
PATIENCE_S = 120


class Machine:
    """A machine of the host's own: a home, a node, a workspace with a task."""

    def __init__(self, host, binary, programs, folder):
        self.row, self.host, self.binary = ROWS[host], host, binary
        self.home = folder / "home"
        self.repo = folder / "app"
        for made in [self.home, self.repo, folder / "run", folder / "tmp"]:
            made.mkdir()
        self.environment = {
            "PATH": f"{binary.parent}:{programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "FRITH_HOME": str(self.home / ".frith"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "TMPDIR": str(folder / "tmp"),
            "USER": "ada",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }

    def run(self, *line, may_fail=False):
        asked = subprocess.run(line, cwd=self.repo, env=self.environment, stdin=subprocess.DEVNULL, timeout=PATIENCE_S,
                               capture_output=True, text=True, errors="replace")
        print(f"$ {' '.join(line)}\n{asked.stdout}{asked.stderr}[exit {asked.returncode}]", flush=True)
        if asked.returncode and not may_fail:
            raise RuntimeError(f"`{' '.join(line[:3])}` failed")
        return asked

    def frith(self, *line):
        return self.run(str(self.binary), *line).stdout

    def json(self, *line):
        return json.loads(self.frith(*line, "--json"))

    def agents(self):
        return self.json("agents", "sessions", "--all")["agents"]

    def agent(self):
        """The one agent that is there; a host that lists its servers may have been another for a moment."""
        [agent] = [agent for agent in self.agents() if agent["agent"]["ended"] is None]
        return agent

    def is_healthy(self):
        """What the host's own listing says of frith."""
        listing = self.run(*self.row["list"], may_fail=True)
        return re.search(self.row["healthy"], listing.stdout + listing.stderr) is not None

    def prepare(self, model):
        self.run("git", "init", "--quiet")
        self.frith("up")
        self.frith("workspace", "create", "app", "--folder", str(self.repo))
        self.frith("task", "add", "-w", "app", TASK)
        self.environment |= self.row["prepare"](self.home, model)
        self.frith("agents", "install", self.host, "--yes")


def steps(machine, found):
    """The conversation: each step looks at what the one before brought, and asks for the next tool."""
    row = machine.row
    person = f"ada@{machine.json('status')['name']}"

    def result(request, word):
        if word not in request.text:
            raise AssertionError(f"`{word}` is not in what came back")

    def opens(request):
        if row["starts"]:
            found["the id line reaches the model"] = machine.agent()["agent"]["id"][:8] in request.text
        found["the model is told of the mailbox"] = "agent_inbox" in json.dumps(request.body.get("messages", request.body))
        return "whoami", {}

    def runs_shell(request):
        agent = machine.agent()["agent"]["id"]
        result(request, agent)
        found["whoami"] = True
        machine.frith("agents", "send", agent, PUSHED)
        return row["shell"]

    def reads_mail(request):
        result(request, SHELL_WORD)
        if row["hooks"]:
            found["a message is pushed into a tool's result"] = PUSHED in request.text
        machine.frith("agents", "send", machine.agent()["agent"]["id"], READ)
        return "agent_inbox", {}

    def sends_mail(request):
        result(request, READ)
        found["agent_inbox"] = True
        return "agent_send", {"to": person, "text": SENT}

    def takes_task(request):
        found["agent_send"] = any(message["text"] == SENT for message in machine.json("agents", "inbox")["messages"])
        return "task_next", {}

    def ends(request):
        result(request, TASK)
        found["task_next"] = True
        return "all done"

    def searches(request):
        names = ["whoami", "agent_inbox", "agent_send", "task_next"]
        return "tool_search", {"query": "select:" + ",".join(f"mcp__frith__{name}" for name in names)}

    first = [searches] if row["searches"] else []
    return [*first, opens, runs_shell, reads_mail, sends_mail, takes_task, ends]


def how(agent):
    """How an agent ended."""
    return agent["agent"]["ended"] and agent["agent"]["ended"]["how"]


def has_ended(machine):
    """Whether the agent ends, since its session is over."""
    for _ in range(100):
        if all(map(how, machine.agents())):
            return True
        time.sleep(0.2)
    return False


def converse(host, binary, programs, folder):
    machine, found = Machine(host, binary, programs, folder), {}
    model = Model([])
    try:
        machine.prepare(model.address)
        found[f"`{' '.join(machine.row['list'])}` shows frith healthy"] = machine.is_healthy()
        found["nobody is left of listing"] = has_ended(machine)
        model.steps = steps(machine, found)
        machine.run(*machine.row["session"], may_fail=True)
        found["every step came"] = len(model.requests) >= len(model.steps) and not model.faults
        found["the agent has ended"] = has_ended(machine)
        if machine.row["starts"]:
            found["the host's own event ended it"] = [how(agent) for agent in machine.agents()] == ["sessionOver"]
        if machine.row["worktrees"]:
            worktrees.converse(machine, model, found)
        machine.frith("agents", "uninstall", host, "--yes")
        found["frith is gone from it after uninstalling"] = not machine.is_healthy()
    except Exception as fault:  # Whatever breaks is told in one line; how it came to it is in the log.
        traceback.print_exc()
        model.faults.append(f"{type(fault).__name__}: {fault}")
    finally:
        print(json.dumps([request.body for request in model.requests])[:200000])
        machine.run(str(machine.binary), "down", may_fail=True)
    return found, model.faults


def main():
    host, binary, programs, log = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3], sys.argv[4]
    said = os.dup(1)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.dup2(1, 2)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fr") as folder:
        found, faults = converse(host, binary, programs, pathlib.Path(folder))
    missing = [what for what, is_so in found.items() if not is_so] + faults
    verdict = "ok" if not missing else "FAILED"
    lines = [f"{host}: {verdict}, {len(found)} things looked at in {time.monotonic() - began:.0f} s"]
    lines += [f"  not so: {what}" for what in missing] + ([f"  the log is {log}"] if missing else [])
    os.write(said, ("\n".join(lines) + "\n").encode())
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
