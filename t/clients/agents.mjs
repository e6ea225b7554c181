// SPDX-License-Identifier: ISC
//
// agents.mjs: tests boris with the agents that README describes. Each agent has
// its own home directory and no account. Its model is a Player, which calls
// boris's tools according to a script and records the results.
//
// The tests check the set-up commands in README, the way in which boris.1
// disables each agent's own shell, and the requirements for clients (K):
// results arrive completely, no call times out, and tasks can clean up at the
// end of a session. The last tests wait until the agents would give up. They
// run in parallel for ten minutes.

import cp from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { boris, check as quick, here, is, like, waitFor, within }
	from './check.mjs';
import { Player } from './players.mjs';

const bin = `${here}/agents/node_modules/.bin`;
const readme = fs.readFileSync(`${here}/../../README`, 'utf8');
const manual = fs.readFileSync(`${here}/../../doc/boris.1`, 'utf8');
const run = promisify(cp.execFile);

// Agents start slowly.
const check = (name, body, limit = 180000) => quick(name, body, limit);

// codex(MODEL): returns a function that builds the command for Codex
const codex = model => url => `codex exec --skip-git-repo-check -m ${model}
	--dangerously-bypass-approvals-and-sandbox
	-c model_provider=here -c model_providers.here.name=here
	-c model_providers.here.base_url=${url}/v1
	-c model_providers.here.wire_api=responses
	--disable enable_request_compression hi`;

// The agents:
//	ask        command that starts the agent without a terminal
//	env, files environment and files that this command requires
//	tool       the agent's name of the tool bash
//	shell      the agent's name of its own shell
//	off        command or configuration that disables this shell
//	first      command that must run before, if any
//	file       file to which the configuration is written
//	around     pattern of the text in which a result is embedded
//	adds       arguments that the agent adds to a call
//	ordered    whether simultaneous calls arrive in order
//	held       seconds after which boris returns a call as a task
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

// Codex passes longer results to models that it knows. A model without code
// mode is offered boris's tools only after a search. In code mode, the tools
// are functions of a script.
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

// A home directory and a project, with boris in PATH and a simulated model
class Home {
	constructor(workspace, agent, player) {
		Object.assign(this, { workspace, agent, player, dir: workspace.dir });
		for (const name of ['home', 'work', 'bin'])
			fs.mkdirSync(`${workspace.dir}/${name}`);
		// Set the mark for boris here, since some agents do not pass on
		// their environment.
		this.write('bin/boris', `#!/bin/sh\nexport TEST_MARK='${workspace.dir}'\n` +
			`export TMPDIR='${workspace.dir}/tmp'\nexec '${boris}' "$@"\n`);
		fs.chmodSync(`${workspace.dir}/bin/boris`, 0o755);
		this.env = { HOME: `${workspace.dir}/home`, TMPDIR: `${workspace.dir}/home`,
			LANG: 'C.UTF-8', ...agent.env?.(player.url),
			PATH: `${workspace.dir}/bin:${bin}:${process.env.PATH}` };
		const files = agent.files?.(player.url) ?? {};
		for (const [name, text] of Object.entries(files))
			this.write(name, text);
		this.text = name => workspace.read(name);
	}

	write(name, text) {
		fs.mkdirSync(path.dirname(`${this.dir}/${name}`), { recursive: true });
		fs.writeFileSync(`${this.dir}/${name}`, text);
	}

	// sh(LINE): runs the command and returns its output, even if it fails
	async sh(line, timeout = 900000) {
		const output = run('sh', ['-c', line.replace(/\s*\n\s*/g, ' ')],
			{ cwd: `${this.dir}/work`, env: this.env, timeout });
		output.child.stdin.end();
		const { stdout, stderr } = await output.catch(error => error);
		return stdout + stderr;
	}

	// ask(): runs the agent, which follows its model, and returns the
	// output
	async ask(line = this.agent.ask(this.player.url)) {
		const output = await this.sh(line);
		if (this.player.failed)
			throw this.player.failed;
		if (!this.player.offered.length)
			throw Error(`the agent did not call its model: ${output}`);
		return output;
	}

	// offers(LINE, TOOLS): returns those TOOLS that the agent offers to its
	// model. Tries up to three times, since some agents call their model
	// before boris has started.
	async offers(line, tools) {
		const names = () => this.player.offered.map(tool =>
			(tool.namespace ? `${tool.namespace}.` : '') + tool.name);
		for (let tries = 0; tries < 3 && !names().includes(tools[0]); tries++)
			await this.ask(line);
		return tools.filter(tool => names().includes(tool));
	}

