// SPDX-License-Identifier: ISC
//
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
import { boris, check as quick, here, is, like, until, within }
	from './check.mjs';
import { Player } from './players.mjs';

const bin = `${here}/agents/node_modules/.bin`;
const readme = fs.readFileSync(`${here}/../../README`, 'utf8');
const manual = fs.readFileSync(`${here}/../../doc/boris.1`, 'utf8');
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

// A row each: how it is asked, without a terminal, and what that needs; what
// `bash` and its own shell are called there and how that is switched off; what a
// model reads around a result; what it adds to a call; whether calls made at once
// come in their order; after how many seconds boris has handed a call back.
const agents = {
	claude: {
		ask: () => 'claude --permission-mode bypassPermissions -p hi',
		env: url => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'x',
			CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
			IS_SANDBOX: '1' }),
		tool: 'mcp__boris__bash',
		shell: 'Bash',
		off: 'claude --disallowedTools Bash',
		around: /^(.*)$/s,
		ordered: true,
		held: 118,
	},
	codex: {
		ask: codex('gpt-5.4'),
		tool: 'mcp__boris.bash',
		shell: 'exec_command',
		first: 'codex features disable shell_tool',
		ordered: true,
		held: 298,
	},
	copilot: {
		ask: () => 'copilot --allow-all-tools -p hi',
		env: url => ({ COPILOT_OFFLINE: 'true', COPILOT_MODEL: 'gpt-4',
			COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '1000000',
			COPILOT_PROVIDER_BASE_URL: `${url}/v1` }),
		tool: 'boris-bash',
		shell: 'bash',
		off: 'copilot --excluded-tools bash',
		around: /^(.*)$/s,
	},
	gemini: {
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
	await home.sh(readme.match(new RegExp(`\\b${program} mcp add .*`))[0]);
	return home;
}

const bash = args => [['bash', typeof args === 'string'
	? { command: args } : args]];
const task = text => text.match(/task_id: (\w+)/)[1];

for (const [name, agent] of Object.entries(agents)) {
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
}

// Lines of 50 characters: 100,000 of them, and 35,000
const print = count => `seq -f 'row %06.0f 3456789 123456789 123456789 ` +
	`123456789' ${count}`;
const farewell = 'trap "sleep 3; echo ended >ended; exit" TERM; echo up; ' +
	'while :; do sleep 0.1; done';

for (const [name, agent] of Object.entries(readers)) {
	await check(`${name}: the model reads text, whole (B6, K3, K4, P7)`,
		async room => {
			const home = await at_home(room, name, agent, [
				bash('echo out; echo err >&2; exit 3'),
				[1, 2, 3, 4].flatMap(n => bash(`echo ${n} >>order`)),
				bash(print(2000)),
				bash({ command: `${print(700)}; ${print(2000)} >&2`,
					truncate: 'tail' }),
			]);
			await home.ask();
			is(home.read(0), `exit_code: 3\ncwd: ${room.dir}/work\n\n` +
				'stdout:\nout\n\nstderr:\nerr\n');
			const order = home.text('work/order').trim().split('\n');
			is(agent.ordered ? order : order.sort(), ['1', '2', '3', '4']);
			like(home.read(5), /\nstdout:\nrow 000001 [^]*row 002000 .*\n$/);
			like(home.read(5), /\[stdout truncated: 100000 characters in total/);
			like(home.read(6), /row 000700 [^]*row 002000 [^]*$/);
			return `${home.read(5).length} characters`;
		}, 600000);
}

// What takes long, side by side: a command sleeps for longer than its agent
// waits; the next one does not wait for it, and its end is waited for.
await Promise.all(Object.entries(players).map(([name, agent]) => {
	// At 600 s its own timeout would end it.
	const seconds = Math.min((agent.held ?? 180) + 25, 595);
	return check(`${name}: a call of ${seconds} s (K2, W1)`, async room => {
		const home = await at_home(room, name, agent, [
			bash({ command: `sleep ${seconds}; echo slept`,
				...agent.held ? {} : { timeout: 600000 } }),
			bash('echo beside'),
			home => agent.held ? [['task_output',
				{ task_id: task(home.read(0)), wait: 60000 }]] : [],
			bash({ command: farewell, run_in_background: true, until: 'up' }),
		]);
		await home.ask();
		const { player } = home;
		within('the call', player.took(0), (agent.held ?? seconds + 10) * 1000);
		like(home.read(1), /^exit_code: 0\n(cwd: .*\n)?\nstdout:\nbeside\n$/);
		within('the next call', player.took(1), 10000);
		if (agent.held)
			like(home.read(0), /^status: running$/m);
		like(home.read(agent.held ? 2 : 0), /exit_code: 0\n[^]*\nslept\n$/);
		await until('the task has ended', () => home.text('work/ended'));
		return `handed back after ${Math.round(player.took(0) / 1000)} s`;
	}, 900000);
}));
