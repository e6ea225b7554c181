// stdio.mjs: a client's process, and how it is seen leaving.

import assert from 'node:assert/strict';
import { check, gone, is, like, ms, now, until, within } from './check.mjs';

// leaves(CHILD, CLOSE): boris ends by itself when its stdin does (P9), before
// a client would send SIGTERM; what it wrote was messages (C3). Milliseconds.
export async function leaves(child, close) {
	const began = now();
	await close();
	await until('boris has ended', () => child.exit);
	const took = child.exit.at - began;
	is(child.signals, []);
	is([child.exit.code, child.exit.signal], [0, null]);
	within('close', took, 2000);
	is(child.stderr, '');
	like(child.stdout, /^$|\n$/);
	child.lines().forEach(line => JSON.parse(line));
	return took;
}

// on_stdio(ROOM, CLIENT): the client, that leaves so
export function on_stdio(room, c) {
	const boris = room.children.at(-1);
	let took;
	const leave = async () => {
		is(c.errors, []);
		return took ??= await leaves(boris, () => c.client.close());
	};
	return { ...c, boris, leave };
}

// closes(NAME, CONNECT): idle, and with a task in the background
export async function closes(name, connect) {
	await check(`${name}: closes, and boris leaves`, async room => {
		const { leave } = await connect(room);
		return ms(await leave());
	});

	await check(`${name}: closes while a task runs`, async room => {
		const { bash, leave } = await connect(room);
		await bash('echo $$ >pid; read -r _ <gate',
			{ run_in_background: true });
		const pid = Number(await room.written('pid'));
		const took = await leave();
		assert(gone(pid));
		return ms(took);
	});
}

// stubborn(NAME, CONNECT): a command that ignores SIGTERM holds a close up
// until the client sends SIGTERM at 2 s; SIGKILL at 4 s must find nobody
// (SPEC M14.1, L1)
export const stubborn = (name, connect) =>
	check(`${name}: closes though commands ignore SIGTERM`, async room => {
		const { client, bash, boris } = await connect(room);
		await bash(`trap '' TERM
			echo $$ >task
			while :; do read -r _ <gate; done`,
		{ run_in_background: true });
		bash(`trap '' TERM
			sh -c 'echo $$ >child; exec sleep 1000' &
			echo $$ >leader
			while :; do wait; done`);
		const pids = [];
		for (const file of ['leader', 'child', 'task'])
			pids.push(Number(await room.written(file)));
		const began = now();
		await client.close();
		await until('boris has ended', () => boris.exit);
		const { code, signal, at } = boris.exit;
		// Its second process ends them when their five seconds are over.
		await until('all have ended', () => !room.remains().length);
		is(boris.signals.map(sent => sent.signal), ['SIGTERM']);
		is([code, signal], [0, null]);
		within('close', at - began, 4000);
		const after = ms(at - boris.signals[0].at);
		return `${ms(at - began)}, ${after} after SIGTERM`;
	});
