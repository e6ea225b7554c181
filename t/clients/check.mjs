// check.mjs: the words that these tests are written in.
//
// Each check has a directory of its own, a FIFO `gate` in it that holds
// commands back, and a server that is told to leave, and watched leaving, at
// the end. It prints one line, `ok NAME` or `not ok NAME`; what goes wrong
// follows behind `#`. Environment:
//
//	BORIS       the binary, else ../../boris
//	BORIS_SLOW  how many times slower than usual all may be, else 1
//	ONLY        a pattern: no checks but those whose names match it

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

// is(ACTUAL, EXPECTED), isnt(ACTUAL, UNWANTED): the same all through or not;
// like(TEXT, PATTERN)
export const is = assert.deepEqual;
export const isnt = assert.notDeepEqual;
export const like = assert.match;

export const now = () => performance.now();
export const ms = time => `${time.toFixed(time < 10 ? 1 : 0)} ms`;

// until(WHAT, LOOK): what LOOK returns once that is true, looked at every 5 ms
export async function until(what, look, limit = 10000) {
	const end = now() + limit * slow;
	for (;;) {
		const seen = await look();
		if (seen)
			return seen;
		assert(now() < end, `never came true: ${what}`);
		await new Promise(resolve => setTimeout(resolve, 5));
	}
}

// within(WHAT, TIME, LIMIT): it took no longer than that
export function within(what, time, limit) {
	assert(time <= limit * slow, `${what}: ${ms(time)}, not ${limit}`);
}

// gone(PID): that process has ended (a zombie has)
export function gone(pid) {
	try {
		process.kill(pid, 0);
		const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
		return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
	} catch (error) {
		// No such process, or it went between the two; else no /proc
		return error.code === 'ESRCH' || fs.existsSync('/proc/self');
	}
}

function marked(pid, mark) {
	try {
		const env = fs.readFileSync(`/proc/${pid}/environ`, 'latin1');
		return env.split('\0').includes(`TEST_MARK=${mark}`);
	} catch {
		return false;
	}
}

// The processes that boris left behind; none are seen where there is no /proc
function left(mark) {
	if (!fs.existsSync('/proc/self/environ'))
		return [];
	const pids = fs.readdirSync('/proc').map(Number);
	return pids.filter(pid => pid && marked(pid, mark) && !gone(pid));
}

// A child of this process: what went in and came out, what it was sent, when
// and how it ended
class Child {
	stdin = '';
	signals = [];
	exit = null;
	#heard = { stdout: [], stderr: [] };

	constructor(child, { cwd }) {
		this.child = child;
		this.pid = child.pid;
		this.cwd = cwd;
		for (const [name, chunks] of Object.entries(this.#heard))
			child[name]?.on('data', chunk => chunks.push(chunk));
		child.on('exit', (code, signal) => {
			this.exit = { code, signal, at: now() };
		});
		const { kill, stdin } = child;
		child.kill = signal => {
			this.signals.push({ signal, at: now() });
			return kill.call(child, signal);
		};
		const { write } = stdin;
		stdin.write = (chunk, ...more) => {
			this.stdin += chunk;
			return write.call(stdin, chunk, ...more);
		};
		stdin.on('error', () => {}); // it went first
	}

	get stdout() {
		return String(Buffer.concat(this.#heard.stdout));
	}

	get stderr() {
		return String(Buffer.concat(this.#heard.stderr));
	}

	// sent(), lines(): the lines that went in, and that came out
	sent() {
		return this.stdin.split('\n').slice(0, -1);
	}

	lines() {
		return this.stdout.split('\n').slice(0, -1);
	}
}

// Clients start boris on their own, so this is where it can be watched.
const children = [];
const { spawn } = cp;
cp.spawn = (command, args, options) => {
	const child = spawn(command, args, options);
	children.push(new Child(child, options));
	return child;
};

// The directory of one check
class Room {
	#after = [];
	#gate;

	constructor() {
		const name = path.join(os.tmpdir(), 'boris-clients-');
		this.dir = fs.realpathSync(fs.mkdtempSync(name));
		fs.mkdirSync(`${this.dir}/tmp`);
		cp.execFileSync('mkfifo', [`${this.dir}/gate`]);
		// Open for both, so that neither side waits for the other
		this.#gate = fs.openSync(`${this.dir}/gate`, 'r+');
		this.env = { TMPDIR: `${this.dir}/tmp`, TEST_MARK: this.dir };
	}

	// How a client's stdio transport is told to start boris here
	get stdio() {
		const { dir: cwd, env } = this;
		return { command: boris, cwd, env, stderr: 'pipe' };
	}

	// What has been started here, in that order
	get children() {
		return children.filter(child => child.cwd === this.dir);
	}

	// start(...ARGS): boris, without a client
	start(...args) {
		const env = { ...process.env, ...this.env };
		cp.spawn(boris, args, { cwd: this.dir, env });
		return this.children.at(-1);
	}

	// after(DO): done when the check has ended, the last one first
	after(what) {
		this.#after.unshift(what);
	}

	// release(): lets one command that `read`s the gate go on
	release() {
		fs.writeSync(this.#gate, '\n');
	}

	// read(FILE): what is in it; nothing where there is none
	read(file) {
		const name = `${this.dir}/${file}`;
		return fs.existsSync(name) ? fs.readFileSync(name, 'utf8') : '';
	}

	// written(FILE): the line that a command writes there, once it has
	async written(file) {
		const whole = () => this.read(file).endsWith('\n');
		await until(`${file} is written`, whole);
		return this.read(file).trimEnd();
	}

	// leave(): all that is to follow; then nothing of boris is left (L3)
	async leave() {
		while (this.#after.length)
			await this.#after.shift()();
		for (const { pid, exit } of this.children)
			assert(exit, `process ${pid} is still there`);
		is(this.remains(), []);
	}

	// remains(): the processes and the files that are left of boris
	remains() {
		return [...left(this.dir), ...fs.readdirSync(`${this.dir}/tmp`)];
	}

	// kill(): what a check that failed has left
	kill() {
		for (const { exit, child } of this.children)
			if (!exit)
				child.kill('SIGKILL');
		for (const pid of left(this.dir))
			try {
				process.kill(pid, 'SIGKILL');
			} catch {
				// gone since
			}
	}

	clear() {
		fs.closeSync(this.#gate);
		fs.rmSync(this.dir, { recursive: true, force: true });
	}
}

const say = text => console.log(text.trimEnd().replace(/^/gm, '# '));

// A call that is under way when its client closes fails: no news to anyone
// who does not wait for it.
process.on('unhandledRejection', () => {});

// check(NAME, BODY, [LIMIT]): one line, within LIMIT milliseconds; what BODY
// returns is a figure to go with it. With a server that answers nothing each
// takes its full time, so after five failures there are no more.
let failed = 0;
export async function check(name, body, limit = 20000) {
	if (failed >= 5 || !only.test(name))
		return;
	const room = new Room();
	let timer;
	const late = new Promise((_, reject) => {
		const error = new Error(`not done after ${limit} ms`);
		timer = setTimeout(() => reject(error), limit * slow);
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
		console.log(`not ok ${name}`);
		say(error.stack);
		for (const { stderr } of room.children)
			if (stderr)
				say(`stderr: ${stderr}`);
		room.kill();
		if (++failed === 5)
			say('five have failed, the rest of them is left out');
	} finally {
		clearTimeout(timer);
		room.clear();
	}
}

// skip(NAME, WHY): said, and counted apart
export function skip(name, why) {
	console.log(`ok ${name} # skip ${why}`);
}
