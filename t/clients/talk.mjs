// SPDX-License-Identifier: ISC
//
// talk.mjs: one talk with each of the TypeScript SDK's clients, the first on the
// last revision that has a handshake, the second on the modern one. They check
// each result against the tool's own outputSchema.

import assert from 'node:assert/strict';
import * as v1 from '@modelcontextprotocol/sdk/client/index.js';
import * as stdio1 from '@modelcontextprotocol/sdk/client/stdio.js';
import * as v2 from '@modelcontextprotocol/client';
import * as stdio2 from '@modelcontextprotocol/client/stdio';
import { check, is, like, until, within } from './check.mjs';

const me = { name: 'talk', version: '1' };

async function first(room) {
	const client = new v1.Client(me);
	await client.connect(new stdio1.StdioClientTransport(room.stdio));
	return { client, call: (name, args, options) => client.callTool(
		{ name, arguments: args }, undefined, options) };
}

const second = mode => async room => {
	const client = new v2.Client(me, { versionNegotiation: { mode } });
	await client.connect(new stdio2.StdioClientTransport(room.stdio));
	return { client, call: (name, args, options) =>
		client.callTool({ name, arguments: args }, options) };
};

for (const [name, connect] of [['v1', first], ['v2 auto', second('auto')],
	['v2 legacy', second('legacy')]]) {
	const it = (what, body) => check(`${name}: ${what}`, async room => {
		const { client, call } = await connect(room);
		const errors = [];
		client.onerror = error => errors.push(error);
		const { tools } = await client.listTools();
		is(tools.map(tool => tool.name), ['bash', 'task_output']);
		const bash = async (command, args, options) =>
			(await call('bash', { command, ...args }, options))
				.structuredContent;
		await body({ client, call, bash, room });
		// It sends SIGTERM after two seconds; boris leaves before (P9).
		const began = performance.now();
		await client.close();
		within('close', performance.now() - began, 1900);
		is(errors, []);
	});
	const holds = 'echo on >on; read -r _ <gate';

	await it('a call with progress', async ({ client, bash, room }) => {
		is(client.getServerVersion().name, 'boris');
		const heard = [];
		const onprogress = progress => {
			heard.push(progress);
			room.release();
		};
		const { status, stdout, stderr, exit_code } = await bash(
			'echo a; read -r _ <gate; echo b >&2; exit 3', {}, { onprogress });
		is([status, stdout, stderr, exit_code], ['completed', 'a\n', 'b\n', 3]);
		is(heard[0].message, 'a\n');
	});

	await it('errors', async ({ call }) => {
		const { isError, content } = await call('bash', { cmd: 'ls' });
		is(isError, true);
		like(content[0].text, /unknown argument "cmd"/);
		await assert.rejects(call('nope', {}), { code: -32602 });
	});

	await it('a call is cancelled', async ({ bash, room }) => {
		const abort = new AbortController();
		const rejected = assert.rejects(bash(`${holds}; echo >never`, {},
			{ signal: abort.signal }));
		await until('it runs', () => room.read('on'));
		abort.abort();
		await rejected;
		is((await bash('ls never')).exit_code, 2);
	});

	await it('long output, a task, a terminal', async ({ bash, call, room }) => {
		const quotes = 'head -c 99999 /dev/zero | tr "\\0" "\\42"';
		is((await bash(quotes)).stdout_chars, 99999);
		const { task_id } = await bash(`${holds}; echo b`,
			{ run_in_background: true });
		room.release();
		const end = await call('task_output', { task_id, wait: 10000 });
		is(end.structuredContent.stdout, 'b\n');
		const asks = await bash('read -p "Name: " n; echo "Hello $n"',
			{ tty: true });
		const typed = await call('bash', { task_id: asks.task_id,
			input: 'Bob\n' });
		is(typed.structuredContent.stdout, 'Bob\nHello Bob\n');
	});

	await it('closes while a task runs', ({ bash }) =>
		bash(holds, { run_in_background: true }));
}
