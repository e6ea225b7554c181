// SPDX-License-Identifier: ISC
//
// players.mjs: simulates a model that follows a script. It supports the four
// APIs that agents use: Anthropic's Messages, OpenAI's Responses and Chat
// Completions, and Google's generateContent. The server listens on the loopback
// address. It lets the agent make the calls of each step in turn, and records
// the results, which are the text that a model would read.

import http from 'node:http';

const json = value => JSON.stringify(value);
const list = value => Array.isArray(value) ? value : [];

// Returns the text of a value and its parts, as a model reads it.
function text(value) {
	if (typeof value === 'string')
		return value;
	return list(value).map(part => part.text ?? json(part)).join('');
}

// Each API has the path of its requests (path), a function that returns the
// tools in a request (offers), one that returns the results in a request as
// [id, text] (results), and one that returns the events of a response with the
// text `reply` and the calls [{ id, tool, args }] (events). A tool has the form
// in which it was offered.
const messages = {
	path: /\/v1\/messages$/,
	offers: body => list(body.tools).map(({ name }) => ({ name })),
	results: body => body.messages
		.flatMap(message => list(message.content))
		.filter(part => part.type === 'tool_result')
		.map(part => [part.tool_use_id, text(part.content)]),
	events(reply, calls) {
		const blocks = [
			...reply ? [[{ type: 'text', text: '' },
				{ type: 'text_delta', text: reply }]] : [],
			...calls.map(({ id, tool, args }) => [
				{ type: 'tool_use', id, name: tool.name, input: {} },
				{ type: 'input_json_delta', partial_json: json(args) }]),
		];
		return [
			{ type: 'message_start', message: { id: 'm', type: 'message',
				role: 'assistant', model: 'm', content: [],
				stop_reason: null, stop_sequence: null,
				usage: { input_tokens: 1, output_tokens: 1 } } },
			...blocks.flatMap(([content_block, delta], index) => [
				{ type: 'content_block_start', index, content_block },
				{ type: 'content_block_delta', index, delta },
				{ type: 'content_block_stop', index }]),
			{ type: 'message_delta', usage: { output_tokens: 1 }, delta: {
				stop_reason: calls.length ? 'tool_use' : 'end_turn',
				stop_sequence: null } },
			{ type: 'message_stop' },
		].map(event => `event: ${event.type}\ndata: ${json(event)}\n\n`);
	},
};

const responses = {
	path: /\/v1\/responses$/,
	offers: body => [body, ...list(body.input)]
		.flatMap(({ tools }) => list(tools))
		.flatMap(({ type, name = type, tools }) => tools
			? tools.map(tool => ({ namespace: name, name: tool.name,
				custom: tool.type === 'custom' }))
			: { name, custom: type === 'custom' }),
	results: body => list(body.input)
		.filter(item => /call_output$/.test(item.type))
		.map(item => [item.call_id, text(item.output)]),
	events(reply, calls) {
		const items = [
			...reply ? [{ type: 'message', role: 'assistant', id: 'm',
				content: [{ type: 'output_text', text: reply }] }] : [],
			...calls.map(({ id, tool: { custom, ...tool }, args }) => custom
				? { type: 'custom_tool_call', call_id: id, ...tool,
					input: args }
				: { type: 'function_call', call_id: id, ...tool,
					arguments: json(args) }),
		];
		return [
			{ type: 'response.created', response: { id: 'r' } },
			...items.map(item =>
				({ type: 'response.output_item.done', item })),
			{ type: 'response.completed', response: { id: 'r', usage: {
				input_tokens: 1, input_tokens_details: null,
				output_tokens: 1, output_tokens_details: null,
				total_tokens: 2 } } },
		].map(event => `event: ${event.type}\ndata: ${json(event)}\n\n`);
	},
};

