// SPDX-License-Identifier: ISC
//
// schemas.mjs: every message that boris writes in a scripted exchange, in each
// revision, is checked with the SDK's schemas of MCP's types. If MCP_SCHEMAS is
// a folder with MCP's own REVISION.json, their JSON schema is checked, too.

import assert from 'node:assert/strict';
import cp from 'node:child_process';
import fs from 'node:fs';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { specTypeSchemas } from '@modelcontextprotocol/client';
import { boris, check, is } from './check.mjs';

const key = name => `io.modelcontextprotocol/${name}`;
const modern = '2026-07-28';
const meta = version => ({ [key('protocolVersion')]: version,
	[key('clientCapabilities')]: {}, [key('clientInfo')]:
	{ name: 'schemas', version: '1' } });
const bash = (command, args) => ['tools/call',
	{ name: 'bash', arguments: { command, ...args },
		_meta: { progressToken: 'p' } }, 'CallToolResult'];

// What is asked, and what the schema calls the result; a number: the error's
// code
const asked = [
	['tools/list', {}, 'ListToolsResult'],
	bash('echo hi; echo ho >&2; exit 3'),
	bash('printf "\\377\\0\\33[1m\\302\\200\\355\\240\\200"; kill -9 $$'),
	bash('cat', { stdin: '\u2028\u{1f600}\ud800"\\' }),
	bash('read -r _ <gate', { timeout: 200 }),
	bash('head -c 99999 /dev/zero | tr "\\0" "\\42"'),
	bash('echo on; read -r _ <gate', { run_in_background: true, until: 'on' }),
	bash('read x', { tty: true }),
	bash(1),
	['tools/call', { name: 'task_output', arguments: {} }, 'CallToolResult'],
	['tools/call', { name: 'nope' }, -32602],
	['tools/list', { cursor: 'x' }, -32602],
	['no/such', {}, -32601],
];
const opening = {
	legacy: [['ping', {}, 'EmptyResult']],
	modern: [['server/discover', {}, 'DiscoverResult'], ['ping', {}, -32601],
		['subscriptions/listen', { notifications: { toolsListChanged: true } },
			'SubscriptionsListenResult'],
		['tools/list', { _meta: meta('1900-01-01') }, -32022]],
};
const broken = ['{"jsonrpc":"2.0","id":4,"method"', '7', '{}', '[]',
	'{"jsonrpc":"1.0","id":"v","method":"ping"}'];

// validator(VERSION): a function that takes a value and names of its type, of
// which the first one that the schema has is checked
function validator(version) {
	const folder = process.env.MCP_SCHEMAS;
	const own = folder ? jsonSchema(`${folder}/${version}.json`) : () => {};
	return (value, ...names) => {
		const name = names.find(name => name in specTypeSchemas);
		assert(name, `the SDK has no ${names}`);
		const { issues } = specTypeSchemas[name]['~standard'].validate(value);
		assert(!issues, `no ${name}: ${JSON.stringify(value)}\n` +
			JSON.stringify(issues));
		own(value, ...names);
	};
}

function jsonSchema(file) {
	const schema = JSON.parse(fs.readFileSync(file, 'utf8'));
	const Dialect = /2020-12/.test(schema.$schema) ? Ajv2020 : Ajv;
	const ajv = formats(new Dialect({ strict: false }));
	const root = schema.$defs ? '$defs' : 'definitions';
	ajv.addSchema(schema, 'mcp');
	return (value, ...names) => {
		const name = names.find(name => name in schema[root]);
		assert(name, `the schema has no ${names}`);
		const valid = ajv.getSchema(`mcp#/${root}/${name}`);
		assert(valid(value), `no ${name}: ${JSON.stringify(value)}\n` +
			ajv.errorsText(valid.errors));
	};
}

// JSON-RPC's null for an id that could not be read is in no schema of MCP's.
function fits(fit, message, shape) {
	const { result, error, method } = message;
	const { id, ...rest } = message;
	if (id !== null)
		fit(message, 'JSONRPCMessage');
	if (method) {
		fit(message, 'ServerNotification');
	} else if (result) {
		fit(message, 'JSONRPCResultResponse', 'JSONRPCResponse');
		fit(result, shape);
		// The SDK takes a result without content for an empty one.
		assert(shape !== 'CallToolResult' || Array.isArray(result.content));
	} else {
		fit(id === null ? { ...rest, id: 0 } : message,
			'JSONRPCErrorResponse', 'JSONRPCError');
		assert(id !== null || [-32700, -32600].includes(error.code));
	}
}

async function against(version, room) {
	const fit = validator(version);
	const era = version === modern ? 'modern' : 'legacy';
	const all = [...opening[era], ...asked];
	const lines = all.map(([method, params, shape], id) => JSON.stringify({
		jsonrpc: '2.0', id, method, params: era === 'legacy' ? params :
			{ ...params, _meta: { ...meta(version), ...params._meta } } }));
	if (era === 'legacy')
		lines.unshift(JSON.stringify({ jsonrpc: '2.0', id: 'hello',
			method: 'initialize', params: { protocolVersion: version,
				capabilities: {}, clientInfo: { name: 's', version: '1' } } }));
	const ran = cp.spawnSync(boris, { cwd: room.dir,
		env: { ...process.env, ...room.env },
		input: [...lines, ...broken, ''].join('\n') });
	is([ran.status, String(ran.stderr)], [0, '']);
	const heard = String(ran.stdout).trimEnd().split('\n')
		.map(line => JSON.parse(line));
	let conforms;
	for (const message of heard) {
		const [, { name } = {}, shape] = all[message.id] ?? [];
		const { result, error } = message;
		fits(fit, message, shape ?? 'InitializeResult');
		if (typeof shape === 'number')
			is(error?.code, shape);
		for (const tool of result?.tools ?? [])
			for (const Dialect of [Ajv, Ajv2020]) {
				new Dialect().compile(tool.inputSchema);
				conforms = new Dialect().compile(tool.outputSchema);
			}
		if (name === 'task_output' && result?.structuredContent)
			assert(conforms(result.structuredContent));
	}
	const ids = heard.filter(one => !one.method && one.id !== null)
		.map(({ id }) => id);
	is(new Set(ids).size, ids.length);
	assert(ids.length >= lines.length);
	return `${heard.length} messages`;
}

for (const version of
	['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', modern])
	await check(`schema ${version}`, room => against(version, room));
