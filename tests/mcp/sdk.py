"""The Python SDK, which checks every structured answer against the schema that the server gave for it."""

import asyncio
import json
import os
import pathlib
import string

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

KNOWN = json.loads(os.environ["FRITH_KNOWN"])
CALLS = json.loads(pathlib.Path(__file__).with_name("calls.json").read_text("utf-8"))


def filled(value):
    if isinstance(value, str):
        return string.Template(value).substitute(KNOWN)
    if isinstance(value, dict):
        return {key: filled(below) for key, below in value.items()}
    return [filled(below) for below in value] if isinstance(value, list) else value


def at(value, path):
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def look(step, answer):
    tool = step["tool"]
    if "refused" in step:
        assert answer.is_error, f"{tool} is not refused: {answer}"
        assert step["refused"] in answer.content[0].text, f"{tool} is refused in other words: {answer}"
        return
    said = answer.structured_content
    assert not answer.is_error and said is not None, f"{tool} fails: {answer}"
    text = "\n".join(getattr(part, "text", "") or getattr(getattr(part, "resource", None), "text", "") for part in answer.content)
    assert text and step.get("says", "") in text, f"{tool} says something else in text: {answer}"
    for path, value in filled(step.get("is", {})).items():
        assert at(said, path) == value, f"{tool} does not answer {value} at {path}: {said}"
    for path in step.get("has", []):
        at(said, path)
    for name, path in step.get("keep", {}).items():
        KNOWN[name] = at(said, path)


async def main():
    args = ["mcp", "--host", KNOWN["host"], "--place", KNOWN["place"]]
    server = StdioServerParameters(command=os.environ["FRITH"], args=args, env=dict(os.environ))
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        names, called = {tool.name for tool in tools}, {step["tool"] for step in CALLS}
        assert names == called, f"listed and not called, or the other way round: {sorted(names ^ called)}"
        for tool in tools:
            assert tool.input_schema["type"] == tool.output_schema["type"] == "object", tool
            assert tool.annotations.open_world_hint is False, tool
        for step in CALLS:
            look(step, await session.call_tool(step["tool"], filled(step["arguments"])))
    refused = sum("refused" in step for step in CALLS)
    print(f"mcp (Python): {len(tools)} tools, {len(CALLS) - refused} answers, {refused} refusal")


asyncio.run(main())
