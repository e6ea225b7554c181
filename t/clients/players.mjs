// SPDX-License-Identifier: ISC
//
// players.mjs: a model that plays a script, in each of the four languages in
// which agents speak to theirs: Anthropic's Messages, OpenAI's Responses and
// Chat Completions, Google's generateContent. It listens on loopback, asks
// nothing of anybody, makes the agent carry out one step of calls after the
// other, and keeps what the agent hands back: that is what a model would read.

import http from 'node:http';

const json = value => JSON.stringify(value);
const list = value => Array.isArray(value) ? value : [];

// What a model reads of a value: the text of its parts
function text(value) {
	if (typeof value === 'string')
		return value;
	return list(value).map(part => part.text ?? json(part)).join('');
}

// Each language: the PATH it is asked by, the tools that a request OFFERS,
// the RESULTS in it, [id, text] of each, and the EVENTS of an answer that
// SAYS something and CALLS [{ id, tool, args }]; TOOL is as it was offered.
const messages = {
	path: /\/v1\/messages$/,
	offers: body => list(body.tools).map(({ name }) => ({ name })),
	results: body => body.messages
		.flatMap(message => list(message.content))
		.filter(part => part.type === 'tool_result')
		.map(part => [part.tool_use_id, text(part.content)]),
	events(says, calls) {
		const blocks = [
			...says ? [[{ type: 'text', text: '' },
				{ type: 'text_delta', text: says }]] : [],
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
	events(says, calls) {
		const items = [
			...says ? [{ type: 'message', role: 'assistant', id: 'm',
				content: [{ type: 'output_text', text: says }] }] : [],
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
	events(says, calls) {
		const chunk = (delta, finish_reason = null) => ({ id: 'c', created: 1,
			object: 'chat.completion.chunk', model: 'm',
			choices: [{ index: 0, delta, finish_reason }] });
		return [
			chunk({ role: 'assistant', content: says || null }),
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
	events(says, calls) {
		return [`data: ${json({ candidates: [{ index: 0, finishReason: 'STOP',
			content: { role: 'model', parts: [
				...says ? [{ text: says }] : [],
				...calls.map(({ id, tool: { name }, args }) =>
					({ functionCall: { id, name, args } })),
			] } }], usageMetadata: { promptTokenCount: 1,
			candidatesTokenCount: 1, totalTokenCount: 2 } })}\r\n\r\n`];
	},
};

const languages = [messages, responses, completions, generate];

// A model on loopback that plays SCRIPT, a list of steps. A step is a list of
// calls, [TOOL, ARGUMENTS], all made at once, or a function that returns it,
// given this player. TOOL is the name of one of boris's, else one of the
// agent's; or what it would have been offered as, where it was not. At its end
// it says `done`.
export class Player {
	offered = []; // the tools of the last request that had any
	calls = []; // all that were made: { id, tool, args, step, at }
	results = []; // what came back: { id, text, at }, in that order
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

	// read(N): what the model read of the Nth call; nothing if none came back
	read(n) {
		return this.results.find(({ id }) => id === `call_${n}`)?.text;
	}

	// took(N): milliseconds between the Nth call and its result
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

	// The next step, when all calls of the one before it have come back
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
		const language = languages.find(language => language.path.test(path));
		if (!language) {
			const ok = /count|models/i.test(path);
			response.writeHead(ok ? 200 : 404,
				{ 'Content-Type': 'application/json' });
			response.end(json({ input_tokens: 1, totalTokens: 1, data: [],
				models: [] }));
			return;
		}
		let calls = [];
		const tools = language.offers(body);
		if (tools.length) {
			this.offered = tools;
			const issued = ({ id }) => this.calls.some(call => call.id === id);
			for (const [id, text] of language.results(body))
				if (issued({ id }) && !this.results.some(one => one.id === id))
					this.results.push({ id, text, at });
			calls = this.#next();
		}
		const events = language.events(calls.length ? '' : 'done', calls);
		response.writeHead(200, { 'Content-Type': 'text/event-stream' });
		response.end(events.join(''));
	}
}
