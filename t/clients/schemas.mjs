// SPDX-License-Identifier: ISC
//
// schemas.mjs: checks every message that boris writes in a scripted exchange,
// in each revision, with the SDK's schemas of MCP's types. If MCP_SCHEMAS is a
// directory with a JSON schema REVISION.json of each revision, checks the
// messages with these schemas, too.

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

// The requests, each with the name of the result in the schema, or the code of
// the expected error
const requests = [
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

// validator(VERSION): returns a function of a value and several names of its
// type, which checks the value with the first type that exists in the schema
function validator(version) {
	const directory = process.env.MCP_SCHEMAS;
	const validateJson = directory ? jsonSchema(`${directory}/${version}.json`) : () => {};
	return (value, ...names) => {
		const name = names.find(name => name in specTypeSchemas);
		assert(name, `unknown types in the SDK: ${names}`);
		const { issues } = specTypeSchemas[name]['~standard'].validate(value);
		assert(!issues, `not a ${name}: ${JSON.stringify(value)}\n` +
			JSON.stringify(issues));
		validateJson(value, ...names);
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
		assert(name, `unknown types in the schema: ${names}`);
		const valid = ajv.getSchema(`mcp#/${root}/${name}`);
		assert(valid(value), `not a ${name}: ${JSON.stringify(value)}\n` +
			ajv.errorsText(valid.errors));
	};
}

// The schemas of MCP do not have JSON-RPC's null for an id that cannot be read.
function checkMessage(validate, message, shape) {
	const { result, error, method } = message;
	const { id, ...rest } = message;
	if (id !== null)
		validate(message, 'JSONRPCMessage');
	if (method) {
		validate(message, 'ServerNotification');
	} else if (result) {
		validate(message, 'JSONRPCResultResponse', 'JSONRPCResponse');
		validate(result, shape);
		// The SDK accepts a result without content.
		assert(shape !== 'CallToolResult' || Array.isArray(result.content));
	} else {
		validate(id === null ? { ...rest, id: 0 } : message,
			'JSONRPCErrorResponse', 'JSONRPCError');
		assert(id !== null || [-32700, -32600].includes(error.code));
	}
}

async function checkRevision(version, workspace) {
	const validate = validator(version);
	const era = version === modern ? 'modern' : 'legacy';
	const all = [...opening[era], ...requests];
	const lines = all.map(([method, params, shape], id) => JSON.stringify({
		jsonrpc: '2.0', id, method, params: era === 'legacy' ? params :
			{ ...params, _meta: { ...meta(version), ...params._meta } } }));
	if (era === 'legacy')
		lines.unshift(JSON.stringify({ jsonrpc: '2.0', id: 'hello',
			method: 'initialize', params: { protocolVersion: version,
				capabilities: {}, clientInfo: { name: 's', version: '1' } } }));
	const child = cp.spawnSync(boris, { cwd: workspace.dir,
		env: { ...process.env, ...workspace.env },
		input: [...lines, ...broken, ''].join('\n') });
	is([child.status, String(child.stderr)], [0, '']);
	const messages = String(child.stdout).trimEnd().split('\n')
		.map(line => JSON.parse(line));
	let conforms;
	for (const message of messages) {
		const [, { name } = {}, shape] = all[message.id] ?? [];
		const { result, error } = message;
		checkMessage(validate, message, shape ?? 'InitializeResult');
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
	const ids = messages.filter(one => !one.method && one.id !== null)
		.map(({ id }) => id);
	is(new Set(ids).size, ids.length);
	assert(ids.length >= lines.length);
	return `${messages.length} messages`;
}

for (const version of
	['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', modern])
	await check(`schema ${version}`, workspace => checkRevision(version, workspace));
