// clients.mjs: the two SDK clients behind one face.
//
// Both give { client, transport, errors, version, list, ping, call, bash }:
// `call(tool, arguments, options)`, `bash(command, arguments, options)`,
// `errors` what the client complained of on the side. `ping` is left out
// where the revision has none.

import * as v1 from '@modelcontextprotocol/sdk/client/index.js';
import * as v2 from '@modelcontextprotocol/client';

export const modern = '2026-07-28';
export const legacy =
	['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

// v2's modes: their names, how it is told, what it then speaks (SPEC M13)
export const modes = [
	['auto', 'auto', modern],
	['pinned', { pin: modern }, modern],
	['legacy', 'legacy', '2025-11-25'],
];

// data(RESULT): what a call has to say
export const data = result => result.structuredContent;

const face = (client, transport, rest) => ({
	client,
	transport,
	bash: (command, more, options) =>
		rest.call('bash', { command, ...more }, options),
	...rest,
});

function complaints(client) {
	const errors = [];
	client.onerror = error => errors.push(error);
	return errors;
}

// first(TRANSPORT, VERSION): v1. On its own it asks for the last version that
// has a handshake; here it is made to ask for VERSION.
export async function first(transport, asked = legacy.at(-1)) {
	const client = new v1.Client({ name: 'v1', version: '1' });
	const errors = complaints(client);
	let spoken;
	const { send, setProtocolVersion } = transport;
	transport.send = (message, ...more) => {
		if (message.method === 'initialize')
			message.params.protocolVersion = asked;
		return send.call(transport, message, ...more);
	};
	transport.setProtocolVersion = version => {
		spoken = version;
		setProtocolVersion?.call(transport, version);
	};
	await client.connect(transport);
	return face(client, transport, {
		errors,
		version: () => spoken,
		list: () => client.listTools(),
		ping: () => client.ping(),
		call: (name, args, options) => client.callTool(
			{ name, arguments: args }, undefined, options),
	});
}

// second(TRANSPORT, MODE): v2
export async function second(transport, mode) {
	const client = new v2.Client({ name: 'v2', version: '1' },
		{ versionNegotiation: { mode } });
	const errors = complaints(client);
	await client.connect(transport);
	return face(client, transport, {
		errors,
		version: () => client.getNegotiatedProtocolVersion(),
		// It would keep the list for an hour otherwise
		list: () => client.listTools({}, { cacheMode: 'refresh' }),
		ping: mode === 'legacy' ? () => client.ping() : undefined,
		call: (name, args, options) =>
			client.callTool({ name, arguments: args }, options),
	});
}
