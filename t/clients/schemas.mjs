// schemas.mjs: every message that boris writes in a scripted exchange, held
// against MCP's own schema of that revision. The schemas are not part of
// boris: MCP_SCHEMAS is the folder that has REVISION.json.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { check, gone, here, is, skip, until } from './check.mjs';
import { data, legacy, modern } from './clients.mjs';
import { Wire, key, meta } from './wire.mjs';

const folder = path.resolve(process.env.MCP_SCHEMAS ??
	`${here}/../../../shared/schemas`);

// What the last revision calls the `error` of a response
const errors = {
	'-32700': 'ParseError',
	'-32600': 'InvalidRequestError',
	'-32601': 'MethodNotFoundError',
	'-32602': 'InvalidParamsError',
	'-32603': 'InternalError',
};

const notifications = {
	'notifications/progress': 'ProgressNotification',
	'notifications/subscriptions/acknowledged':
		'SubscriptionsAcknowledgedNotification',
};

class Schema {
	#ajv;
	#root;

	constructor(file) {
		const schema = JSON.parse(fs.readFileSync(file, 'utf8'));
		const Dialect = /2020-12/.test(schema.$schema) ? Ajv2020 : Ajv;
		this.#ajv = formats(new Dialect({ strict: false }));
		this.#ajv.addSchema(schema, 'mcp');
		this.#root = schema.$defs ? '$defs' : 'definitions';
		this.names = Object.keys(schema[this.#root]);
	}

	has(name) {
		return this.names.includes(name);
	}

	// fits(VALUE, NAME...): it is what the schema calls that; of several
	// names the first that the revision has
	fits(value, ...names) {
		const name = names.find(name => this.has(name));
		assert(name, `the schema has no ${names}`);
		const valid = this.#ajv.getSchema(`mcp#/${this.#root}/${name}`);
		if (!valid(value))
			assert.fail(`no ${name}: ${JSON.stringify(value)}\n` +
				this.#ajv.errorsText(valid.errors));
	}

	// message(MESSAGE, SHAPE): SHAPE is what its result has to be
	message(message, shape) {
		const { jsonrpc, id, ...rest } = message;
		const names = Object.keys(rest).join();
		if (names === 'method,params')
			this.#notification(message);
		else if (names === 'result')
			this.#result(message, shape);
		else if (names === 'error')
			this.#error(message);
		else
			assert.fail(`a message with ${names}`);
	}

	// batch(MESSAGES): the elements are looked at one by one besides
	batch(messages) {
		const all = messages.map(one => this.readable(one));
		this.fits(all, 'JSONRPCMessage');
		this.fits(all, 'JSONRPCBatchResponse');
	}

	#notification(message) {
		assert(!('id' in message));
		this.fits(message, 'JSONRPCMessage');
		this.fits(message, 'JSONRPCNotification');
		this.fits(message, 'ServerNotification');
		this.fits(message, notifications[message.method]);
	}

	#result(message, shape) {
		const { result } = message;
		this.fits(message, 'JSONRPCMessage');
		this.fits(message, 'JSONRPCResultResponse', 'JSONRPCResponse');
		this.fits(result, 'ServerResult');
		this.fits(result, shape);
		if (this.has(`${shape}Response`))
			this.fits(message, `${shape}Response`);
	}

	#error(message) {
		const { id, error } = message;
		const readable = this.readable(message);
		this.fits(readable, 'JSONRPCMessage');
		this.fits(readable, 'JSONRPCErrorResponse', 'JSONRPCError');
		if (id === null)
			assert([-32700, -32600].includes(error.code));
		if (this.has('ParseError') && errors[error.code])
			this.fits(error, errors[error.code]);
		if (error.code === -32022)
			this.fits(message, 'UnsupportedProtocolVersionError');
	}

	// readable(MESSAGE): JSON-RPC's null for an id that could not be read
	// is in no schema of MCP's (JSON-RPC 2.0, 5); all else of it is looked at.
	readable(message) {
		const { id, ...rest } = message;
		if (id !== null)
			return message;
		const optional = this.has('JSONRPCErrorResponse');
		return optional ? rest : { ...rest, id: 0 };
	}
}

// One exchange: what was asked, and so what each answer has to be
class Exchange extends Wire {
	#shapes = new Map([['hello', 'InitializeResult']]);
	#next = 0;

	constructor(room, version) {
		super(room);
		this.room = room;
		this.version = version;
		this.modern = version === modern;
	}

