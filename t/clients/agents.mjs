// agents.mjs: boris in the hands of the agents that README sets it up in. Each
// has a home of its own and no account: its model is a Player, which makes it
// call boris's tools as a script says, and keeps what a model would read.
// Checked are the set-up lines of README, what boris.1 says of each agent's own
// shell, and all that SPEC says of clients (K): that what boris says comes
// through whole, that no call is given up on, that what runs at the end of a
// session has its time. The last of them wait as long as the agents do, all at
// once: ten minutes.

import cp from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { boris, check as quick, here, is, like, skip, until, within }
	from './check.mjs';
import { Player } from './players.mjs';

const bin = `${here}/agents/node_modules/.bin`;
const readme = fs.readFileSync(`${here}/../../README`, 'utf8');
const manual = fs.readFileSync(`${here}/../../boris.1`, 'utf8');
const run = promisify(cp.execFile);

// They take their time to start.
const check = (name, body, limit = 180000) => quick(name, body, limit);

// How Codex is asked, as MODEL
const codex = model => url => `codex exec --skip-git-repo-check -m ${model}
	--dangerously-bypass-approvals-and-sandbox
	-c model_provider=here -c model_providers.here.name=here
	-c model_providers.here.base_url=${url}/v1
	-c model_providers.here.wire_api=responses
	--disable enable_request_compression hi`;

