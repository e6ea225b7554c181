// v1.mjs: the TypeScript SDK's first client on each version that has a
// handshake.

import { StdioClientTransport } from
	'@modelcontextprotocol/sdk/client/stdio.js';
import { check, is } from './check.mjs';
import { first, legacy } from './clients.mjs';
import { closes, on_stdio, stubborn } from './stdio.mjs';
import { usual } from './usual.mjs';

const connect = version => async room => on_stdio(room,
	await first(new StdioClientTransport(room.stdio), version));

for (const version of legacy) {
	await usual(`v1 ${version}`, connect(version), { version });
	await closes(`v1 ${version}`, connect(version));
}

// Two seconds each, spent waiting: side by side
await Promise.all(legacy.map(version =>
	stubborn(`v1 ${version}`, connect(version))));

await check('v1: asks for a version without handshake', async room => {
	const { version, leave } = await connect('2026-07-28')(room);
	room.after(leave);
	is(version(), '2025-11-25');
});