	// read(N): returns boris's text in the result of the Nth call
	// reads it
	read(n) {
		const text = this.player.read(n) ?? 'no result';
		like(text, this.agent.around);
		return text.match(this.agent.around)[1];
	}
}

// createHome(WORKSPACE, NAME, AGENT, [SCRIPT]): creates a home and runs the
// set-up command of README. A step of the script is a list of [TOOL,
// ARGUMENTS], or a function of the home that returns such a list.
async function createHome(workspace, name, agent, script = []) {
	const call = agent.call ?? ((tool, args) => [tool, args]);
	const steps = script.map(step => () =>
		(typeof step === 'function' ? step(home) : step)
			.map(([tool, args]) => call(tool, { ...args, ...agent.adds })));
	const player = await new Player(steps).listen();
	workspace.after(() => player.close());
	workspace.after(() => waitFor('boris leaves no process or file',
		() => workspace.remains().length === 0));
	const home = new Home(workspace, agent, player);
	const [program] = name.split(',');
	await home.sh(readme.match(new RegExp(`\\b${program} mcp add .*`))[0]);
	return home;
}

const bash = args => [['bash', typeof args === 'string'
	? { command: args } : args]];
const task = text => text.match(/task_id: (\w+)/)[1];

for (const [name, agent] of Object.entries(agents)) {
	await check(`${name}: the model is offered boris's tools`,
		async workspace => {
			const home = await createHome(workspace, name, agent);
			const tools = [agent.tool, agent.shell];
			is(await home.offers(undefined, tools), tools);
		});

	await check(`${name}: boris.1 disables the agent's own shell`,
		async workspace => {
			const home = await createHome(workspace, name, agent);
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
	await check(`${name}: results are complete text (B6, K3, K4, P7)`,
		async workspace => {
			const home = await createHome(workspace, name, agent, [
				bash('echo out; echo err >&2; exit 3'),
				[1, 2, 3, 4].flatMap(n => bash(`echo ${n} >>order`)),
				bash(print(2000)),
				bash({ command: `${print(700)}; ${print(2000)} >&2`,
					truncate: 'tail' }),
			]);
			await home.ask();
			is(home.read(0), `exit_code: 3\ncwd: ${workspace.dir}/work\n\n` +
				'stdout:\nout\n\nstderr:\nerr\n');
			const order = home.text('work/order').trim().split('\n');
			is(agent.ordered ? order : order.sort(), ['1', '2', '3', '4']);
			like(home.read(5), /\nstdout:\nrow 000001 [^]*row 002000 .*\n$/);
			like(home.read(5), /\[stdout truncated: 100000 characters in total/);
			like(home.read(6), /row 000700 [^]*row 002000 [^]*$/);
			return `${home.read(5).length} characters`;
		}, 600000);
}

// Long tests, in parallel: A command sleeps for longer than its agent waits.
// The next command does not wait for it. At the end, a task must be able to
// clean up.
await Promise.all(Object.entries(players).map(([name, agent]) => {
	// The timeout of the command is 600 s.
	const seconds = Math.min((agent.held ?? 180) + 25, 595);
	return check(`${name}: a call of ${seconds} s (K2, W1)`, async workspace => {
		const home = await createHome(workspace, name, agent, [
			bash({ command: `sleep ${seconds}; echo slept`,
				...agent.held ? {} : { timeout: 600000 } }),
			bash('echo second'),
			home => agent.held ? [['task_output',
				{ task_id: task(home.read(0)), wait: 60000 }]] : [],
			bash({ command: farewell, run_in_background: true, until: 'up' }),
		]);
		await home.ask();
		const { player } = home;
		within('the call', player.took(0), (agent.held ?? seconds + 10) * 1000);
		like(home.read(1), /^exit_code: 0\n(cwd: .*\n)?\nstdout:\nsecond\n$/);
		within('the next call', player.took(1), 10000);
		if (agent.held)
			like(home.read(0), /^status: running$/m);
		like(home.read(agent.held ? 2 : 0), /exit_code: 0\n[^]*\nslept\n$/);
		await waitFor('the task has cleaned up', () => home.text('work/ended'));
		return `returned after ${Math.round(player.took(0) / 1000)} s`;
	}, 900000);
}));