// A row each: what it wrote down of README's line; how it is asked, without a
// terminal, and what that needs; what `bash` and its own shell are called there
// and how that is switched off; what a model reads around a result; what it adds
// to a call; whether calls made at once come in their order, whether it begins
// boris anew when that is gone, whether `mcp list` says nothing of a connection;
// and after how many seconds boris has handed a call back.
const agents = {
	claude: {
		wrote: ({ json }) => Object.values(
			json('home/.claude.json').projects)[0].mcpServers.boris,
		ask: () => 'claude --permission-mode bypassPermissions -p hi',
		env: url => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'x',
			CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
			IS_SANDBOX: '1' }),
		tool: 'mcp__boris__bash',
		shell: 'Bash',
		off: 'claude --disallowedTools Bash',
		around: /^(.*)$/s,
		ordered: true,
		again: true,
		held: 118,
	},
	codex: {
		wrote: ({ text }) => ({ command: text('home/.codex/config.toml')
			.match(/^\[mcp_servers\.boris\]\ncommand = "(.*)"$/m)[1],
		args: [] }),
		ask: codex('gpt-5.4'),
		tool: 'mcp__boris.bash',
		shell: 'exec_command',
		first: 'codex features disable shell_tool',
		mute: true,
		ordered: true,
		held: 298,
	},
	copilot: {
		wrote: ({ json }) =>
			json('home/.copilot/mcp-config.json').mcpServers.boris,
		ask: () => 'copilot --allow-all-tools -p hi',
		env: url => ({ COPILOT_OFFLINE: 'true', COPILOT_MODEL: 'gpt-4',
			COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '1000000',
			COPILOT_PROVIDER_BASE_URL: `${url}/v1` }),
		tool: 'boris-bash',
		shell: 'bash',
		off: 'copilot --excluded-tools bash',
		mute: true,
		around: /^(.*)$/s,
	},
	gemini: {
		wrote: ({ json }) =>
			json('work/.gemini/settings.json').mcpServers.boris,
		ask: () => 'gemini -y -p hi',
		env: url => ({ GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: url,
			GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
		files: () => ({ 'home/.gemini/settings.json':
			'{"security":{"auth":{"selectedType":"gemini-api-key"}}}' }),
		tool: 'mcp_boris_bash',
		shell: 'run_shell_command',
		file: 'home/.gemini/policies/boris.toml',
		off: '[[rule]]\ntoolName = "run_shell_command"\n' +
			'decision = "deny"\npriority = 999\n',
		around: /^<untrusted_context>\n(.*)\n<\/untrusted_context>$/s,
		adds: { wait_for_previous: true },
		ordered: true,
		held: 598,
	},
	opencode: {
		wrote: ({ json }) => {
			const { type, command: [command, ...args] } =
				json('home/.config/opencode/opencode.jsonc').mcp.boris;
			is(type, 'local');
			return { command, args };
		},
		ask: () => 'opencode run hi',
		files: url => ({ 'work/opencode.json': JSON.stringify({
			provider: { here: { npm: '@ai-sdk/openai-compatible',
				options: { baseURL: `${url}/v1` }, models: { m: {} } } },
			model: 'here/m', small_model: 'here/m' }) }),
		tool: 'boris_bash',
		shell: 'bash',
		file: 'work/opencode.jsonc',
		off: '{"permission":{"bash":"deny"}}',
		around: /^(.*)$/s,
		ordered: true,
	},
};

// Codex lets more of a result through to a model that it knows. To one without
// its code mode it shows boris's tools after a search alone, and in that mode
// they are functions of a script.
const known = { ...agents.codex, ask: codex('gpt-5.5'),
	around: /^Wall time: [\d.]+ seconds\nOutput:\n?(.*)$/s,
	call: (name, args) => [{ namespace: 'mcp__boris', name }, args] };
const code = { ...agents.codex, ask: codex('gpt-6-sol'),
	around: /^Script completed\nWall time [\d.]+ seconds\nOutput:\n(.*)$/s,
	call: (name, args) => [{ name: 'exec', custom: true },
		`const result = await tools.mcp__boris__${name}(` +
		`${JSON.stringify(args)});\ntext(result.content[0].text);`] };
const players = { ...agents, codex: known };
const readers = { ...players, 'codex, code mode': code };

// A home and a project of its own, boris in PATH, and a model that plays SCRIPT
class Home {
	constructor(room, agent, player) {
		Object.assign(this, { room, agent, player, dir: room.dir });
		for (const name of ['home', 'work', 'bin'])
			fs.mkdirSync(`${room.dir}/${name}`);
		// The mark is boris's own: not every agent hands its environment on.
		this.write('bin/boris', `#!/bin/sh\nexport TEST_MARK='${room.dir}'\n` +
			`export TMPDIR='${room.dir}/tmp'\nexec '${boris}' "$@"\n`);
		fs.chmodSync(`${room.dir}/bin/boris`, 0o755);
		this.env = { HOME: `${room.dir}/home`, TMPDIR: `${room.dir}/home`,
			LANG: 'C.UTF-8', ...agent.env?.(player.url),
			PATH: `${room.dir}/bin:${bin}:${process.env.PATH}` };
		const files = agent.files?.(player.url) ?? {};
		for (const [name, text] of Object.entries(files))
			this.write(name, text);
		this.text = name => room.read(name);
		this.json = name => JSON.parse(room.read(name));
	}

	write(name, text) {
		fs.mkdirSync(path.dirname(`${this.dir}/${name}`), { recursive: true });
		fs.writeFileSync(`${this.dir}/${name}`, text);
	}

	// sh(LINE): what it says; whatever its exit status is
	async sh(line, timeout = 900000) {
		const said = run('sh', ['-c', line.replace(/\s*\n\s*/g, ' ')],
			{ cwd: `${this.dir}/work`, env: this.env, timeout });
		said.child.stdin.end();
		const { stdout, stderr } = await said.catch(error => error);
		return stdout + stderr;
	}

	// ask(): the agent asks its model, and does what that says
	async ask(line = this.agent.ask(this.player.url)) {
		const said = await this.sh(line);
		if (this.player.failed)
			throw this.player.failed;
		if (!this.player.offered.length)
			throw Error(`no model was asked: ${said}`);
		return said;
	}

	// offers(LINE, TOOLS): which of those a model is offered by it. Some
	// agents do not wait for boris before they first ask.
	async offers(line, tools) {
		const names = () => this.player.offered.map(tool =>
			(tool.namespace ? `${tool.namespace}.` : '') + tool.name);
		for (let tries = 0; tries < 3 && !names().includes(tools[0]); tries++)
			await this.ask(line);
		return tools.filter(tool => names().includes(tool));
	}

	// read(N): what boris said in answer to the Nth call, as a model reads it
	read(n) {
		const text = this.player.read(n) ?? 'nothing came back';
		like(text, this.agent.around);
		return text.match(this.agent.around)[1];
	}
}

// at_home(ROOM, NAME, AGENT, [SCRIPT]): a home where README's line has been
// typed. A step of the script is a list of [TOOL, ARGUMENTS] or a function of
// the home that returns one.
async function at_home(room, name, agent, script = []) {
	const call = agent.call ?? ((tool, args) => [tool, args]);
	const steps = script.map(step => () =>
		(typeof step === 'function' ? step(home) : step)
			.map(([tool, args]) => call(tool, { ...args, ...agent.adds })));
	const player = await new Player(steps).listen();
	room.after(() => player.close());
	room.after(() => until('all of boris has gone',
		() => room.remains().length === 0));
	const home = new Home(room, agent, player);
	const [program] = name.split(',');
	[home.line] = readme.match(new RegExp(`\\b${program} mcp add .*`));
	home.said = await home.sh(home.line);
	return home;
}

const bash = args => [['bash', typeof args === 'string'
	? { command: args } : args]];
const task = text => text.match(/task_id: (\w+)/)[1];

// Something to print: lines of 50 characters, as text and as a command
const rows = (count, last = '') => ({ last,
	text: Array.from({ length: count }, (_, n) => `row ${String(n + 1)
		.padStart(6, 0)} 3456789 123456789 123456789 123456789\n`).join(''),
	command: `seq -f 'row %06.0f 3456789 123456789 123456789 123456789' ` +
		`${count}` });
const short = { text: Array.from({ length: 5000 }, (_, n) => `${n + 1}\n`)
	.join(''), command: 'seq 5000' };
const wide = { text: 'größer\n'.repeat(6000),
	command: 'yes größer | head -n 6000' };
const reason = { text: 'error: the reason\n',
	command: "echo 'error: the reason'" };
const many = rows(2000);

// What a model has to read whole, however much was printed: the arguments of
// each call, and what it prints to stdout and stderr
const reads = {
	'12,000 characters': [rows(240)],
	'35,000 characters': [rows(700)],
	'100,000 characters': [many],
	'100,000 characters on stderr': [null, many],
	'two long streams': [many, rows(1500)],
	'a long one and a short one': [rows(300), rows(900)],
	'5,000 short lines': [short],
	'wide characters': [wide],
	'tail': [many, null, { truncate: 'tail' }],
	'tail of short lines': [short, null, { truncate: 'tail' }],
	'tail of two': [many, many, { truncate: 'tail' }],
	'both': [many, null, { truncate: 'both' }],
	'both of two': [many, many, { truncate: 'both' }],
	'limit': [many, null, { limit: 3000 }],
	'a build that fails': [many, reason],
	'a terminal': [many, null, { tty: true }],
	'a task until its end': [many, null,
		{ run_in_background: true, wait: 20000 }],
	'a task that runs': [many, null, { run_in_background: true,
		until: 'row 002000' }, '; sleep 1000'],
};

function call_of([out, err, args, more = '']) {
	const command = [out?.command, err && `${err.command} >&2`]
		.filter(Boolean).join('; ');
	return bash({ command: command + more, ...args });
}

// The sections of a result's text, and the files that it names
const section = (text, name) => text.split(/\n(?=std(?:out|err):\n)/)
	.find(part => part.startsWith(`${name}:\n`))?.slice(name.length + 2);
const files = text => [...text.matchAll(/full output.*?: (\/.*?)\]/g)]
	.map(([, name]) => name);