const completions = {
	path: /\/chat\/completions$/,
	offers: body => list(body.tools)
		.map(tool => tool.function ?? tool.custom),
	results: body => body.messages
		.filter(message => message.role === 'tool')
		.map(message => [message.tool_call_id, text(message.content)]),
	events(reply, calls) {
		const chunk = (delta, finish_reason = null) => ({ id: 'c', created: 1,
			object: 'chat.completion.chunk', model: 'm',
			choices: [{ index: 0, delta, finish_reason }] });
		return [
			chunk({ role: 'assistant', content: reply || null }),
			...calls.map(({ id, tool, args }, index) => chunk({ tool_calls:
				[{ index, id, type: 'function', function:
					{ name: tool.name, arguments: json(args) } }] })),
			{ ...chunk({}, calls.length ? 'tool_calls' : 'stop'), usage: {
				prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
		].map(event => `data: ${json(event)}\n\n`).concat('data: [DONE]\n\n');
	},
};

const generate = {
	path: /:(stream)?generateContent$/i,
	offers: body => list(body.tools)
		.flatMap(tool => list(tool.functionDeclarations)),
	results: body => body.contents
		.flatMap(content => content.parts)
		.filter(part => part.functionResponse)
		.map(({ functionResponse: { id, response } }) =>
			[id, response.output ?? json(response)]),
	events(reply, calls) {
		return [`data: ${json({ candidates: [{ index: 0, finishReason: 'STOP',
			content: { role: 'model', parts: [
				...reply ? [{ text: reply }] : [],
				...calls.map(({ id, tool: { name }, args }) =>
					({ functionCall: { id, name, args } })),
			] } }], usageMetadata: { promptTokenCount: 1,
			candidatesTokenCount: 1, totalTokenCount: 2 } })}\r\n\r\n`];
	},
};

const apis = [messages, responses, completions, generate];

// A simulated model that plays SCRIPT, a list of steps. A step is a list of
// calls, [TOOL, ARGUMENTS], which are made at once, or a function that returns
// such a list for this player. TOOL is the name of a tool of boris or of the
// agent, or the form of a tool that is not offered. After the last step, the
// model replies `done`.
export class Player {
	offered = []; // tools of the last request that had tools
	calls = []; // all calls so far: { id, tool, args, step, at }
	results = []; // results in the order of arrival: { id, text, at }
	#script;

	constructor(script = []) {
		this.#script = script;
	}

	async listen() {
		this.server = http.createServer((request, response) =>
			this.#answer(request, response).catch(error => {
				this.failed = error;
				response.destroy();
			}));
		this.server.unref();
		await new Promise(done => this.server.listen(0, '127.0.0.1', done));
		this.url = `http://127.0.0.1:${this.server.address().port}`;
		return this;
	}

	close() {
		this.server.closeAllConnections();
		this.server.close();
	}

	// read(N): returns the result of the Nth call, or undefined if there is
	// none
	read(n) {
		return this.results.find(({ id }) => id === `call_${n}`)?.text;
	}

	// took(N): returns the milliseconds between the Nth call and its result
	took(n) {
		const { at } = this.results.find(({ id }) => id === `call_${n}`);
		return at - this.calls[n].at;
	}

	#tool(name) {
		if (typeof name === 'object')
			return name;
		const full = tool => `${tool.namespace ?? ''}${tool.name}`;
		const ours = tool => full(tool).includes('boris') &&
			full(tool).endsWith(name);
		return this.offered.find(ours) ??
			this.offered.find(tool => tool.name === name);
	}

	// Returns the calls of the next step, if all earlier calls have
	// results.
	#next() {
		const step = this.calls.at(-1)?.step ?? -1;
		if (this.results.length < this.calls.length)
			return [];
		let calls = this.#script[step + 1] ?? [];
		if (typeof calls === 'function')
			calls = calls(this);
		const at = performance.now();
		for (const [name, args] of calls)
			if (!this.#tool(name))
				return [];
		return calls.map(([name, args]) => {
			const call = { id: `call_${this.calls.length}`, args, at,
				tool: this.#tool(name), step: step + 1 };
			this.calls.push(call);
			return call;
		});
	}

	async #answer(request, response) {
		const at = performance.now();
		const path = request.url.replace(/\?.*/, '');
		let body = '';
		for await (const chunk of request)
			body += chunk;
		body = body ? JSON.parse(body) : {};
		const api = apis.find(api => api.path.test(path));
		if (!api) {
			const ok = /count|models/i.test(path);
			response.writeHead(ok ? 200 : 404,
				{ 'Content-Type': 'application/json' });
			response.end(json({ input_tokens: 1, totalTokens: 1, data: [],
				models: [] }));
			return;
		}
		let calls = [];
		const tools = api.offers(body);
		if (tools.length) {
			this.offered = tools;
			const issued = ({ id }) => this.calls.some(call => call.id === id);
			for (const [id, text] of api.results(body))
				if (issued({ id }) && !this.results.some(one => one.id === id))
					this.results.push({ id, text, at });
			calls = this.#next();
		}
		const events = api.events(calls.length ? '' : 'done', calls);
		response.writeHead(200, { 'Content-Type': 'text/event-stream' });
		response.end(events.join(''));
	}
}
