// SPDX-License-Identifier: ISC
//
// compare.mjs: see t/compare. The same simple client calls each program over
// pipes. All processes have a mark in their environment, by which they are
// found, measured and killed at the end.

import cp from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Player } from './clients/players.mjs';

const self = fileURLToPath(import.meta.url);
const boris = path.resolve(process.env.BORIS ?? `${path.dirname(self)}/../boris`);
const home = process.env.COMPARE_HOME ?? fs.mkdtempSync(`${os.tmpdir()}/compare.`);
const packages = path.resolve(process.env.PACKAGES ?? `${home}/packages`);
const shell = fs.existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh';
const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, SHELL: shell,
	LANG: 'C.UTF-8', COMPARE: home, MCP_SHELL_ENHANCED_MODE: 'false' };
const flood = "yes 'a line of the length that a build may print, a log has' |" +
	' head -c 1073741824';
// A program that asks like getpass(3), on the terminal or, without one, on
// stdin
const ask = `sh ${home}/ask`;
fs.writeFileSync(`${home}/ask`, `(: </dev/tty) 2>/dev/null && exec </dev/tty >/dev/tty
stty -echo 2>/dev/null; printf 'Password: '; read -r word && echo "got $word"\n`);

let screen = ''; // output on the terminal of the measured program
const sleep = ms => new Promise(done => setTimeout(done, ms));
const within = (ms, promise) => Promise.race([promise, sleep(ms).then(() => {
	throw Error(`no response within ${ms / 1000} s`); })]);
const tenth = list => list.sort((a, b) => a - b)[Math.floor(list.length / 10)];
function sh(line) { // returns its milliseconds
	const start = performance.now();
	cp.spawnSync(shell, ['-c', line], { env });
	return performance.now() - start;
}

// -- processes with the mark, their commands and their memory ----------------

function read(file) {
	try { return fs.readFileSync(file, 'latin1'); } catch { return ''; }
}
const all = () => fs.readdirSync('/proc').filter(pid => /^\d+$/.test(pid) &&
	read(`/proc/${pid}/environ`).includes(`COMPARE=${home}\0`)).map(Number);
