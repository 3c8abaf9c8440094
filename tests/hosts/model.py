"""A model on loopback that says what it is told to: the answers of four makers' programming interfaces, as far as hosts ask for them.

A conversation is a list of steps, one for each request that brings tools; any other request, as for a title, is answered with a
word. Nothing is understood: what came is kept, so that a test can look for what reached the model.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Request:
    """What a host asked."""

    def __init__(self, body):
        self.body = body
        self.text = json.dumps(body, ensure_ascii=False)
        self.tools = list(tools_in(body.get("tools") or []))

    def tool(self, name):
        """The tool of frith's server, or of the host, that ends so: hosts put names before it."""
        spelled = {name, name.replace("_", ".")}
        for prefix, tool in self.tools:
            if any(tool == own or tool.endswith(("_" + own, "__" + own)) for own in spelled):
                return prefix, tool
        raise LookupError(f"no tool {name} among {[tool for _, tool in self.tools]}")

    def call(self, name, arguments):
        """How the tool is called: by its name, or through the one that some hosts have for tools they do not show."""
        try:
            return *self.tool(name), arguments
        except LookupError:
            return *self.tool("tool_call"), {"name": "mcp__frith__" + name, "arguments": arguments}


def tools_in(tools):
    """Each tool's name space and name, in whichever of the four shapes it comes."""
    for tool in tools:
        if "functionDeclarations" in tool:
            yield from ((None, own["name"]) for own in tool["functionDeclarations"])
        elif tool.get("type") == "namespace":
            yield from ((tool["name"], own["name"]) for own in tool["tools"])
        elif "function" in tool:
            yield None, tool["function"]["name"]
        elif "name" in tool:
            yield None, tool["name"]


class Model(ThreadingHTTPServer):
    """The server. `steps` are functions of a request; each answers a text, or a tool's name and its arguments."""

    daemon_threads = True

    def __init__(self, steps):
        super().__init__(("127.0.0.1", 0), Handler)
        self.steps = list(steps)
        self.requests = []
        self.faults = []
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, body):
        """What is answered, as a name space, a name and arguments, or as a text alone."""
        request = Request(body)
        if not request.tools:
            return None, None, "ok"
        with self.lock:
            number = len(self.requests)
            self.requests.append(request)
            if number >= len(self.steps) or self.faults:
                return None, None, "all done"
            try:
                said = self.steps[number](request)
                if isinstance(said, str):
                    return None, None, said
                return request.call(*said)
            except Exception as fault:  # A fault in a step is told by the test, and ends the conversation.
                self.faults.append(f"request {number + 1}: {type(fault).__name__}: {fault}")
                return None, None, "all done"


class Handler(BaseHTTPRequestHandler):
    """One request, told apart by its path."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        self.reply("application/json", json.dumps({"data": [], "models": []}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens") or path.endswith(":countTokens"):
            return self.reply("application/json", json.dumps({"input_tokens": 1, "totalTokens": 1}))
        said = self.server.answer(body)
        call = f"call_{len(self.server.requests)}"
        if path.endswith("/messages"):
            return self.events(anthropic(call, *said), named=True)
        if path.endswith("/responses"):
            return self.events(responses(call, *said), named=True)
        if path.endswith("/chat/completions"):
            return self.completion(call, said, body.get("stream"))
        if path.endswith(":streamGenerateContent"):
            return self.events([generated(*said)])
        if path.endswith(":generateContent"):
            return self.reply("application/json", json.dumps(generated(*said)))
        return self.reply("application/json", "{}")

    def completion(self, call, said, streams):
        if streams:
            return self.events(chunks(call, *said), last="data: [DONE]\n\n")
        message = {"role": "assistant", "content": said[2] if said[1] is None else None}
        whole = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
        whole["choices"] = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return self.reply("application/json", json.dumps(whole))

    def events(self, events, named=False, last=""):
        name = lambda event: f"event: {event['type']}\n" if named else ""
        self.reply("text/event-stream", "".join(f"{name(event)}data: {json.dumps(event)}\n\n" for event in events) + last)

    def reply(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def anthropic(call, _, tool, said):
    """The events of Anthropic's messages."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_" + call, "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    if tool is None:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": said}
    else:
        block = {"type": "tool_use", "id": "toolu_" + call, "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said)}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if tool is None else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def responses(call, prefix, tool, said):
    """The events of OpenAI's responses."""
    yield {"type": "response.created", "response": {"id": "resp_" + call}}
    if tool is None:
        item = {"type": "message", "role": "assistant", "id": "msg_" + call, "content": [{"type": "output_text", "text": said}]}
    else:
        item = {"type": "function_call", "id": "fc_" + call, "call_id": call, "name": tool, "arguments": json.dumps(said)}
        if prefix is not None:
            item["namespace"] = prefix
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
    yield {"type": "response.completed", "response": {"id": "resp_" + call, "usage": usage}}


def chunks(call, _, tool, said):
    """The pieces of OpenAI's chat completions."""
    whole = {"id": "c_" + call, "object": "chat.completion.chunk", "created": 0, "model": "m"}
    delta = {"role": "assistant", "content": said}
    if tool is not None:
        function = {"name": tool, "arguments": json.dumps(said)}
        delta = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, "id": call, "type": "function", "function": function}]}
    yield {**whole, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {**whole, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop" if tool is None else "tool_calls"}], "usage": usage}


def generated(_, tool, said):
    """What Gemini generates, whole."""
    part = {"text": said} if tool is None else {"functionCall": {"name": tool, "args": said}}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}
