import { readFileSync, readdirSync } from 'node:fs';
import { platform } from 'node:os';
import { expect, test } from 'vitest';
import { startServer } from './start-server.ts';

/** The nice value of each thread of this process. */
const priorities = (): number[] =>
  readdirSync('/proc/self/task').map((thread) => {
    const text = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16]);
  });

test.skipIf(platform() !== 'linux')('the threads of a server in a test keep their priority', async () => {
  const before = new Set(priorities());
  const app = await startServer();
  expect((await app.get('/v1/stats?buckets=10', 'admin')).status).toBe(200);
  expect((await app.get('/v1/sessions', 'admin')).status).toBe(200);
  expect(new Set(priorities())).toEqual(before);
  await app.close();
});