const runs = pid => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
const weigh = pids => pids.map(pid => // MiB; shared pages count in part
	+(/^Pss: +(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024)
	.reduce((a, b) => a + b, 0);
const shells = /^(\S*\/)?(ba|da)?sh /;
function kill(...pids) {
	for (const pid of pids)
		try { process.kill(pid, 'SIGKILL'); } catch { /* It has exited. */ }
}

// spawn(WORDS, TTY): starts a program with pipes. If TTY is set, it also has a
// controlling terminal, as if a user had started the client on one, and the
// output on the terminal is kept.
function spawn(words, tty, more) {
	const line = words.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
	const [program, ...args] = !tty ? words : ['script', '-qfec',
		`exec ${line} <&3 >&4 2>/dev/null 3<&- 4>&-`, '/dev/null'];
	const child = cp.spawn(program, args, { cwd: home, env: { ...env, ...more },
		detached: !tty, stdio: ['pipe', 'pipe', 'ignore', ...tty ? ['pipe', 'pipe'] : []] });
	if (tty) {
		child.stdout.on('data', data => screen += data);
		[child.stdin, child.stdout] = child.stdio.slice(3);
	}
	for (const one of [child, child.stdin, child.stdout])
		one.on('error', () => {});
	return child;
}

// -- programs: an MCP server, Claude Code, ssh. Each function makes the calls in
// STEPS, whose functions return [TOOL, ARGUMENTS]. After each call, it passes
// the text and the time in milliseconds to LATER.

async function mcp(row, words, tty, steps, later) {
	const waiting = [], child = spawn(words, tty);
	const send = message =>
		child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
	const request = (method, params) => new Promise(done =>
		send({ id: waiting.push(done) - 1, method, params }));
	createInterface({ input: child.stdout }).on('line', line => {
		const message = line.startsWith('{') ? JSON.parse(line) : {};
		waiting[message.id]?.(message);
	});
	await request('initialize', { capabilities: {}, protocolVersion: '2025-06-18',
		clientInfo: { name: 'compare', version: '1' } });
	send({ method: 'notifications/initialized' });
	await (row.first && request(...row.first));
	for (const step of steps) {
		const [name, args] = step(), start = performance.now();
		const { result, error } = await request('tools/call', { name, arguments: args });
		later(error?.message ?? result.content.map(({ text }) => text).join('\n'),
			performance.now() - start);
	}
}

async function claude(row, words, tty, steps, later) {
	const report = n =>
		player.results[n] && later(player.results[n].text, player.took(n));
	const player = new Player([...steps.map((step, n) => () => {
		report(n - 1);
		return [step()];
	}), () => [report(steps.length - 1)].slice(1)]);
	await player.listen();
	const child = spawn([...words, '-p', 'hi'], tty, { ANTHROPIC_BASE_URL: player.url,
		ANTHROPIC_API_KEY: 'x', IS_SANDBOX: '1',
		CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' });
	child.stdin.end();
	await new Promise(done => child.on('close', done));
}

// Each command has its own connection. ssh starts the server itself, without a
// port.
async function ssh(row, words, tty, steps, later) {
	if (!process.getuid() && !fs.existsSync('/run/sshd')) { // sshd requires it
		fs.mkdirSync('/run/sshd');
		process.on('exit', () => fs.rmdirSync('/run/sshd'));
	}
	if (!fs.existsSync(`${home}/key`))
		cp.execFileSync('ssh-keygen', ['-qN', '', '-f', `${home}/key`]);
	fs.writeFileSync(`${home}/sshd`, `HostKey ${home}/key\nStrictModes no\n` +
		`AuthorizedKeysFile ${home}/key.pub\nUsePAM no\nAcceptEnv *\n`);
	fs.writeFileSync(`${home}/ssh`, `IdentityFile ${home}/key\nBatchMode yes\n` +
		`StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n` +
		`SetEnv COMPARE=${home}\nProxyCommand ${row.needs} -i -f ${home}/sshd\n`);
	for (const step of steps) {
		const [, { command }] = step(), start = performance.now();
		const child = spawn(['ssh', '-F', `${home}/ssh`, 'host', command], tty);
		let text = '', chars = 0;
		child.stdin.end();
		for await (const part of child.stdout)
			[text, chars] = [text || String(part), chars + part.length];
		later(text, performance.now() - start, chars);
	}
}

// Tools and arguments for a call, a background task and a terminal
const limit = { timeout: 100000 }, later = { run_in_background: true };
const free = ['--permission-mode', 'bypassPermissions'];
const config = JSON.stringify({ mcpServers: { boris: { command: boris } } });
const number = ({ output }) => /\d[\w.]*/.exec(output.join(''))[0];
const rows = {
	boris: { by: mcp, version: () => number(cp.spawnSync(boris, ['--version'])),
		call: ['bash', limit], background: ['bash', later],
		terminal: ['bash', { tty: true }] },
	'Claude Code': { by: claude, npm: '@anthropic-ai/claude-code', args: free,
		call: ['Bash', limit], background: ['Bash', later],
		note: `the complete agent is measured; its own shell asks the user, has a sandbox,
  and saves all of a long output in a file (boris saves the first 64 MiB)` },
	'boris in Claude Code': { by: claude, npm: '@anthropic-ai/claude-code',
		args: [...free, '--strict-mcp-config', '--mcp-config', config],
		call: ['mcp__boris__bash', limit], background: ['mcp__boris__bash', later],
		terminal: ['mcp__boris__bash', { tty: true }] },
	'Desktop Commander': { by: mcp, npm: '@wonderwhy-er/desktop-commander',
		call: ['start_process', { timeout_ms: 100000 }],
		background: ['start_process', { timeout_ms: 500 }],
		note: `without the browser that it downloads; it also has tools for files, searches,
  spreadsheets and documents, and a list of forbidden commands` },
	'mcp-server-commands': { by: mcp, npm: 'mcp-server-commands',
		call: ['run_command'], note: 'its limit is 1 MiB of output' },
	'mako': { by: mcp, npm: '@mako10k/mcp-shell-server',
		call: ['shell_execute', { execution_mode: 'foreground', timeout_seconds: 100 }],
		background: ['shell_execute', { execution_mode: 'background' }],
		terminal: ['terminal_operate'],
		note: 'without its check of each command by a model' },
	'codex-shell-tool-mcp': { by: mcp, npm: '@openai/codex-shell-tool-mcp',
		first: ['codex/sandbox-state/update', { sandboxCwd: home,
			sandboxPolicy: { type: 'danger-full-access' } }],
		call: ['shell', { workdir: home, login: false, timeout_ms: 100000 }],
		note: `without its sandbox; it can ask the user about each program that a
  command starts` },
	'ssh host bash': { by: ssh, call: [], needs: '/usr/sbin/sshd',
		version: () => number(cp.spawnSync('ssh', ['-V'])),
		note: `each call opens a connection (ControlMaster would keep one open); all output
  is returned, so the client has to truncate it` },
};

// -- measurements -----------------------------------------------------------

// install(NAME): installs a package and returns its directory, program and
// version. The browser that one of the packages would download is skipped.
function install(name) {
	const dir = `${packages}/${name.replaceAll('/', '+')}`;
	const file = `${dir}/node_modules/${name}/package.json`;
	fs.mkdirSync(dir, { recursive: true });
	if (!fs.existsSync(file)) {
		fs.writeFileSync(`${dir}/package.json`, '{}');
		cp.spawnSync('npm', ['install', '--no-audit', '--no-fund', name], { cwd: dir,
			timeout: 110000, env: { ...process.env, PUPPETEER_SKIP_DOWNLOAD: '1' } });
	}
	if (!fs.existsSync(file))
		throw Error('npm cannot install it');
	const { version, bin } = JSON.parse(read(file));
	return { dir, version, bin: `${dir}/node_modules/.bin/${Object.keys(bin)[0]}` };
}

// play(ROW, TTY, STEPS, LATER): makes the calls; a step returns [COMMAND, TOOL]
const play = (row, tty, steps, later = () => {}) => row.by(row,
	[row.npm ? install(row.npm).bin : boris, ...row.args ?? []], tty,
	steps.map(step => () => {
		const [command, [name, more] = row.call] = step();
		return [name, { command, ...more }];
	}), later);

// Returns where the program asks for a password.
async function password(row, how) {
	let text;
	screen = '';
	await within(30000, new Promise(asked => play(row, true,
		[() => asked() || [ask, how]], output => text = output)));
	for (let i = 0; i < 80 && text === undefined; i++)
		await sleep(100);
	const waits = all().some(pid => /^sh .*\/ask $/.test(runs(pid)));
	kill(...all());
	return screen.includes('Password:') ? "asks on the user's terminal"
		: text === undefined ? 'hangs' : /boris --secret=\w+/.test(text)
			? 'asks model or person' : waits ? 'asks the model' : 'fails at once';
}

// left(ROW, NAME, VICTIM): starts two commands, one of them in the background,
// and kills the client, or else the program. Returns how many of the commands,
// and how many other processes, are still running 8 s later.
async function left(row, name, victim) {
	const client = cp.fork(self, ['--client', name], { stdio: 'ignore',
		env: { ...process.env, COMPARE_HOME: home, PACKAGES: packages } });
	const asleep = () => all().filter(pid => /^sleep 400/.test(runs(pid)));
	for (let i = 0; i < 150 && asleep().length < 2; i++)
		await sleep(100);
	const of = asleep().length < 2 ? ` of ${asleep().length}` : '';
	const child = all().filter(pid =>
		RegExp(`\\) \\w ${client.pid} `).test(read(`/proc/${pid}/stat`)));
	kill(...victim === 'client' && row.by !== claude ? [client.pid] : child);
	await sleep(8000);
	const sleeps = asleep().length;
	const others = all().filter(pid => !/^sleep /.test(runs(pid)) &&
		!shells.test(runs(pid)));
	kill(client.pid, ...all());
	return sleeps + (others.length ? `+${others.length}` : '') + of;
}

async function measure(row, name) {
	if (row.needs && !fs.existsSync(row.needs))
		throw Error(`${row.needs} does not exist`);
	const { dir, version } = row.npm ? install(row.npm)
		: { dir: boris, version: row.version() };
	const size = parseInt(cp.execFileSync('du', ['-sk', dir])) / 1024;
	let rest, cat, start, timer, chars = '-', peak = 0;
	const took = [], yard = [], loop = `for i in ${'i '.repeat(20)}; do`;
	const calls = Array.from({ length: 60 }, (_, i) => () => {
		if (i % 6 === 0) // without the shell of the loop
			yard.push((sh(`exec sh -c '${loop} ${shell} -c true; done'`) -
				sh('exec sh -c :')) / 20);
		return ['true'];
	});
	await within(60000, play(row, false, [() => ['true'], () => {
		cp.spawnSync('sleep', ['3']);
		rest = weigh(all());
		return ['true'];
	}, ...calls, () => {
		cat = sh(`${flood} | cat >/dev/null`);
		start = performance.now();
		timer = setInterval(() => peak = Math.max(peak, weigh(all().filter(pid =>
			!/^(yes|head) /.test(runs(pid)) && !shells.test(runs(pid))))), 100);
		return [flood];
	}], (text, ms, length = text.length) => took.push(ms) > calls.length + 2 &&
		(chars = length))).catch(() => {});
	clearInterval(timer);
	kill(...all());
	const ended = took[calls.length + 2], flooded = ended ?? performance.now() - start;
	cat = (cat + sh(`${flood} | cat >/dev/null`)) / 2;
	const mib = n => n.toFixed(n < 10 ? 2 : 0);
	return [`${name} ${version}`, row.by === ssh ? '-' : mib(size), mib(rest),
		(tenth(took.slice(2, calls.length + 2)) / tenth(yard)).toFixed(1),
		!start ? '-' : flooded < cat / 5 ? 'fails' : (ended ? '' : '>') + (flooded / cat).toFixed(1),
		peak ? mib(peak) : '-', chars, await left(row, name, 'client'),
		await left(row, name, 'self'), await password(row, row.call) +
		(row.terminal ? `; ${await password(row, row.terminal)}` : '')];
}

if (process.argv[2] === '--client') {
	const row = rows[process.argv[3]], hidden = 'sleep 4001 >/dev/null 2>&1 & sleep 1';
	await play(row, false, [() => row.background ? ['sleep 4001', row.background]
		: [hidden], () => ['sleep 4002']]);
	process.exit();
}
process.on('exit', () => {
	kill(...all());
	fs.rmSync(home, { recursive: true, force: true });
});
// Calls to killed programs never return; ignore them.
process.on('unhandledRejection', () => {});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
	process.on(signal, () => process.exit(1));
const wanted = process.argv.slice(2);
const names = Object.keys(rows).filter(name =>
	!wanted.length || wanted.some(start => name.startsWith(start)));
console.log(`${new Date().toISOString().slice(0, 10)}, ${os.type()} ${os.release()}, ` +
	`${os.arch()}, Node.js ${process.version}
MiB     size of the installation; Node.js (${
	(fs.statSync(process.execPath).size / 1048576).toFixed(0)} MiB) is not included
rest    memory (PSS) of all processes in MiB, 3 s after a call
call    time of a call of true, divided by that of fork, exec and wait of the same
        shell; for Claude Code, including its other work for a call (make bench
        is exact)
1 GiB   time for 1 GiB of output, divided by that of cat >/dev/null; peak: largest
        memory meanwhile in MiB; chars: number of characters in the result
client  number of two commands (+ number of other processes) that are running 8 s
        after the client was killed; one of them is a background task;
        self: after the program itself was killed
prompt  where a program asks for a password; after the semicolon: with the
        terminal of the tool
`);
const table = [['', 'MiB', 'rest', 'call', '1 GiB', 'peak', 'chars', 'client', 'self',
	'prompt']];
for (const name of names) {
	try {
		if (rows[name].npm)
			install(rows[name].npm);
		table.push(await within(120000, measure(rows[name], name)));
	} catch (error) {
		console.log(`skipped ${name}: ${error.message}\n`);
	}
	kill(...all());
}
const wide = table[0].map((_, i) => Math.max(...table.map(row => `${row[i]}`.length)));
for (const row of table)
	console.log(row.map((cell, i) => i && i < 9 ? `${cell}`.padStart(wide[i])
		: `${cell}`.padEnd(wide[i])).join('  ').trimEnd());
console.log(['', ...names.filter(name => rows[name].note)
	.map(name => `${name}: ${rows[name].note}`)].join('\n'));
process.exit();