// true_to(SHOWN, PRINTED): the section of a result shows this stream: whole, or
// its start, its end, or both, and says truly how much of it. A cut in the
// middle of a line adds a newline. What names a file is in its line.
function true_to(shown, printed, tail) {
	const near = (length, number) =>
		is([number, number + 1].includes(length), true,
			`${number} said, ${length} seen`);
	const cut = shown.match(/^(.*?)\[std\w+[^\n]*full output.*?\]\n?(.*)$/s);
	if (!cut) {
		is(shown.length, printed.length, `${shown.slice(0, 200)}...`);
		is(shown === printed, true);
		return;
	}
	const [line] = shown.match(/\[std\w+.*full output.*?\]/);
	const [, before, after] = cut;
	const number = pattern => Number(line.match(pattern)?.[1]);
	const total = number(/(\d+) characters in total/);
	if (total)
		is(total, printed.length, line);
	if (/first \d+ and last \d+ shown/.test(line)) {
		near(before.length, number(/first (\d+)/));
		near(after.length, number(/last (\d+)/));
	} else if (/left out here/.test(line)) {
		near(before.length + after.length, total - number(/(\d+) left out/));
	} else {
		is(before.split('\n').length - 1, number(/last (\d+) of/), line);
		is(printed.split('\n').length - 1, number(/of (\d+) lines/), line);
	}
	const whole = before.replace(/\n$/, '');
	is(tail ? printed.trimEnd().endsWith(whole) : printed.startsWith(whole),
		true, `what stands before ${line}`);
	is(printed.endsWith(after), true, `what stands behind ${line}`);
	is(tail || after.length > 0, true, `${line} stands at the end`);
}

