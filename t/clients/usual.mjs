// usual.mjs: what every client does with boris, whatever its version and
// its transport.
//
//	usual(NAME, CONNECT, { version, carried })
//
// CONNECT(ROOM) gives a client as clients.mjs has it, with `leave()`, which
// closes it and proves that boris took that well. `carried` is false where no
// directory is kept from call to call (H6).

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { check, gone, is, like, ms, now, until } from './check.mjs';
import { data } from './clients.mjs';

const holds = 'echo $$ >pid; read -r _ <gate';

// refused(RESULT, PATTERN): a tool error, and nothing that v1 would validate
function refused(result, pattern) {
	is(result.isError, true);
	is(data(result), undefined);
	like(result.content[0].text, pattern);
}

export async function usual(name, connect, { version, carried = true }) {
	// Each check has its own client, which knows the tools' schemas: only
	// then does it validate (SPEC M14.5).
	const it = (what, body) => check(`${name}: ${what}`, async room => {
		const client = await connect(room);
		room.after(client.leave);
		const { tools } = await client.list();
		return body({ ...client, room, tools });
	});

	await it(`connects and speaks ${version}`, ({ client, ...c }) => {
		is(c.version(), version);
		is(client.getServerVersion().name, 'boris');
		is(client.getServerCapabilities(), { tools: {} });
	});

	await it('lists two tools', ({ tools }) => {
		is(tools.map(tool => tool.name), ['bash', 'task_output']);
		for (const { inputSchema, outputSchema } of tools)
			is([inputSchema.type, outputSchema.type],
				['object', 'object']);
	});

	await it('a call with progress', async ({ room, bash }) => {
		const heard = [];
		const onprogress = progress => {
			heard.push(progress);
			if (heard.length === 1)
				room.release();
		};
		const command = 'echo a; read -r _ <gate; echo b >&2; exit 3';
		const result = await bash(command, {}, { onprogress });
		is(heard[0].message, 'a\n');
		for (let i = 1; i < heard.length; i++)
			assert(heard[i].progress > heard[i - 1].progress);

		is(result.isError ?? false, false);
		const { status, stdout, stderr, exit_code } = data(result);
		is([status, exit_code], ['completed', 3]);
		is([stdout, stderr], ['a\n', 'b\n']);
		like(result.content[0].text, /^exit_code: 3\n/);
	});

	// The client would complain of an unknown token (SPEC M14.9).
	await it('no progress is stuck to a result', async ({ bash }) => {
		for (let i = 0; i < 20; i++) {
			const options = { onprogress() {} };
			const result = await bash(`echo ${i}`, {}, options);
			is(data(result).stdout, `${i}\n`);
		}
	});

	await it('bad arguments are a tool error', async ({ call }) => {
		const wrong = await call('bash', { cmd: 'ls' });
		refused(wrong, /unknown argument "cmd"/);
		refused(await call('bash', {}), /command/);
		const none = await call('task_output', { task_id: 'none' });
		refused(none, /^task not found: none/);
	});

	await it('an unknown tool is -32602', async ({ call }) => {
		await assert.rejects(call('nope', {}), { code: -32602 });
	});

	await it('output too long is cut, and validates', async ({ bash }) => {
		const quotes = 'head -c 99999 /dev/zero | tr "\\0" "\\42"';
		const result = data(await bash(`${quotes}; ${quotes} >&2`));
		is(result.stdout_chars, 99999);
		assert(fs.existsSync(result.stderr_file));
	});

	// The client would complain of an answer (SPEC M14.10).
	await it('a call is cancelled', async ({ room, bash }) => {
		const abort = new AbortController();
		const { signal } = abort;
		const rejected = assert.rejects(
			bash(holds, {}, { signal, onprogress() {} }));
		const pid = Number(await room.written('pid'));
		const began = now();
		abort.abort();
		await rejected;
		await until('the command has ended', () => gone(pid));
		const took = now() - began;
		is(data(await bash('echo on')).stdout, 'on\n');
		return ms(took);
	});

	await it('a call that the client gives up is ended', async c => {
		const rejected = assert.rejects(
			c.bash(holds, {}, { timeout: 300 }));
		const pid = Number(await c.room.written('pid'));
		await rejected;
		await until('the command has ended', () => gone(pid));
	});

	await it('a background task', async ({ room, bash, call }) => {
		const { status, task_id } = data(await bash(
			'echo a; read -r _ <gate; echo b',
			{ run_in_background: true }));
		is(status, 'running');
		const look = wait => call('task_output', { task_id, wait });
		await until('its output is there', async () => {
			const { status, stdout } = data(await look());
			is(status, 'running');
			return stdout === 'a\n';
		});
		room.release();
		const end = data(await look(10000));
		is([end.status, end.exit_code], ['completed', 0]);
		is(end.stdout, 'a\nb\n');
		refused(await look(), /^task not found/);
	});

	await it('a program on a terminal is answered', async c => {
		const started = data(await c.bash(
			'read -p "Name: " n; echo "Hello $n"', { tty: true }));
		is([started.status, started.stdout], ['running', 'Name: ']);
		like(started.note, /waits for input/);
		const { task_id } = started;
		const end = data(await c.call('bash', { task_id, input: 'Bob\n' }));
		is([end.status, end.exit_code], ['completed', 0]);
		is(end.stdout, 'Bob\nHello Bob\n');
	});

	await it('others are answered while a call runs', async c => {
		fs.mkdirSync(`${c.room.dir}/sub`);
		const held = c.bash('cd sub; echo >../on; read -r _ <../gate');
		await c.room.written('on');
		const next = c.bash('pwd');
		await c.ping?.();
		await c.list();
		const other = await c.call('bash', { check_pid: 1 });
		refused(other, /^no background process with pid 1/);
		c.room.release();
		is(data(await held).exit_code, 0);
		const sub = carried ? '/sub' : '';
		is(data(await next).stdout, `${c.room.dir}${sub}\n`);
	});
}
