// SPDX-License-Identifier: ISC
//
// inspector.mjs: tests boris with the command line of the MCP Inspector, in
// each of its protocol eras.

import cp from 'node:child_process';
import fs from 'node:fs';
import { boris, check, here, is } from './check.mjs';

const directory = `${here}/node_modules/@modelcontextprotocol/inspector`;
const { bin } = JSON.parse(fs.readFileSync(`${directory}/package.json`, 'utf8'));
const program = `${directory}/${bin['mcp-inspector']}`;

// inspect(WORKSPACE, STATUS, ...ARGS): returns the result that the Inspector
// prints
function inspect(workspace, status, ...args) {
	const set = Object.entries(workspace.env)
		.flatMap(([name, value]) => ['-e', `${name}=${value}`]);
	const child = cp.spawnSync(process.execPath,
		[program, '--cli', boris, ...set, '--format', 'json', ...args],
		{ cwd: workspace.dir, env: { ...process.env, HOME: workspace.dir } });
	is(child.status, status, String(child.stderr));
	return JSON.parse(child.stdout).result;
}

const call = ['--method', 'tools/call', '--tool-name', 'bash', '--tool-arg'];

await check('inspector: --strict accepts the list of tools', async workspace => {
	const { tools } = inspect(workspace, 0, '--method', 'tools/list', '--strict');
	is(tools.map(tool => tool.name), ['bash', 'task_output']);
});

for (const era of ['legacy', 'auto', 'modern'])
	await check(`inspector ${era}: a call with a number works`, async workspace => {
		const { structuredContent, _meta } = inspect(workspace, 0,
			'--protocol-era', era, ...call, 'timeout=200',
			'command=echo hi; read -r _ <gate');
		is([structuredContent.status, structuredContent.stdout],
			['timed_out', 'hi\n']);
		is(_meta !== undefined, era !== 'legacy');
		is(inspect(workspace, 5, ...call, 'cmd=ls').isError, true);
	});
