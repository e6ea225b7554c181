// SPDX-License-Identifier: ISC
//
// check.mjs: functions for these tests. Each check has its own directory, with
// a FIFO `gate` on which commands can wait. It prints a line `ok NAME`, or `not
// ok NAME` and the error.

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

// waitFor(NAME, CONDITION): calls CONDITION every 5 ms until it returns a true
// value, and returns that value
export async function waitFor(name, condition, limit = 10000) {
	const end = performance.now() + limit * slow;
	for (;;) {
		const value = await condition();
		if (value)
			return value;
		assert(performance.now() < end, `timed out: ${name}`);
		await new Promise(resolve => setTimeout(resolve, 5));
	}
}

// within(NAME, TIME, LIMIT): fails if TIME exceeds LIMIT, in milliseconds
export function within(name, time, limit) {
	assert(time <= limit * slow, `${name}: ${time} ms exceed ${limit} ms`);
}

// remainingProcesses(MARK): returns the processes with the mark in their
// environment, or none if there is no /proc
function remainingProcesses(mark) {
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

class Workspace {
	#after = [];

	constructor() {
		this.dir = fs.realpathSync(fs.mkdtempSync(
			path.join(os.tmpdir(), 'boris-clients-')));
		fs.mkdirSync(`${this.dir}/tmp`);
		cp.execFileSync('mkfifo', [`${this.dir}/gate`]);
		// Open it for reading and writing, so that neither side blocks.
		this.gate = fs.openSync(`${this.dir}/gate`, 'r+');
		this.env = { TMPDIR: `${this.dir}/tmp`, TEST_MARK: this.dir };
	}

	// The parameters with which a client's stdio transport starts boris
	get stdio() {
		return { command: boris, cwd: this.dir, env: this.env };
	}

	// after(ACTION): runs the action after the check, the last one first
	after(action) {
		this.#after.unshift(action);
	}

	// release(): writes a line to the gate, so that one command continues
	release() {
		fs.writeSync(this.gate, '\n');
	}

	// read(FILE): returns the contents, or an empty string if it does not
	// exist
	read(file) {
		const name = `${this.dir}/${file}`;
		return fs.existsSync(name) ? fs.readFileSync(name, 'utf8') : '';
	}

	// remains(): returns the processes and files that boris has left
	remains() {
		return [...remainingProcesses(this.dir), ...fs.readdirSync(`${this.dir}/tmp`)];
	}

	// leave(): runs the actions, and waits until boris has left nothing
	// (L3)
	async leave() {
		while (this.#after.length)
			await this.#after.shift()();
		await waitFor('boris leaves no process or file', () => !this.remains().length);
	}

	clear() {
		for (const pid of remainingProcesses(this.dir))
			process.kill(pid, 'SIGKILL');
		fs.closeSync(this.gate);
		fs.rmSync(this.dir, { recursive: true, force: true });
	}
}

// Ignore calls that fail because their client closes.
process.on('unhandledRejection', () => {});

// check(NAME, BODY, [LIMIT]): runs BODY, for at most LIMIT milliseconds, and
// prints the result, with the figure that BODY returns
export async function check(name, body, limit = 20000) {
	if (!only.test(name))
		return;
	const workspace = new Workspace();
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(Error(`timed out after ${limit} ms`)),
			limit * slow);
	});
	const runBody = async () => {
		const figure = await body(workspace);
		await workspace.leave();
		return figure;
	};
	try {
		const figure = await Promise.race([late, runBody()]);
		console.log(`ok ${name}${figure ? ` # ${figure}` : ''}`);
	} catch (error) {
		process.exitCode = 2;
		console.log(`not ok ${name}\n${error.stack.replace(/^/gm, '# ')}`);
	} finally {
		clearTimeout(timer);
		workspace.clear();
	}
}
