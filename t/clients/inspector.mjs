// SPDX-License-Identifier: ISC
//
// inspector.mjs: the MCP Inspector's command line, in each of its eras.

import cp from 'node:child_process';
import fs from 'node:fs';
import { boris, check, here, is } from './check.mjs';

const folder = `${here}/node_modules/@modelcontextprotocol/inspector`;
const { bin } = JSON.parse(fs.readFileSync(`${folder}/package.json`, 'utf8'));
const program = `${folder}/${bin['mcp-inspector']}`;

// inspect(ROOM, STATUS, ...ARGS): the result that it prints
function inspect(room, status, ...args) {
	const set = Object.entries(room.env)
		.flatMap(([name, value]) => ['-e', `${name}=${value}`]);
	const ran = cp.spawnSync(process.execPath,
		[program, '--cli', boris, ...set, '--format', 'json', ...args],
		{ cwd: room.dir, env: { ...process.env, HOME: room.dir } });
	is(ran.status, status, String(ran.stderr));
	return JSON.parse(ran.stdout).result;
}

const call = ['--method', 'tools/call', '--tool-name', 'bash', '--tool-arg'];

await check('inspector: lists, and has nothing to object', async room => {
	const { tools } = inspect(room, 0, '--method', 'tools/list', '--strict');
	is(tools.map(tool => tool.name), ['bash', 'task_output']);
});

for (const era of ['legacy', 'auto', 'modern'])
	await check(`inspector ${era}: calls, with a number`, async room => {
		const { structuredContent, _meta } = inspect(room, 0,
			'--protocol-era', era, ...call, 'timeout=200',
			'command=echo hi; read -r _ <gate');
		is([structuredContent.status, structuredContent.stdout],
			['timed_out', 'hi\n']);
		is(_meta !== undefined, era !== 'legacy');
		is(inspect(room, 5, ...call, 'cmd=ls').isError, true);
	});