for (const [name, agent] of Object.entries(agents)) {
	await check(`${name}: README's line is written down as meant`,
		async room => {
			const home = await at_home(room, name, agent);
			const { command, args, timeout } = agent.wrote(home);
			is([command, args, timeout], ['boris', [], undefined], home.said);
			return (await home.sh(`${name} --version`))
				.match(/\d+\.\d+\.\d+/)[0];
		});

	await check(`${name}: boris's tools are offered to the model`,
		async room => {
			const home = await at_home(room, name, agent);
			const tools = [agent.tool, agent.shell];
			is(await home.offers(undefined, tools), tools);
		});

	await check(`${name}: its own shell is off as boris.1 says`,
		async room => {
			const home = await at_home(room, name, agent);
			const { first, file, off } = agent;
			for (const word of (first ?? off).trim().split('\n'))
				is(manual.includes(word), true, word);
			if (first)
				await home.sh(first);
			if (file)
				home.write(file, off);
			const ask = agent.ask(home.player.url);
			is(await home.offers(first || file ? ask : ask.replace(name, off),
				[agent.tool, agent.shell]), [agent.tool]);
		});

	if (!agent.mute)
		await check(`${name}: mcp list has spoken with boris`, async room => {
			const home = await at_home(room, name, agent);
			like(await home.sh(`${name} mcp list`), /boris.*connected/is);
		});
}

for (const [name, agent] of Object.entries(readers)) {
	const seen = {}; // what was read of each call, and the sizes of its files

	await check(`${name}: the model reads text, and where it is (B6, K4)`,
		async room => {
			const home = await at_home(room, name, agent, [
				bash('echo out; echo err >&2; exit 3'),
				bash('echo again'),
				...Object.values(reads).map(call_of),
				home => [['task_output', { task_id: task(
					home.read(1 + Object.keys(reads).length)) }]],
				home => bash(Array.from(home.player.calls, (_, n) => n)
					.flatMap(n => files(home.player.read(n)))
					.map(file => `stat -c '%n %s' ${file}`).join('; ')),
			]);
			await home.ask();
			const count = home.player.results.length;
			const sizes = Object.fromEntries([...(home.player.read(count - 1)
				?? '').matchAll(/^(\/.*) (\d+)$/gm)].map(m => m.slice(1)));
			Object.keys(reads).forEach((what, n) => {
				seen[what] = { text: home.player.read(n + 2), sizes };
			});
			seen['a look'] = { text: home.player.read(count - 2), sizes };
			is(home.read(0), `exit_code: 3\ncwd: ${room.dir}/work\n\n` +
				'stdout:\nout\n\nstderr:\nerr\n');
			is(home.read(1), 'exit_code: 0\n\nstdout:\nagain\n');
		}, 600000);

	const looks = { ...reads, 'a look': reads['a task that runs'] };
	for (const [what, [out, err, args]] of Object.entries(looks))
		await check(`${name}: ${what} (K3)`, async () => {
			const { text, sizes } = seen[what] ?? {};
			like(text ?? 'nothing came back', agent.around);
			const [, bare] = text.match(agent.around);
			const tail = args?.truncate === 'tail' || Boolean(args?.until);
			for (const [stream, printed] of Object.entries(
				{ stdout: out, stderr: err })) {
				const shown = section(bare, stream);
				is(shown !== undefined, Boolean(printed), `${stream} is there`);
				if (printed)
					true_to(shown, printed.text, tail);
				const [file] = files(shown ?? '');
				if (file && !args?.tty)
					is(Number(sizes[file]), Buffer.byteLength(printed.text),
						`bytes in ${file}`);
			}
			return `${text.length} characters`;
		});

	await check(`${name}: calls made at once (P7)`, async room => {
		const script = ['a', 'b', 'c', 'd'].map(step => [1, 2, 3, 4]
			.flatMap(n => bash(`echo ${step}${n} >>order`)));
		const home = await at_home(room, name, agent, script);
		await home.ask();
		const order = home.text('work/order').trim().split('\n');
		is([...order].sort(), ['a', 'b', 'c', 'd'].flatMap(step =>
			[1, 2, 3, 4].map(n => `${step}${n}`)));
		if (agent.ordered)
			is(order, [...order].sort());
		return order.join(' ') === [...order].sort().join(' ')
			? 'in order' : 'in another order';
	});
}

// A task that says good-bye, and takes three seconds for it
const farewell = 'trap "sleep 3; echo good-bye; echo ended >ended; exit" ' +
	'TERM; echo up; while :; do sleep 0.1; done';
const start = { command: farewell, run_in_background: true, until: 'up' };

