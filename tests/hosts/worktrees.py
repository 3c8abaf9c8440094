"""Worktrees that a real host wants made and removed, with the real `frith`: a session in one, one that enters and leaves one, a
sub-agent in one of its own, and a session without a node.
"""

import json
import pathlib

from model import Model


def worktrees(machine):
    """The linked worktrees as git knows them, without links in their paths."""
    listed = machine.run("git", "worktree", "list", "--porcelain", "-z").stdout.split("\0")
    return [pathlib.Path(line.removeprefix("worktree ")) for line in listed if line.startswith("worktree ")][1:]


def prepare(machine):
    """A repository with a commit, so that there is something to make a worktree of."""
    identity = {"GIT_AUTHOR_NAME": "ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
    machine.environment |= identity | {name.replace("AUTHOR", "COMMITTER"): value for name, value in identity.items()}
    machine.run("git", "commit", "--quiet", "--allow-empty", "-m", "first")


def play(machine, model, steps, *options):
    """A session against these steps; whether every one came."""
    model.steps, model.requests, model.faults = steps, [], []
    machine.run(*machine.row["session"], *options, may_fail=True)
    return len(model.requests) >= len(steps) and not model.faults


def shell(command):
    return "Bash", {"command": command, "description": "x"}


def converse(machine, model, found):
    """Plays each session and notes what was so."""
    prepare(machine)
    ours = machine.home / ".frith/worktrees"

    def is_in(folder):
        def step(request):
            found[f"the shell stands in {folder.name}"] = str(folder.resolve()) in request.text
            return "all done"
        return step

    made = ours / "app-feat1"
    came = play(machine, model, [lambda _: shell("pwd -P"), is_in(made)], "--worktree", "feat1")
    found["a session's worktree is made by frith"] = came and worktrees(machine) == [made]
    came = play(machine, model, [lambda _: shell("pwd -P"), is_in(made)], "--worktree", "feat1")
    found["one of the same name is the same"] = came and worktrees(machine) == [made]
    machine.run("git", "worktree", "unlock", str(made), may_fail=True)
    machine.run("git", "worktree", "remove", str(made), may_fail=True)

    entered = ours / "app-ent1"

    def leaves(request):
        found["the shell stands in the one that was entered"] = str(entered) in request.text
        # The host cannot look into a worktree that a hook made, and wants to be told so; frith looks itself.
        return "ExitWorktree", {"action": "remove", "discard_changes": True}

    steps = [lambda _: ("EnterWorktree", {"name": "ent1"}), lambda _: shell("pwd -P"), leaves, lambda _: "all done"]
    came = play(machine, model, steps)
    found["one that is left is removed"] = came and not entered.exists() and worktrees(machine) == []

    stood = []

    def notes(request):
        stood.extend(path for path in worktrees(machine) if path.parent == ours and str(path) in request.text)
        return "sub finished"

    agent = {"description": "x", "prompt": "look", "subagent_type": "general-purpose", "isolation": "worktree"}
    steps = [lambda _: ("Agent", agent), lambda _: shell("pwd -P"), notes, lambda _: "all done"]
    came = play(machine, model, steps)
    found["a sub-agent works in a worktree of its own"] = came and len(stood) == 1
    found["it goes when the sub-agent ends"] = bool(stood) and not stood[0].exists() and worktrees(machine) == []

    machine.frith("down")
    alone = machine.repo / ".claude/worktrees/feat2"
    came = play(machine, model, [lambda _: shell("pwd -P"), is_in(alone)], "--worktree", "feat2")
    found["without a node the host's own place is used"] = came and worktrees(machine) == [alone]
    print(json.dumps([str(path) for path in worktrees(machine)]))
