// agents.mjs: the lines that set boris up, as they stand in README and in
// boris.1, given to the agents themselves: what they write down, whether they
// find boris, which tools they then offer to a model, whether their own shell
// is switched off as boris.1 says, and whether mcp.c has their name as it has
// to. No account is needed and nothing is
// asked outside: each has a home of its own, and the model is this program,
// which looks at what it is asked and refuses.

import cp from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { boris, check as quick, here, is, like } from './check.mjs';

const bin = `${here}/agents/node_modules/.bin`;
const readme = fs.readFileSync(`${here}/../../README`, 'utf8');
const manual = fs.readFileSync(`${here}/../../boris.1`, 'utf8');
const table = fs.readFileSync(`${here}/../../mcp.c`, 'utf8')
	.match(/data_readers\[\] = \{(.*?)\}/s)[1];
const run = promisify(cp.execFile);

// They take their time to start.
const check = (name, body) => quick(name, body, 120000);

// The names of all tools in the last request that had any
let offered = [];
const names = list => (list ?? []).flatMap(tool => [tool.name,
	tool.function?.name, ...names(tool.functionDeclarations),
	...names(tool.tools).map(name => `${tool.name}.${name}`)]).filter(Boolean);
const model = http.createServer(async (request, response) => {
	let body = '';
	for await (const chunk of request)
		body += chunk;
	const tools = names(body ? JSON.parse(body).tools : []);
	if (tools.length)
		offered = tools;
	response.writeHead(400, { 'Content-Type': 'application/json' });
	response.end('{"error":{"type":"invalid_request_error",' +
		'"message":"only looking","code":400}}');
});
await new Promise(done => model.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${model.address().port}`;

const provider = 'model_providers.here';
const agents = {
	claude: {
		name: 'claude-code',
		data: true,
		wrote: ({ json }) => Object.values(
			json('home/.claude.json').projects)[0].mcpServers.boris,
		ask: 'claude -p hi',
		env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'x',
			CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
		tool: 'mcp__boris__bash',
		shell: 'Bash',
		off: 'claude --disallowedTools Bash',
	},
	codex: {
		name: 'codex-mcp-client',
		data: true,
		wrote: ({ text }) => JSON.parse(`{${text('home/.codex/config.toml')
			.match(/^\[mcp_servers\.boris\]\n(.*)\n(.*)$/m).slice(1)
			.map(line => line.replace(/^(\w+) =/, '"$1":'))}}`),
		ask: `codex exec --skip-git-repo-check -m gpt-5.4
			-c model_provider=here -c ${provider}.name=here
			-c ${provider}.base_url=${url}/v1
			-c ${provider}.wire_api=responses
			--disable enable_request_compression hi`,
		tool: 'mcp__boris.bash',
		shell: 'exec_command',
		first: 'codex features disable shell_tool',
	},
	copilot: {
		name: 'copilot-cli',
		data: true,
		wrote: ({ json }) =>
			json('home/.copilot/mcp-config.json').mcpServers.boris,
		ask: 'copilot --allow-all-tools -p hi',
		env: { COPILOT_OFFLINE: 'true', COPILOT_MODEL: 'gpt-4',
			COPILOT_PROVIDER_BASE_URL: `${url}/v1` },
		tool: 'boris-bash',
		shell: 'bash',
		off: 'copilot --excluded-tools bash',
	},
	gemini: {
		name: 'gemini-cli-mcp-client',
		wrote: ({ json }) =>
			json('work/.gemini/settings.json').mcpServers.boris,
		ask: 'gemini -y -p hi',
		env: { GEMINI_API_KEY: 'x', GOOGLE_GEMINI_BASE_URL: url,
			GEMINI_CLI_TRUST_WORKSPACE: 'true' },
		files: { 'home/.gemini/settings.json':
			'{"security":{"auth":{"selectedType":"gemini-api-key"}}}' },
		tool: 'mcp_boris_bash',
		shell: 'run_shell_command',
		file: 'home/.gemini/policies/boris.toml',
		off: '[[rule]]\ntoolName = "run_shell_command"\n' +
			'decision = "deny"\npriority = 999\n',
	},
	opencode: {
		name: 'opencode',
		wrote: ({ json }) => {
			const { type, command: [command, ...args] } =
				json('home/.config/opencode/opencode.jsonc').mcp.boris;
			is(type, 'local');
			return { command, args };
		},
		ask: 'opencode run hi',
		files: { 'work/opencode.json': JSON.stringify({
			provider: { here: { npm: '@ai-sdk/openai-compatible',
				options: { baseURL: `${url}/v1` }, models: { m: {} } } },
			model: 'here/m', small_model: 'here/m' }) },
		tool: 'boris_bash',
		shell: 'bash',
		file: 'work/opencode.jsonc',
		off: '{"permission":{"bash":"deny"}}',
	},
};

// A home and a project of its own, and boris in PATH
class Home {
	constructor(room, agent) {
		this.dir = room.dir;
		for (const name of ['home', 'work', 'bin'])
			fs.mkdirSync(`${room.dir}/${name}`);
		fs.symlinkSync(boris, `${room.dir}/bin/boris`);
		this.env = { HOME: `${room.dir}/home`, TEST_MARK: room.dir,
			TMPDIR: `${room.dir}/home`, ...agent.env,
			PATH: `${room.dir}/bin:${bin}:${process.env.PATH}` };
		for (const [name, text] of Object.entries(agent.files ?? {}))
			this.write(name, text);
		this.text = name => room.read(name);
		this.json = name => JSON.parse(room.read(name));
	}

	write(name, text) {
		fs.mkdirSync(path.dirname(`${this.dir}/${name}`), { recursive: true });
		fs.writeFileSync(`${this.dir}/${name}`, text);
	}

	// sh(LINE): what it says; whatever its exit status is
	async sh(line) {
		const said = run('sh', ['-c', line.replace(/\s*\n\s*/g, ' ')],
			{ cwd: `${this.dir}/work`, env: this.env, timeout: 60000 });
		said.child.stdin.end();
		const { stdout, stderr } = await said.catch(error => error);
		return stdout + stderr;
	}

	// offers(LINE, TOOLS): which of those a model is offered by it. Some
	// agents do not wait for boris before they first ask.
	async offers(line, tools) {
		let said;
		offered = [];
		for (let tries = 0; tries < 3 && !offered.includes(tools[0]); tries++)
			said = await this.sh(line);
		if (!offered.length)
			throw Error(`no model was asked: ${said}`);
		return tools.filter(tool => offered.includes(tool));
	}
}

for (const [name, agent] of Object.entries(agents)) {
	const [line] = readme.match(new RegExp(`\\b${name} mcp add .*`));
	await check(`${name}: README's line is written down as meant`,
		async room => {
			const home = new Home(room, agent);
			const said = await home.sh(line);
			const { command, args, timeout } = agent.wrote(home);
			is([command, args, timeout],
				['boris', [line.match(/--timeout=\d+/)[0]], undefined],
				said);
			return (await home.sh(`${name} --version`))
				.match(/\d+\.\d+\.\d+/)[0];
		});

	await check(`${name}: boris's tools are offered to the model`,
		async room => {
			const home = new Home(room, agent);
			await home.sh(line);
			const tools = [agent.tool, agent.shell];
			is(await home.offers(agent.ask, tools), tools);
		});

	await check(`${name}: mcp.c has its name if it shows a model the data`,
		async room => {
			const home = new Home(room, agent);
			await home.sh(line);
			fs.unlinkSync(`${room.dir}/bin/boris`);
			home.write('bin/boris', '#!/bin/sh\n' +
				`tee -a '${room.dir}/said' | '${boris}' "$@"\n`);
			fs.chmodSync(`${room.dir}/bin/boris`, 0o755);
			await home.offers(agent.ask, [agent.tool]);
			const said = home.text('said').matchAll(
				/clientInfo":\{"name":"(.*?)"/g);
			const names = new Set([...said].map(found => found[1]));
			is([...names], [agent.name]);
			is(table.includes(`"${agent.name}"`), agent.data ?? false);
		});

	await check(`${name}: its own shell is off as boris.1 says`,
		async room => {
			const home = new Home(room, agent);
			await home.sh(line);
			const { first, file, off } = agent;
			for (const word of (first ?? off).trim().split('\n'))
				is(manual.includes(word), true, word);
			if (first)
				await home.sh(first);
			if (file)
				home.write(file, off);
			const ask = first || file ? agent.ask
				: agent.ask.replace(name, off);
			is(await home.offers(ask, [agent.tool, agent.shell]),
				[agent.tool]);
		});
}

for (const name of ['claude', 'gemini', 'opencode'])
	await check(`${name}: mcp list has spoken with boris`, async room => {
		const home = new Home(room, agents[name]);
		await home.sh(readme.match(new RegExp(`\\b${name} mcp add .*`))[0]);
		like(await home.sh(`${name} mcp list`), /boris.*connected/is);
	});

model.close();