for (const [name, agent] of Object.entries(players)) {
	await check(`${name}: what runs at the end has its time (L1, L4)`,
		async room => {
			const home = await at_home(room, name, agent, [bash(start)]);
			await home.ask();
			like(home.read(0), /^status: running/);
			await until('the task has ended', () => home.text('work/ended'));
		});

	await check(`${name}: boris is killed (L4, K4)`, async room => {
		const home = await at_home(room, name, agent, [
			bash('cd /; sleep 1000 & pwd'),
			bash('kill -9 $PPID'), bash('pwd')]);
		await home.ask();
		if (!agent.again)
			return home.player.read(2)?.match(/.*closed|Not connected/)?.[0];
		like(home.read(2), new RegExp(`^cwd: ${room.dir}/work$`, 'm'));
		return 'begun anew';
	});
}

// What takes long, side by side
const slow = [];

// It sleeps for longer than its agent waits; the next command does not wait for
// it, and its end is waited for.
for (const [name, agent] of Object.entries(players)) {
	// At 600 s its own timeout would end it.
	const seconds = Math.min((agent.held ?? 180) + 25, 595);
	slow.push(check(`${name}: a call of ${seconds} s (K2, W1)`, async room => {
		const home = await at_home(room, name, agent, [
			bash({ command: `sleep ${seconds}; echo slept`,
				...agent.held ? {} : { timeout: 600000 } }),
			bash('echo beside'),
			home => agent.held ? [['task_output',
				{ task_id: task(home.read(0)), wait: 60000 }]] : [],
		]);
		await home.ask();
		const { player } = home;
		within('the call', player.took(0), (agent.held ?? seconds + 10) * 1000);
		like(home.read(1), /^exit_code: 0\n(cwd: .*\n)?\nstdout:\nbeside\n$/);
		within('the next call', player.took(1), 10000);
		if (agent.held)
			like(home.read(0), /^status: running$/m);
		like(home.read(agent.held ? 2 : 0), /exit_code: 0\n[^]*\nslept\n$/);
		return `handed back after ${Math.round(player.took(0) / 1000)} s`;
	}, 900000));
}

// In a terminal Claude Code lets a call go on by itself, and tells the model of
// its end.
async function terminal(room) {
	const home = await at_home(room, 'claude', agents.claude, [
		bash('sleep 180; echo slept'),
		bash('echo beside'),
		home => [['task_output',
			{ task_id: task(home.read(0)), wait: 600000 }]],
		bash(start),
		home => [['task_output',
			{ task_id: task(home.read(3)), wait: 600000 }]],
		home => [['TaskStop',
			{ task_id: home.read(4).match(/as task (\w+)/)[1] }]],
		bash('echo after'),
	]);
	const settings = home.json('home/.claude.json');
	Object.assign(settings, { hasCompletedOnboarding: true, theme: 'dark',
		bypassPermissionsModeAccepted: true,
		customApiKeyResponses: { approved: ['x'], rejected: [] } });
	for (const project of Object.values(settings.projects))
		project.hasTrustDialogAccepted = true;
	home.write('home/.claude.json', JSON.stringify(settings));
	home.write('home/.claude/settings.json',
		'{"skipDangerousModePermissionPrompt":true}');
	const screen = cp.execFile('script', ['-qec', 'stty cols 160 rows 50; ' +
		'claude --permission-mode bypassPermissions', '/dev/null'],
	{ cwd: `${room.dir}/work`, env: { ...home.env, TERM: 'xterm' } });
	room.after(() => screen.kill());
	const type = async text => {
		screen.stdin.write(text);
		await new Promise(done => setTimeout(done, 1000));
		screen.stdin.write('\r');
	};
	const { player } = home;
	const called = (n, limit) => until(`call ${n} has come back`,
		() => player.read(n) !== undefined, limit);
	await new Promise(done => setTimeout(done, 20000));
	await type('go');
	await called(0, 150000);
	like(home.read(0), /^status: running$/m);
	await called(2, 150000);
	within('the next call', player.took(1), 10000);
	like(home.read(2), /exit_code: 0\n[^]*\nslept\n$/);
	await called(6, 200000);
	like(home.read(4), /moved to the background/);
	is(home.read(6), 'exit_code: 0\n\nstdout:\nafter\n');
	is(home.text('work/ended'), '');
	await type('/exit');
	await until('the task has ended', () => home.text('work/ended'));
	await until('the agent has ended', () => screen.exitCode !== null);
}
if (cp.spawnSync('script', ['--version']).status === 0)
	slow.push(check('claude, in a terminal: it lets calls go on (K2, P8, L4)',
		terminal, 900000));
else
	skip('claude, in a terminal: it lets calls go on', 'no script(1)');

await Promise.all(slow);