	// call(METHOD, PARAMS, SHAPE): a result that the schema calls SHAPE;
	// without SHAPE an error
	async call(method, params, shape) {
		const id = this.put(method, params, shape);
		const answer = await this.answer(id);
		is('result' in answer, !!shape, JSON.stringify(answer));
		return answer.result ?? answer.error;
	}

	// put(METHOD, PARAMS, SHAPE): the same, not waited for; its id
	put(method, params, shape) {
		// 0 is an id, and so are strings
		const n = this.#next++;
		const id = n % 2 ? `id ${n}` : n;
		this.#shapes.set(id, shape);
		const _meta = { ...meta(), ...params?._meta };
		this.post(id, method,
			this.modern ? { ...params, _meta } : params);
		return id;
	}

	tool(name, args, _meta) {
		return this.call('tools/call', { name, arguments: args, _meta },
			'CallToolResult');
	}

	bash(command, more, _meta) {
		return this.tool('bash', { command, ...more }, _meta);
	}

	// notified(MEMBER, VALUE): a notification with that has come
	notified(...path) {
		const value = path.pop();
		const at = message =>
			path.reduce((it, name) => it?.[name], message.params);
		return until(`${path} ${value} has come`, () =>
			this.heard().some(message => at(message) === value));
	}

	// fits(SCHEMA): all that was heard does
	fits(schema) {
		for (const message of this.heard()) {
			if (Array.isArray(message))
				schema.batch(message);
			for (const one of [message].flat()) {
				const shape = this.#shapes.get(one.id);
				schema.message(one, shape);
				if (one.result)
					this.#era(one.result, shape);
			}
		}
	}

	// What the schemas leave open: a later revision's members, `ping`
	#era(result, shape) {
		const added = ['resultType', 'ttlMs', 'cacheScope', '_meta'];
		if (!this.modern)
			is(added.filter(name => name in result), []);
		else if (shape !== 'SubscriptionsListenResult')
			is(result._meta[key('serverInfo')].name, 'boris');
		if (shape === 'EmptyResult')
			is(result, {});
	}
}

