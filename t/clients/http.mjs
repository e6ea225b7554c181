// http.mjs: both SDK clients over Streamable HTTP (SPEC H), one server a
// check.

import assert from 'node:assert/strict';
import cp from 'node:child_process';
import * as v1 from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as v2 from '@modelcontextprotocol/client';
import { boris, check, gone, is, isnt, like, ms, now, skip, until, within } from
	'./check.mjs';
import { data, first, legacy, modern, modes, second } from './clients.mjs';
import { usual } from './usual.mjs';

// serve(ROOM, ...ARGS): the URL of a server, which ends with the check
async function serve(room, ...args) {
	const boris = room.start('--transport=http', '--port=0', ...args);
	const said = /^boris: listening on (http:\S+)\n/;
	const look = () => said.exec(boris.stderr);
	const [, url] = await until('boris listens', look);
	room.after(async () => {
		const began = now();
		boris.child.kill('SIGTERM');
		await until('boris has ended', () => boris.exit);
		is([boris.exit.code, boris.exit.signal], [0, null]);
		within('the end', boris.exit.at - began, 2000);
		is(boris.stdout, '');
		is(boris.stderr.replace(said, ''), '');
	});
	return new URL(url);
}

// on_http(ROOM, CLIENT): the client, that ends its session when it leaves,
// or else hangs up
function on_http(room, c) {
	let left = false;
	const hang_up = () => {
		left = true;
		return c.client.close();
	};
	const leave = async () => {
		if (left)
			return;
		is(c.errors, []);
		if (c.transport.sessionId)
			await c.transport.terminateSession();
		await hang_up();
	};
	room.after(leave);
	return { ...c, leave, hang_up };
}

const connect_1 = async (room, url, version, options) =>
	on_http(room, await first(
		new v1.StreamableHTTPClientTransport(url, options), version));
const connect_2 = async (room, url, mode, options) =>
	on_http(room, await second(
		new v2.StreamableHTTPClientTransport(url, options), mode));

// The two that have a session, and what they are called
const sessions = [
	['v1', (room, url) => connect_1(room, url)],
	['v2', (room, url) => connect_2(room, url, 'legacy')],
];

const pinned = { pin: modern };
const in_background = { run_in_background: true };
const holds = 'echo $$ >pid; read -r _ <gate';

async function each_alone() {
	// 2024-11-05 had another transport.
	for (const version of legacy.slice(1))
		await usual(`http v1 ${version}`, async room =>
			connect_1(room, await serve(room), version),
		{ version });
	for (const [word, mode, version] of modes)
		await usual(`http v2 ${word}`, async room =>
			connect_2(room, await serve(room), mode),
		{ version, carried: version !== modern });

	for (const [word, connect] of sessions) {
		await check(`http ${word}: DELETE ends all`, async room => {
			const c = await connect(room, await serve(room));
			await c.bash(holds, in_background);
			const pid = Number(await room.written('pid'));
			const began = now();
			await c.leave();
			await until('the task has ended', () => gone(pid));
			return ms(now() - began);
		});

		await check(`http ${word}: may hang up`, async room => {
			const c = await connect(room, await serve(room));
			c.bash(`${holds}; echo done >end`);
			const pid = Number(await room.written('pid'));
			await c.hang_up();
			assert(!gone(pid));
			room.release();
			is(await room.written('end'), 'done');
		});
	}

	await check('http v2 pinned: to hang up ends a command', async room => {
		const c = await connect_2(room, await serve(room), pinned);
		c.bash(holds);
		const pid = Number(await room.written('pid'));
		await c.hang_up();
		await until('the command has ended', () => gone(pid));
	});

	await check('http v2 pinned: listens, and stops', async room => {
		const c = await connect_2(room, await serve(room), pinned);
		const subscription =
			await c.client.listen({ toolsListChanged: true });
		is(subscription.honoredFilter, {});
		await c.list();
		await subscription.close();
		is(await subscription.closed, 'local');
	});
}

async function two_at_a_time() {
	// two(NAME, CONNECT, CONNECT, BODY): BODY gets a client of each
	const two = (name, one, other, body) => check(name, async room => {
		const url = await serve(room);
		return body(await one(room, url), await other(room, url), room);
	});
	const modern_one = (room, url) => connect_2(room, url, 'auto');
	const [[, v1_one], [, v2_one]] = sessions;

	await two('http: two sessions are served at once', v1_one, v2_one,
		async (a, b, room) => {
			isnt(a.transport.sessionId, b.transport.sessionId);
			const held = a.bash('read -r _ <gate; cd /; echo a');
			await b.bash('cd tmp');
			room.release();
			is(data(await held).stdout, 'a\n');
			is(data(await a.bash('pwd')).stdout, '/\n');
			const { stdout } = data(await b.bash('pwd'));
			is(stdout, `${room.dir}/tmp\n`);
		});

	await two('http: a session knows no other\'s tasks', v1_one, v2_one,
		async (a, b) => {
			const { task_id, pid } = data(
				await a.bash('read -r _ <gate', in_background));
			const look = await b.call('task_output', { task_id });
			like(look.content[0].text, /^task not found/);
			const kill = await b.call('bash', { kill_pid: pid });
			like(kill.content[0].text, /^no background process/);
			is([look.isError, kill.isError], [true, true]);
			assert(!gone(pid));
		});

	await two('http: modern calls run side by side', modern_one, modern_one,
		async (a, b, room) => {
			const command = 'echo on >>on; read -r _ <gate; cd /';
			const calls = [a, b, a].map(c => c.bash(command));
			await until('all run', () =>
				room.read('on') === 'on\n'.repeat(3));
			calls.forEach(() => room.release());
			for (const result of await Promise.all(calls))
				is(data(result).exit_code, 0);
			is(data(await b.bash('pwd')).stdout, `${room.dir}\n`);
		});

	await two('http: a modern task is for all', modern_one, modern_one,
		async (a, b) => {
			const { task_id } =
				data(await a.bash('echo done', in_background));
			const seen = await b.call('task_output',
				{ task_id, wait: 9999 });
			is(data(seen).stdout, 'done\n');
		});

	await two('http: v1 and v2, one of each era', v1_one, modern_one,
		async (a, b, room) => {
			is([a.version(), b.version()], [legacy.at(-1), modern]);
			const held = a.bash('read -r _ <gate; echo a');
			is(data(await b.bash('echo b')).stdout, 'b\n');
			room.release();
			is(data(await held).stdout, 'a\n');
		});
}

async function with_a_token() {
	const clients = [
		['v1', (room, url, options) =>
			connect_1(room, url, legacy.at(-1), options)],
		['v2', (room, url, options) =>
			connect_2(room, url, 'auto', options)],
	];
	const headers = { Authorization: 'Bearer secret' };

	for (const [word, connect] of clients)
		await check(`http ${word}: with a token`, async room => {
			const url = await serve(room, '--token=secret');
			await assert.rejects(connect(room, url));
			const c = await connect(room, url,
				{ requestInit: { headers } });
			is(data(await c.bash('echo on')).stdout, 'on\n');
		});
}

const help = cp.spawnSync(boris, ['--help'], { encoding: 'utf8' }).stdout;
if (/--transport\b/.test(help)) {
	await each_alone();
	await two_at_a_time();
	await with_a_token();
} else
	skip('http', 'this boris has no --transport');
