// SPDX-License-Identifier: ISC
//
// check.mjs: the words that these tests are written in. Each check has a
// directory of its own and a FIFO `gate` in it that holds commands back, and
// prints one line, `ok NAME` or `not ok NAME`; what goes wrong follows.

import assert from 'node:assert/strict';
import cp from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = path.dirname(fileURLToPath(import.meta.url));
export const boris = path.resolve(process.env.BORIS ?? `${here}/../../boris`);
const slow = Number(process.env.BORIS_SLOW ?? 1);
const only = new RegExp(process.env.ONLY ?? '');
for (const name of Object.keys(process.env))
	if (name.startsWith('BORIS_'))
		delete process.env[name];

export const is = assert.deepEqual;
export const like = assert.match;

// until(WHAT, LOOK): what LOOK returns once that is true, looked at every 5 ms
export async function until(what, look, limit = 10000) {
	const end = performance.now() + limit * slow;
	for (;;) {
		const seen = await look();
		if (seen)
			return seen;
		assert(performance.now() < end, `never came true: ${what}`);
		await new Promise(resolve => setTimeout(resolve, 5));
	}
}

// within(WHAT, TIME, LIMIT): it took no longer than that
export function within(what, time, limit) {
	assert(time <= limit * slow, `${what}: ${time} ms, not ${limit}`);
}

// The processes that boris left behind; none are seen where there is no /proc
function left(mark) {
	const read = (pid, file) => {
		try {
			return fs.readFileSync(`/proc/${pid}/${file}`, 'latin1');
		} catch {
			return '';
		}
	};
	if (!fs.existsSync('/proc/self/environ'))
		return [];
	return fs.readdirSync('/proc').map(Number).filter(pid => pid &&
		read(pid, 'environ').split('\0').includes(`TEST_MARK=${mark}`) &&
		/\) [^ZX]/.test(read(pid, 'stat')));
}

class Room {
	#after = [];

	constructor() {
		this.dir = fs.realpathSync(fs.mkdtempSync(
			path.join(os.tmpdir(), 'boris-clients-')));
		fs.mkdirSync(`${this.dir}/tmp`);
		cp.execFileSync('mkfifo', [`${this.dir}/gate`]);
		// Open for both, so that neither side waits for the other
		this.gate = fs.openSync(`${this.dir}/gate`, 'r+');
		this.env = { TMPDIR: `${this.dir}/tmp`, TEST_MARK: this.dir };
	}

	// How a client's stdio transport is told to start boris here
	get stdio() {
		return { command: boris, cwd: this.dir, env: this.env };
	}

	// after(DO): done when the check has ended, the last one first
	after(what) {
		this.#after.unshift(what);
	}

	// release(): lets one command that `read`s the gate go on
	release() {
		fs.writeSync(this.gate, '\n');
	}

	// read(FILE): what is in it; nothing where there is none
	read(file) {
		const name = `${this.dir}/${file}`;
		return fs.existsSync(name) ? fs.readFileSync(name, 'utf8') : '';
	}

	// remains(): the processes and the files that are left of boris
	remains() {
		return [...left(this.dir), ...fs.readdirSync(`${this.dir}/tmp`)];
	}

	// leave(): all that is to follow; then nothing of boris is left (L3)
	async leave() {
		while (this.#after.length)
			await this.#after.shift()();
		await until('all of boris has gone', () => !this.remains().length);
	}

	clear() {
		for (const pid of left(this.dir))
			process.kill(pid, 'SIGKILL');
		fs.closeSync(this.gate);
		fs.rmSync(this.dir, { recursive: true, force: true });
	}
}

// A call that is under way when its client closes fails: no news to anyone.
process.on('unhandledRejection', () => {});

// check(NAME, BODY, [LIMIT]): one line, within LIMIT milliseconds; what BODY
// returns is a figure to go with it
export async function check(name, body, limit = 20000) {
	if (!only.test(name))
		return;
	const room = new Room();
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(Error(`not done after ${limit} ms`)),
			limit * slow);
	});
	const whole = async () => {
		const figure = await body(room);
		await room.leave();
		return figure;
	};
	try {
		const figure = await Promise.race([late, whole()]);
		console.log(`ok ${name}${figure ? ` # ${figure}` : ''}`);
	} catch (error) {
		process.exitCode = 2;
		console.log(`not ok ${name}\n${error.stack.replace(/^/gm, '# ')}`);
	} finally {
		clearTimeout(timer);
		room.clear();
	}
}
