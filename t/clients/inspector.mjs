// inspector.mjs: the MCP Inspector's command line (SPEC M14.17), in each of
// the eras that it offers.

import cp from 'node:child_process';
import fs from 'node:fs';
import { boris, check, here, is, until } from './check.mjs';
import { data } from './clients.mjs';

const folder = `${here}/node_modules/@modelcontextprotocol/inspector`;
const { bin } = JSON.parse(fs.readFileSync(`${folder}/package.json`, 'utf8'));
const program = `${folder}/${bin['mcp-inspector']}`;

// inspect(ROOM, STATUS, ...ARGS): the result that it prints
async function inspect(room, status, ...args) {
	const set = Object.entries(room.env)
		.flatMap(([name, value]) => ['-e', `${name}=${value}`]);
	// It would keep a file in the user's home.
	const env = { ...process.env, HOME: room.dir };
	cp.spawn(process.execPath,
		[program, '--cli', boris, ...set, '--format', 'json', ...args],
		{ cwd: room.dir, env });
	const ran = room.children.at(-1);
	ran.child.stdin.end();
	await until('the inspector has ended', () => ran.exit, 15000);
	is(ran.exit.code, status, ran.stderr);
	return JSON.parse(ran.stdout).result;
}

const call = ['--method', 'tools/call', '--tool-name', 'bash', '--tool-arg'];

await check('inspector: lists, and has nothing to object', async room => {
	const { tools } =
		await inspect(room, 0, '--method', 'tools/list', '--strict');
	is(tools.map(tool => tool.name), ['bash', 'task_output']);
	is(room.children[0].stderr, '');
});

for (const era of ['legacy', 'auto', 'modern'])
	await check(`inspector ${era}: calls with a number`, async room => {
		const result = await inspect(room, 0, '--protocol-era', era,
			...call, 'timeout=200',
			'command=echo hi; read -r _ <gate');
		const { status, stdout } = data(result);
		is([status, stdout], ['timed_out', 'hi\n']);
		is('_meta' in result, era !== 'legacy');
	});

await check('inspector: calls with a boolean', async room => {
	const result = await inspect(room, 0, ...call,
		'command=read -r _ <gate', 'run_in_background=true');
	is(data(result).status, 'running');
});

await check('inspector: a tool error is one', async room => {
	const { isError } = await inspect(room, 5, ...call, 'cmd=ls');
	is(isError, true);
});
