// SPDX-License-Identifier: ISC
//
// talk.mjs: tests boris with the clients of the TypeScript SDK. Version 1 uses
// the last revision that has a handshake, and version 2 the modern one. The
// clients check each result with the outputSchema of the tool.

import assert from 'node:assert/strict';
import * as v1 from '@modelcontextprotocol/sdk/client/index.js';
import * as stdio1 from '@modelcontextprotocol/sdk/client/stdio.js';
import * as v2 from '@modelcontextprotocol/client';
import * as stdio2 from '@modelcontextprotocol/client/stdio';
import { check, is, like, waitFor, within } from './check.mjs';

const me = { name: 'talk', version: '1' };

async function connectV1(workspace) {
	const client = new v1.Client(me);
	await client.connect(new stdio1.StdioClientTransport(workspace.stdio));
	return { client, call: (name, args, options) => client.callTool(
		{ name, arguments: args }, undefined, options) };
}

const connectV2 = mode => async workspace => {
	const client = new v2.Client(me, { versionNegotiation: { mode } });
	await client.connect(new stdio2.StdioClientTransport(workspace.stdio));
	return { client, call: (name, args, options) =>
		client.callTool({ name, arguments: args }, options) };
};

for (const [name, connect] of [['v1', connectV1], ['v2 auto', connectV2('auto')],
	['v2 legacy', connectV2('legacy')]]) {
	const it = (what, body) => check(`${name}: ${what}`, async workspace => {
		const { client, call } = await connect(workspace);
		const errors = [];
		client.onerror = error => errors.push(error);
		const { tools } = await client.listTools();
		is(tools.map(tool => tool.name), ['bash', 'task_output']);
		const bash = async (command, args, options) =>
			(await call('bash', { command, ...args }, options))
				.structuredContent;
		await body({ client, call, bash, workspace });
		// The client sends SIGTERM after two seconds, but boris exits
		// earlier (P9).
		const start = performance.now();
		await client.close();
		within('close', performance.now() - start, 1900);
		is(errors, []);
	});
	const holds = 'echo on >on; read -r _ <gate';

	await it('a call sends progress', async ({ client, bash, workspace }) => {
		is(client.getServerVersion().name, 'boris');
		const received = [];
		const onprogress = progress => {
			received.push(progress);
			workspace.release();
		};
		const { status, stdout, stderr, exit_code } = await bash(
			'echo a; read -r _ <gate; echo b >&2; exit 3', {}, { onprogress });
		is([status, stdout, stderr, exit_code], ['completed', 'a\n', 'b\n', 3]);
		is(received[0].message, 'a\n');
	});

	await it('errors have the right form', async ({ call }) => {
		const { isError, content } = await call('bash', { cmd: 'ls' });
		is(isError, true);
		like(content[0].text, /unknown argument "cmd"/);
		await assert.rejects(call('nope', {}), { code: -32602 });
	});

	await it('a call can be cancelled', async ({ bash, workspace }) => {
		const abort = new AbortController();
		const rejected = assert.rejects(bash(`${holds}; echo >never`, {},
			{ signal: abort.signal }));
		await waitFor('the command is running', () => workspace.read('on'));
		abort.abort();
		await rejected;
		is((await bash('ls never')).exit_code, 2);
	});

	await it('long output, tasks and terminals work', async ({ bash, call, workspace }) => {
		const quotes = 'head -c 99999 /dev/zero | tr "\\0" "\\42"';
		is((await bash(quotes)).stdout_chars, 99999);
		const { task_id } = await bash(`${holds}; echo b`,
			{ run_in_background: true });
		workspace.release();
		const end = await call('task_output', { task_id, wait: 10000 });
		is(end.structuredContent.stdout, 'b\n');
		const asks = await bash('read -p "Name: " n; echo "Hello $n"',
			{ tty: true });
		const typed = await call('bash', { task_id: asks.task_id,
			input: 'Bob\n' });
		is(typed.structuredContent.stdout, 'Bob\nHello Bob\n');
	});

	await it('boris exits while a task is running', ({ bash }) =>
		bash(holds, { run_in_background: true }));
}
