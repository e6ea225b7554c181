// v2.mjs: the TypeScript SDK's second client, in each of its modes.

import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { check, is, like, ms, within } from './check.mjs';
import { modern, modes, second } from './clients.mjs';
import { closes, on_stdio, stubborn } from './stdio.mjs';
import { usual } from './usual.mjs';

const connect = (mode, Transport = StdioClientTransport) => async room =>
	on_stdio(room, await second(new Transport(room.stdio), mode));

for (const [word, mode, version] of modes) {
	await usual(`v2 ${word}`, connect(mode), { version });
	await closes(`v2 ${word}`, connect(mode));
}
await Promise.all(modes.map(([word, mode]) =>
	stubborn(`v2 ${word}`, connect(mode))));

// it(WHAT, BODY): with a client pinned to the modern revision
const it = (what, body) => check(`v2 pinned: ${what}`, async room => {
	const c = await connect({ pin: modern })(room);
	room.after(c.leave);
	return body(c);
});

const methods = child => child.sent().map(line => JSON.parse(line).method);
const listen = client => client.listen({ toolsListChanged: true });

await check('v2 auto: its probe is gone within 100 ms', async room => {
	const took = [];
	for (let i = 0; i < 5; i++) {
		const { client, leave } = await connect('auto')(room);
		const [probe, boris] = room.children.slice(-2);
		is(methods(probe), ['server/discover']);
		like(probe.stdin, /"id":"server-discover-probe-1"/);
		is(probe.signals.map(sent => sent.signal), ['SIGTERM']);
		is([probe.exit.code, probe.exit.signal], [0, null]);
		took.push(probe.exit.at - probe.signals[0].at);
		await client.listTools();
		await leave();
		is(methods(boris), ['tools/list']);
	}
	// On a busy machine one may have waited for its turn
	took.sort((a, b) => a - b);
	within('the probe took', took[2], 100);
	return took.map(ms).join(', ');
});

await check('v2 auto: probes a transport of one\'s own', async room => {
	class Own extends StdioClientTransport {}
	const { list, version, leave } = await connect('auto', Own)(room);
	room.after(leave);
	is(version(), modern);
	is((await list()).tools.length, 2);
	is(room.children.map(methods), [['server/discover', 'tools/list']]);
});

await it('server/discover says it again', async ({ client }) => {
	const found = await client.discover();
	is(found.supportedVersions, [modern]);
	is(found.capabilities, { tools: {} });
});

await it('listens, is granted nothing, and stops', async c => {
	const subscription = await listen(c.client);
	is(subscription.honoredFilter, {});
	await c.bash('true');
	await subscription.close();
	is(await subscription.closed, 'local');
});

await it('a subscription is ended when boris ends', async c => {
	const subscription = await listen(c.client);
	c.boris.child.stdin.end();
	is(await subscription.closed, 'graceful');
});

await it('the list is kept for as long as ttlMs says', async c => {
	const { tools } = await c.client.listTools();
	is((await c.client.listTools()).tools, tools);
	is(methods(c.boris).filter(name => name === 'tools/list').length, 1);
});