const exchanges = {
	'opening and list': async x => {
		if (x.modern)
			await x.call('server/discover', {}, 'DiscoverResult');
		else
			await x.call('ping', undefined, 'EmptyResult');
		const { tools } =
			await x.call('tools/list', {}, 'ListToolsResult');
		is(tools.length, 2);
		// A tool's own mean the same in both dialects (SPEC M14.4).
		for (const { inputSchema, outputSchema } of tools)
			for (const Dialect of [Ajv, Ajv2020]) {
				new Dialect().compile(inputSchema);
				new Dialect().compile(outputSchema);
			}
	},

	'calls': async x => {
		const calls = [
			['echo hi; echo ho >&2; exit 3'],
			['kill -9 $$'],
			['printf "\\377\\0\\33[1m\\302\\200\\355\\240\\200"'],
			['cat', { stdin: '\u2028\u{1f600}\ud800"\\' }],
			['read -r _ <gate', { timeout: 50 }],
			['cd /; pwd', { cwd: 'tmp' }],
			['head -c 99999 /dev/zero | tr "\\0" "\\42"'],
		];
		const { tools } =
			await x.call('tools/list', {}, 'ListToolsResult');
		const conforms = new Ajv().compile(tools[0].outputSchema);
		for (const args of calls) {
			const result = await x.bash(...args);
			is(result.isError, false);
			assert(conforms(data(result)));
		}
	},

	'tool errors': async x => {
		const wrong = [
			{}, { command: 1 }, { command: ' ' }, { cmd: 'x' },
			{ command: 'x', timeout: 0 }, { command: 'x', cwd: 1 },
			{ check_pid: 1 }, { command: 'x', 'a\u0000"\ud800': 1 },
		];
		for (const args of wrong) {
			const result = await x.tool('bash', args);
			is(result.isError, true);
			assert(!('structuredContent' in result));
		}
	},

	'progress': async x => {
		for (const progressToken of [0, 'a token']) {
			const call = x.bash('echo on; read -r _ <gate', {},
				{ progressToken });
			await x.notified('progressToken', progressToken);
			x.room.release();
			await call;
		}
	},

	'tasks': async x => {
		const status = result => data(result).status;
		const look = args => x.tool('task_output', args);
		const command = 'echo on; read -r _ <gate';
		const more = { run_in_background: true };
		const start = async () => data(await x.bash(command, more));

		const { task_id } = await start();
		is(status(await look({ task_id })), 'running');
		x.room.release();
		is(status(await look({ task_id, wait: 9999 })), 'completed');
		is((await look({ task_id })).isError, true);
		const { pid } = await start();
		is(status(await x.tool('bash', { check_pid: pid })), 'running');
		is(status(await x.tool('bash', { kill_pid: pid })), 'killed');
	},

	'cancelling': async x => {
		const command = 'echo $$ >pid; read -r _ <gate';
		const requestId = x.put('tools/call',
			{ name: 'bash', arguments: { command } });
		const pid = Number(await x.room.written('pid'));
		x.tell('notifications/cancelled', { requestId, reason: 'x' });
		await until('the command has ended', () => gone(pid));
		await x.bash('true');
		is(x.answers(requestId), []);
	},

	'errors': async x => {
		const name = 'bash';
		const refused = [
			['nope', {}, -32601],
			['tools/call\u0000', { name, arguments: {} }, -32601],
			['prompts/list', {}, -32601],
			['logging/setLevel', { level: 'info' }, -32601],
			['tasks/list', {}, -32601],
			['tools/list', { cursor: 'x' }, -32602],
			['tools/call', { name: 'nope' }, -32602],
			['tools/call', { name, arguments: [] }, -32602],
			['tools/call', {}, -32602],
		];
		const list = version =>
			['tools/list', { _meta: meta(version) }];
		if (x.modern)
			refused.push(
				['ping', {}, -32601],
				['initialize', {}, -32601],
				['subscriptions/listen', {}, -32602],
				[...list('1900-01-01'), -32022],
				[...list('2025-11-25'), -32022],
				[...list(7), -32602]);
		for (const [method, params, code] of refused)
			is((await x.call(method, params)).code, code, method);
	},

	'no requests': async x => {
		const broken = [
			'{"jsonrpc":"2.0","id":4,"method"', '\u{feff}{}',
			'[]', '7', '{}',
			'{"jsonrpc":"1.0","id":"v","method":"ping"}',
			'{"jsonrpc":"2.0","id":null,"method":"ping"}',
			'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
			'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}',
		];
		// In front of the first line a byte order mark is skipped.
		await x.call('nope', {});
		const before = x.heard().length;
		x.send(...broken);
		const answers = () => x.heard().slice(before);
		await until('each is answered', () =>
			answers().length === broken.length);
		assert(answers().every(message => message.error));
	},

	'a batch': async x => {
		const before = x.heard().length;
		x.send([
			{ jsonrpc: '2.0', id: 'b1', method: 'nope' },
			{ jsonrpc: '2.0', method: 'notifications/x' },
			{ jsonrpc: '2.0', id: 'b2', method: 'tools/call' },
			7,
		]);
		await until('it is answered', () => x.heard().length > before);
		const answer = x.heard().at(-1);
		if (x.version === '2025-03-26')
			is(answer.map(one => one.error.code).sort(),
				[-32600, -32601, -32602]);
		else
			is([answer.id, answer.error.code], [null, -32600]);
	},
};

const subscription = async x => {
	const listen = () => x.put('subscriptions/listen',
		{ notifications: { toolsListChanged: true } },
		'SubscriptionsListenResult');
	const [one, two] = [listen(), listen()];
	await x.notified('_meta', key('subscriptionId'), one);
	await x.notified('_meta', key('subscriptionId'), two);
	x.tell('notifications/cancelled', { requestId: one });
	await x.bash('true');
	await x.leave();
	is([x.answers(one).length, x.answers(two).length], [0, 1]);
};

async function against(file, version) {
	const schema = new Schema(file);
	const all = Object.entries(exchanges);
	if (version === modern)
		all.push(['a subscription', subscription]);
	for (const [name, script] of all)
		await check(`schema ${version}: ${name}`, async room => {
			const x = new Exchange(room, version);
			if (!x.modern)
				await x.hello(version);
			await script(x);
			await x.leave();
			x.fits(schema);
			return `${x.single().length} messages`;
		});
}

for (const version of [...legacy, modern]) {
	const file = `${folder}/${version}.json`;
	if (fs.existsSync(file))
		await against(file, version);
	else
		skip(`schema ${version}`, 'no such file in MCP_SCHEMAS, else ' +
			'../shared/schemas beside the repository');
}
