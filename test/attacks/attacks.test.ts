import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { describe, expect, test } from 'vitest';
import { judge } from './attack.ts';
import { documents } from './documents.ts';
import { outOfReach } from './out-of-reach.ts';
import { attackGroups, renderAttacks } from './render-attacks.ts';

const caught = attackGroups.flatMap(([, attacks]) => attacks);
const page = new URL('../../docs/attacks.md', import.meta.url);

describe.each(attackGroups)('%s: stopped', (_, attacks) => {
  test.each(attacks)('$id: $tries', async (attack) => {
    expect(attack.outOfReach).toBeUndefined();
    expect(attack.expected).not.toBe('allow');
    expect(await judge(attack)).toBe(attack.expected);
  });
});

describe('out of reach, with the reason', () => {
  test.each(outOfReach)('$id: $tries', async (attack) => {
    expect(attack.outOfReach).toMatch(/\w.*\.$/);
    expect(await judge(attack)).toBe('allow');
  });
});

describe('the table', () => {
  test('holds at least a hundred attempts, each under an id of its own', () => {
    const ids = [...caught, ...outOfReach].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(caught.length).toBeGreaterThanOrEqual(100);
  });

  test('is made against rules that let good calls through', async () => {
    const project = '/home/user/project';
    const good = [
      { document: 'files', tool: 'Write', input: { file_path: `${project}/a.txt`, content: 'and/or' } },
      { document: 'shell', tool: 'Bash', input: { command: 'git status', working_directory: project } },
      { document: 'network', tool: 'Fetch', input: { url: 'https://api.example.com/x' } },
      { document: 'internet', tool: 'Fetch', input: { url: 'https://example.org/' } },
      { document: 'names', tool: 'Bash', input: { command: 'ls' } },
      { document: 'closed', tool: 'Read', input: {} },
      { document: 'values', tool: 'Transfer', input: { to: 'alice', amount: 1000, memo: 'lunch' } },
    ] as const;
    const judged = good.map((call) => judge({ ...call, id: 'good', tries: 'nothing', expected: 'allow' }));
    expect(await Promise.all(judged)).toEqual(good.map(() => 'allow'));
    expect(new Set([...good.map(({ document }) => document), 'outputs'])).toEqual(
      new Set(Object.keys(documents)),
    );
  });

  test('is what docs/attacks.md says (UPDATE_DOCS=1 writes it again)', async () => {
    const config = await resolveConfig(page);
    const text = await format(renderAttacks(), { ...config, parser: 'markdown' });
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(page, text);
    expect(readFileSync(page, 'utf8')).toBe(text);
  });
});
