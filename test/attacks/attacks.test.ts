import { readFileSync, writeFileSync } from 'node:fs';
import * as quittance from 'quittance';
import * as contracts from 'quittance/contracts';
import * as http from '@quittance/server';
import * as ledger from 'quittance/ledger';
import * as testing from 'quittance/testing';
import { describe, expect, test } from 'vitest';
import { formatText } from '../../scripts/format-text.ts';
import { makeCall, type Attack } from './attack.ts';
import { families } from './classes.ts';
import { documents } from './documents.ts';
import { mostRefused, runOrdinary, templates, type OrdinaryResult } from './ordinary.ts';
import { outOfReach } from './out-of-reach.ts';
import { renderAttacks } from './render-attacks.ts';
import { runClass, type ClassResult, type PackageDoor } from './run-classes.ts';

const door: PackageDoor = { quittance, contracts, http, ledger, testing };
const full = {
  ...door,
  newFolder: (): string => {
    throw new Error('These attempts need no folder.');
  },
  onEnd: (): void => {
    throw new Error('These attempts share nothing.');
  },
};
const page = new URL('../../docs/attacks.md', import.meta.url);
const results: ClassResult[] = [];
const ordinary: OrdinaryResult[] = [];

describe.each(families)('$title: every attempt is held', ({ title, file, classes }) => {
  test.each(classes)('$id: $title', async (each) => {
    const result = await runClass(each, door);
    results.push({ family: title, file, ...result });
    expect(result.through).toEqual([]);
    expect(result.tried).toBe(each.attempts.length);
  });
});

describe('the classes', () => {
  test('have unique ids, and their attempts unique names', () => {
    const classes = families.flatMap((family) => family.classes);
    expect(new Set(classes.map(({ id }) => id)).size).toBe(classes.length);
    const counts = classes.map(({ id, attempts }) => ({ id, attempts: attempts.length }));
    expect(counts.filter(({ attempts }) => attempts === 0)).toEqual([]);
    expect(
      classes.map(({ id, attempts }) => ({ id, attempts: new Set(attempts.map(({ name }) => name)).size })),
    ).toEqual(counts);
  });

  test('are tried against rules that allow good calls', async () => {
    const project = '/home/user/project';
    const good: readonly Pick<Attack, 'document' | 'tool' | 'input'>[] = [
      { document: 'files', tool: 'Write', input: { file_path: `${project}/a.txt`, content: 'and/or' } },
      { document: 'shell', tool: 'Bash', input: { command: 'git status', working_directory: project } },
      { document: 'unknown', tool: 'Bash', input: { command: 'frobnicate' } },
      { document: 'network', tool: 'Fetch', input: { url: 'https://api.example.com/x' } },
      { document: 'internet', tool: 'Fetch', input: { url: 'https://example.org/' } },
      { document: 'names', tool: 'Bash', input: { command: 'ls' } },
      { document: 'closed', tool: 'Read', input: {} },
      { document: 'values', tool: 'Transfer', input: { to: 'alice', amount: 1000, memo: 'lunch' } },
    ];
    for (const call of good)
      expect(await makeCall({ ...call, id: 'good', tries: 'nothing' }, full)).toBe('through');
    expect(new Set([...good.map(({ document }) => document), 'outputs'])).toEqual(
      new Set(Object.keys(documents)),
    );
  });
});

describe('out of reach, with the reason', () => {
  test.each(outOfReach)('$id: $tries', async (attack) => {
    expect(attack.outOfReach).toMatch(/\w.*\.$/);
    expect(await makeCall(attack, full)).toBe('through');
  });
});

describe('ordinary calls', () => {
  test.each(templates)(
    'ordinary calls of a %s are refused in at most 3 %% of 200 and more',
    async (template) => {
      const result = await runOrdinary(template, full, 'rules');
      ordinary.push(result);
      expect(result.calls).toBeGreaterThanOrEqual(200);
      expect(result.refused.length / result.calls).toBeLessThanOrEqual(mostRefused);
    },
  );
});

// Runs last: it needs the results of the classes above.
test('docs/attacks.md is up to date (UPDATE_DOCS=1 writes it again)', async () => {
  const text = await formatText('docs/attacks.md', renderAttacks(results, ordinary));
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(page, text);
  expect(readFileSync(page, 'utf8')).toBe(text);
});
