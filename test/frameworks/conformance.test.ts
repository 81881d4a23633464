/** Conformance cases through every adapter: our own documents, in the form of the public ones. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { casesIn } from '../../conformance/find-cases.ts';
import { reportOn, runCases } from '../../conformance/run-cases.ts';
import { loadAdapters } from './adapters.ts';

// A case that ends with an open question leaves a run behind, with the data of its framework.
const folder = mkdtempSync(join(tmpdir(), 'quittance-conformance-'));
process.env['TMPDIR'] = folder;
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

const release = {
  apiVersion: 'edictum/v1',
  kind: 'Workflow',
  metadata: { name: 'release', version: '1' },
  stages: [
    {
      id: 'look',
      tools: ['Read'],
      exit: [{ condition: 'file_read("NOTES.md")', message: 'Read NOTES.md first' }],
    },
    {
      id: 'agree',
      entry: [{ condition: 'stage_complete("look")' }],
      approval: { message: 'Release it?' },
    },
    {
      id: 'ship',
      entry: [{ condition: 'stage_complete("agree")' }],
      tools: ['Bash'],
      checks: [{ command_matches: '^ship$', message: 'Only ship' }],
    },
  ],
};
const read = {
  id: 'read',
  call: { tool: 'Read', args: { path: 'NOTES.md' } },
  execution: 'success',
  expect: {
    decision: 'allow',
    active_stage: 'look',
    evidence: { reads: ['NOTES.md'] },
    audit_events: [{ action: 'call_allowed' }, { action: 'call_executed' }],
  },
};
const ship = (args: object, more: object) => ({
  call: { tool: 'Bash', args },
  execution: 'not_run',
  ...more,
});

const cases = {
  workflows: { release },
  fixtures: [
    {
      id: 'too-early',
      workflow: 'release',
      steps: [ship({ command: 'ship' }, { expect: { decision: 'deny', message_contains: 'NOTES.md' } })],
    },
    {
      id: 'approved',
      workflow: 'release',
      lineage: { parent_session_id: 'parent' },
      steps: [
        read,
        {
          ...ship({ command: 'ship' }, { approval_outcomes: ['approved'], execution: 'success' }),
          expect: {
            decision: 'allow',
            active_stage: 'ship',
            approvals: { agree: 'approved' },
            evidence: { reads: ['NOTES.md'], stage_calls: { ship: ['ship'] } },
          },
        },
      ],
    },
    {
      id: 'waiting',
      workflow: 'release',
      steps: [
        read,
        ship({ command: 'ship' }, { expect: { decision: 'pause', approval_requested_for: 'agree' } }),
      ],
    },
    {
      id: 'rejected',
      workflow: 'release',
      steps: [
        read,
        ship(
          { command: 'ship' },
          { approval_outcomes: ['rejected'], expect: { decision: 'deny', active_stage: 'agree' } },
        ),
      ],
    },
  ],
};

const place = { folder: 'adapter-cases', file: 'adapter-cases/own.yaml' };

test('cases pass through every adapter, and the report says so by name', async () => {
  const adapters = await loadAdapters();
  const { lines, ok } = reportOn(await runCases(casesIn(cases, place), adapters));
  expect(lines.filter((line) => line !== '')).toEqual([
    'adapter-cases: 4 passed, 0 failed',
    ...adapters.map(({ name }) => `adapter-cases through ${name}: 4 passed, 0 failed`),
    '4 passed, 0 failed',
  ]);
  expect(ok).toBe(true);
});

test('a case that goes wrong through an adapter alone has failed', async () => {
  const [adapter] = await loadAdapters();
  if (adapter === undefined) throw new Error('There is no adapter.');
  const broken = { ...adapter, name: 'broken', makeCaller: () => Promise.reject(new Error('no loop')) };
  const { lines, ok } = reportOn(await runCases(casesIn(cases, place), [broken]));
  expect([ok, lines.at(-1)]).toEqual([false, '0 passed, 4 failed']);
  expect(lines.join('\n')).toContain('through broken: threw no loop');
});
