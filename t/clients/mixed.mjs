// mixed.mjs: both eras on one process. Each message gets its own era's
// answer, whatever came before it (SPEC M3).

import assert from 'node:assert/strict';
import { check, gone, is, like } from './check.mjs';
import { data, modern } from './clients.mjs';
import { Wire, key, meta } from './wire.mjs';

const bash = (command, more) =>
	({ name: 'bash', arguments: { command, ...more } });
const as_modern = (params, version) => ({ ...params, _meta: meta(version) });

// era(ANSWER): the era whose result that is
function era({ result }) {
	const added = ['resultType', 'ttlMs', 'cacheScope', '_meta'];
	if (!added.some(name => name in result))
		return 'legacy';
	is(result.resultType, 'complete');
	is(result._meta[key('serverInfo')].name, 'boris');
	return 'modern';
}

// refused(ANSWER, CODE, PATTERN): an error, its message like that
function refused(answer, code, pattern = /./) {
	is(answer.error?.code, code, JSON.stringify(answer));
	like(answer.error.message, pattern);
}

await check('mixed: no handshake, then one', async room => {
	const w = new Wire(room);
	const lacks = /io\.modelcontextprotocol\/protocolVersion/;
	const _meta = { progressToken: 1 };
	refused(await w.ask(1, 'tools/list'), -32602, lacks);
	refused(await w.ask(2, 'server/discover'), -32602, lacks);
	refused(await w.ask(3, 'tools/list', { _meta }), -32602, lacks);
	is((await w.ask(4, 'ping')).result, {});
	refused(await w.ask(5, 'ping', as_modern()), -32601);
	is(era(await w.ask(6, 'tools/list', as_modern())), 'modern');
	refused(await w.ask(7, 'tools/list'), -32602, lacks);
	w.send([{ jsonrpc: '2.0', id: 8, method: 'ping' }]);
	refused(await w.answer(null), -32600);

	await w.hello('2025-11-25');
	is(era(await w.ask(9, 'tools/list')), 'legacy');
	is(era(await w.ask(10, 'tools/list', as_modern())), 'modern');
	refused(await w.ask(11, 'server/discover'), -32602, lacks);
});

await check('mixed: no version in common, so a handshake', async room => {
	const w = new Wire(room);
	const asked = as_modern({}, '2099-01-01');
	const answer = await w.ask(1, 'server/discover', asked);
	refused(answer, -32022);
	is(answer.error.data,
		{ supported: [modern], requested: '2099-01-01' });
	await w.hello('2025-06-18');
	is(era(await w.ask(2, 'tools/list')), 'legacy');
});

await check('mixed: both eras and cancelled calls in a queue', async room => {
	const w = new Wire(room);
	await w.hello('2025-03-26');

	// 1 runs; the next four wait behind it
	const holds = bash('echo $$ >pid; echo on; read -r _ <gate');
	w.post(1, 'tools/call', { ...holds, _meta: { progressToken: 1 } });
	w.post('2', 'tools/call', as_modern(bash('echo two')));
	w.post(3, 'tools/call', as_modern(bash('echo >three')));
	w.post('4', 'tools/call', bash('echo >four'));
	w.post(5, 'tools/call', bash('echo five'));
	const pid = Number(await room.written('pid'));

	// Meanwhile, each in its own words
	is((await w.ask(6, 'ping')).result, {});
	refused(await w.ask(7, 'ping', as_modern()), -32601);
	is(era(await w.ask(8, 'tools/list')), 'legacy');
	is(era(await w.ask(9, 'tools/list', as_modern())), 'modern');
	refused(await w.ask(10, 'initialize', as_modern()), -32601);
	const old = as_modern({}, '2025-03-26');
	refused(await w.ask(11, 'tools/list', old), -32022);
	refused(await w.ask(12, 'tools/call', { name: 'nope' }), -32602);
	const params = as_modern();
	w.send([
		{ jsonrpc: '2.0', id: 13, method: 'ping' },
		{ jsonrpc: '2.0', id: 14, method: 'tools/list', params },
	]);
	is((await w.answer(13)).result, {});
	refused(await w.answer(14), -32600);

	// One cancels the other's: ids are one space, and 2 is not "2"
	const cancel = 'notifications/cancelled';
	w.tell(cancel, { requestId: 2 });
	w.tell(cancel, { requestId: 3 });
	w.tell(cancel, as_modern({ requestId: '4' }));
	w.tell(cancel, as_modern({ requestId: 1 }));

	const two = await w.answer('2');
	is([era(two), data(two.result).stdout], ['modern', 'two\n']);
	const five = await w.answer(5);
	is([era(five), data(five.result).stdout], ['legacy', 'five\n']);
	assert(gone(pid));
	await w.leave();

	const answered = ['hello', '2', 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
	for (const id of answered)
		is(w.answers(id).length, 1);
	const all = w.single().filter(message => 'id' in message);
	is(all.length, answered.length);
	is([room.read('three'), room.read('four')], ['', '']);
});

await check('mixed: a task and the directory belong to both', async room => {
	const w = new Wire(room);
	await w.hello('2025-11-25');
	const start = bash('read -r _ <gate; echo done',
		{ run_in_background: true });
	const begun = await w.ask(1, 'tools/call', as_modern(start));
	const { task_id } = data(begun.result);
	const look = wait =>
		({ name: 'task_output', arguments: { task_id, wait } });
	const running = await w.ask(2, 'tools/call', look(0));
	is([era(running), data(running.result).status], ['legacy', 'running']);
	room.release();
	const done = await w.ask(3, 'tools/call', as_modern(look(9999)));
	is([era(done), data(done.result).stdout], ['modern', 'done\n']);

	await w.ask(4, 'tools/call', bash('cd /'));
	const pwd = await w.ask(5, 'tools/call', as_modern(bash('pwd')));
	is(data(pwd.result).stdout, '/\n');
});
