// wire.mjs: boris without a client, line by line.

import { is, until } from './check.mjs';
import { modern } from './clients.mjs';
import { leaves } from './stdio.mjs';

// key(NAME): as MCP's own members of _meta are called
export const key = name => `io.modelcontextprotocol/${name}`;

// meta(VERSION): what each modern request carries
export const meta = (version = modern) => ({
	[key('protocolVersion')]: version,
	[key('clientCapabilities')]: {},
	[key('clientInfo')]: { name: 'wire', version: '1' },
});

export class Wire {
	#boris;

	constructor(room) {
		this.#boris = room.start();
		room.after(() => this.leave());
	}

	// send(LINE...): JSON or a string, as it stands
	send(...lines) {
		for (const line of lines) {
			const text = typeof line === 'string' ?
				line : JSON.stringify(line);
			this.#boris.child.stdin.write(`${text}\n`);
		}
	}

	// heard(): all messages so far, batches as the arrays that they are
	heard() {
		return this.#boris.lines().map(line => JSON.parse(line));
	}

	// single(): the same, batches taken apart
	single() {
		return this.heard().flat();
	}

	// answers(ID): those there are so far
	answers(id) {
		return this.single().filter(message =>
			message.id === id && !('method' in message));
	}

	// answer(ID): the response to that
	answer(id) {
		const what = `${JSON.stringify(id)} is answered`;
		return until(what, () => this.answers(id)[0]);
	}

	// post(ID, METHOD, PARAMS): a request
	post(id, method, params) {
		this.send({ jsonrpc: '2.0', id, method, params });
	}

	// ask(ID, METHOD, PARAMS): a request and its response
	ask(id, method, params) {
		this.post(id, method, params);
		return this.answer(id);
	}

	// tell(METHOD, PARAMS): a notification
	tell(method, params) {
		this.send({ jsonrpc: '2.0', method, params });
	}

	// hello(VERSION): the handshake
	async hello(version) {
		const answer = await this.ask('hello', 'initialize', {
			protocolVersion: version, capabilities: {},
			clientInfo: { name: 'wire', version: '1' },
		});
		is(answer.result.protocolVersion, version);
		this.tell('notifications/initialized');
	}

	async leave() {
		const boris = this.#boris;
		if (!boris.exit)
			await leaves(boris, () => boris.child.stdin.end());
	}
}
