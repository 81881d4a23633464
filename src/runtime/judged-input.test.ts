import { defineTool, ToolDecision } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { envelope, setStage } from '../../test/stage.ts';
import { judgedInput } from './judged-input.ts';

const rules = contractsFromYamlString(`
apiVersion: edictum/v1
kind: Ruleset
metadata: { name: pushes }
defaults: { mode: enforce }
rules:
  - id: no-force
    type: pre
    tool: push
    when: { args.force: { equals: true } }
    then: { action: block, message: Never by force. }
  - id: inside
    type: pre
    tool: push
    when: { args.branch: { equals: main } }
    then: { action: block, message: Not to main. }
`);
const push = defineTool({
  name: 'push',
  mode: 'external',
  input: z.object({
    branch: z.string().trim().toLowerCase(),
    force: z.boolean().default(false),
    options: z.object({ mirror: z.boolean().default(true) }).prefault({}),
  }),
  run: (args) => args,
});
const forced = defineTool({
  name: 'push',
  mode: 'external',
  input: z.object({ force: z.boolean().default(true) }),
  run: (args) => args,
});

describe('[deny-wins] what rules and hooks look at', () => {
  it('[deny-wins] is what the schema makes of the arguments: a default the model left out', async () => {
    const { turn } = setStage({ tools: [forced], contracts: rules });
    expect(await turn.call(envelope('c', 'push', {}))).toMatchObject({ code: 'policy.contract' });
    expect(await turn.call(envelope('d', 'push', { force: false }))).toMatchObject({
      output: { force: false },
    });
  });

  it('[deny-wins] is what the schema makes of the arguments: a value it changes', async () => {
    const { turn } = setStage({ tools: [push], contracts: rules });
    expect(await turn.call(envelope('c', 'push', { branch: ' Main ' }))).toMatchObject({
      details: 'Not to main.',
    });
  });

  it('[deny-wins] is the same for hooks', async () => {
    const seen: unknown[] = [];
    const { turn } = setStage({
      tools: [push],
      onPreToolUse: (use) => {
        seen.push(use.arguments);
        return ToolDecision.allow;
      },
    });
    await turn.call(envelope('c', 'push', { branch: 'Topic' }));
    expect(seen).toEqual([{ branch: 'topic', force: false, options: { mirror: true } }]);
  });
});

describe('judgedInput', () => {
  test('is the very same object where the schema changes nothing', () => {
    const checked = { a: { b: [1, { c: null }] }, s: 'x' };
    expect(judgedInput(checked, structuredClone(checked))).toBe(checked);
    expect(judgedInput(checked, { a: { b: [1, { c: null }] } })).toBe(checked); // what it drops is still there
  });

  test('shows a name that is changed under both', () => {
    expect(judgedInput({ file: '/a' }, { path: '/b' })).toEqual({ file: '/a', path: '/b' });
  });

  test('is what came where the schema gives what JSON cannot hold, and what the body gets in lists', () => {
    const checked = { when: '2026-01-01', list: ['a', 'b'] };
    expect(judgedInput(checked, new Map())).toBe(checked);
    expect(judgedInput(checked, { when: new Date(0), list: ['A'] })).toEqual({
      when: '1970-01-01T00:00:00.000Z',
      list: ['A'],
    });
  });

  test('takes keys of prototypes as data', () => {
    const tricky = JSON.parse('{"__proto__":{"force":true}}') as { [key: string]: never };
    const merged = judgedInput({ a: 1 }, tricky);
    expect(Object.hasOwn(merged, '__proto__')).toBe(true);
    expect((merged as { force?: unknown }).force).toBeUndefined();
  });
});
