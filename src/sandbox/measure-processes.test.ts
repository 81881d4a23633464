import { expect, test } from 'vitest';
import { measureProcesses } from './measure-processes.ts';

test('processes of the host are never counted: a sandbox that is being made still shows them', () => {
  expect(measureProcesses(process.pid)).toBeUndefined();
});
