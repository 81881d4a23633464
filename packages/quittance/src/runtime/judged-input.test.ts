import { defineTool, ToolDecision } from 'quittance';
import { contractsFromYamlString } from 'quittance/contracts';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { envelope, setStage } from '../../../../test/stage.ts';
import type { JsonObject } from '../base/json.ts';
import { isPlainJson } from '../base/typed-rendering.ts';
import { judgedInput } from './call-input.ts';

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

describe('[deny-wins] the input that rules and hooks judge', () => {
  it('[deny-wins] is the schema’s result: a default that the model left out', async () => {
    const { turn } = setStage({ tools: [forced], contracts: rules });
    expect(await turn.call(envelope('c', 'push', {}))).toMatchObject({ code: 'policy.contract' });
    expect(await turn.call(envelope('d', 'push', { force: false }))).toMatchObject({
      output: { force: false },
    });
  });

  it('[deny-wins] is the schema’s result: a value that the schema changes', async () => {
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
  const judge = (checked: JsonObject, value: unknown): JsonObject =>
    judgedInput({ form: isPlainJson(value) ? 'json' : 'typed', value, checked });

  test('is what the body gets: dropped or renamed fields are not there under their old name', () => {
    expect(judge({ file: '/a', dry_run: true }, { path: '/b' })).toEqual({ path: '/b' });
  });

  test('renders values that JSON cannot hold as rules do', () => {
    const given = {
      when: new Date(0),
      total: 10n,
      limit: Number.NaN,
      tags: new Set(['a']),
      header: new Map([['host', 'x']]),
      site: new URL('https://example.com/a'),
      data: new TextEncoder().encode('text'),
      left: undefined,
    };
    expect(judge({}, given)).toEqual({
      when: '1970-01-01T00:00:00.000Z',
      total: 10,
      limit: 'NaN',
      tags: ['a'],
      header: { host: 'x' },
      site: 'https://example.com/a',
      data: 'text',
    });
  });

  test('shows the source of a value that cannot be rendered', () => {
    class Money {
      readonly #cents: number;
      constructor(cents: number) {
        this.#cents = cents;
      }
      get cents(): number {
        return this.#cents;
      }
    }
    expect(judge({ amount: 500, run: 'x' }, { amount: new Money(500), run: () => 1 })).toEqual({
      amount: 500,
      run: 'x',
    });
    expect(judge({ amount: 500 }, new Money(500))).toEqual({ amount: 500 });
    expect(judge({ amount: 500 }, 'text')).toEqual({ amount: 500 });
  });

  test('treats keys of prototypes as data', () => {
    const tricky = JSON.parse('{"__proto__":{"force":true}}') as { [key: string]: never };
    const merged = judge({ a: 1 }, { tricky, when: new Date(0) });
    expect(Object.hasOwn(merged['tricky'] as object, '__proto__')).toBe(true);
    expect((merged['tricky'] as { force?: unknown }).force).toBeUndefined();
  });
});
