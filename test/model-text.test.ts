/**
 * Text for the model is never text for the developer: it names no function, no option, and no way around an
 * approval.
 */
import type { AnyTool, RuntimeOptions, ToolOutcome } from 'quittance';
import { defineTool, denialReasons, outcomeToModelContent, reasonTable, ToolDecision } from 'quittance';
import { outcomeToWire } from 'quittance/wire';
import ts from 'typescript';
import { reasonCodes } from '../packages/quittance/src/call/reason.ts';
import { describe, expect, it } from 'vitest';
import { apiName } from './model-api-name.ts';
import { readSources, walk } from './sources.ts';
import { envelope, eventsOf, quiet, setStage } from './stage.ts';

describe('the reason table', () => {
  it.each(reasonCodes)('%s has a text for the model that names no API, and one for the developer', (code) => {
    const { forModel, whatToDo } = reasonTable[code];
    expect(forModel).not.toMatch(apiName);
    expect(forModel).toMatch(/^[A-Z].*\.$/);
    expect(whatToDo).not.toBe(forModel);
  });

  it('the reason table and the denial reasons say nothing else to a model', () => {
    for (const { sentence } of Object.values(denialReasons)) expect(sentence).not.toMatch(apiName);
  });
});

type Options = Partial<RuntimeOptions<readonly AnyTool[]>>;
type Case = { readonly tool?: object; readonly options?: Options };

const asks: Options = { treatments: { external: 'ask' } };
const throws = (): never => {
  throw new Error('socket hang up');
};

/** Things that a host or a tool can do, wrong or right, that produce text for the model. */
const cases: Readonly<Record<string, Case>> = {
  'a hook that throws': { options: { onPreToolUse: throws } },
  'a hook that gives nonsense': { options: { onPreToolUse: () => true as never } },
  'a hook that gives nothing': { options: { onPreToolUse: () => undefined as never } },
  'a hook without a reason': { options: { onPreToolUse: () => ToolDecision.block('') } },
  'a hook with a wrong time': {
    options: {
      onPreToolUse: () => ({ type: 'requires_confirmation', description: 'x', timeoutMs: -1 }) as never,
    },
  },
  'an approval without a name': { options: { ...asks, onConfirm: () => ({ decision: 'approve' }) as never } },
  'an approval that is true': { options: { ...asks, onConfirm: () => true as never } },
  'an edit without arguments': {
    options: { ...asks, onConfirm: () => ({ decision: 'edit', by: 'ada' }) as never },
  },
  'a response without a text': {
    options: { ...asks, onConfirm: () => ({ decision: 'respond', by: 'ada' }) as never },
  },
  'an invalid identity': {
    options: {
      ...asks,
      onConfirm: () => ({ decision: 'approve', by: 'ada', identity: { kind: 'x' } }) as never,
    },
  },
  'a decider that throws': { options: { ...asks, onConfirm: throws } },
  'a decider without the right': {
    options: { ...asks, onConfirm: () => ({ decision: 'approve', by: 'ada' }), mayDecide: () => false },
  },
  'rights that throw': {
    options: { ...asks, onConfirm: () => ({ decision: 'approve', by: 'ada' }), mayDecide: throws },
  },
  'a hold without a decision': { options: { ...asks, holdTimeoutMs: 1 } },
  'an invalid cost': {
    tool: { costMicros: () => Number.NaN },
    options: { budgets: [{ scope: 'turn', costMicros: 9 }] },
  },
  'a key that is empty': { tool: { idempotencyKey: () => '' } },
  'a key that throws': { tool: { idempotencyKey: throws } },
  'a success check that gives nonsense': { tool: { successCheck: () => 'yes' } },
  'a success check that throws': { tool: { successCheck: throws } },
  'an output that is a Map': { tool: { run: () => new Map() } },
  'an output with a Response': { tool: { run: () => ({ a: new Response('x') }) } },
  'an output that does not fit': { tool: { output: { type: 'string' }, run: () => 1 } },
  'a wrong charge': {
    tool: { run: (_: unknown, context: { charge: (n: number) => void }) => context.charge(-1) },
  },
  'a wrong file': {
    tool: { run: (_: unknown, context: { attach: (n: object) => void }) => context.attach({}) },
  },
  'a body that throws': { tool: { run: throws } },
  'a preview that throws': { tool: { preview: throws } },
  'a budget that is spent': { options: { budgets: [{ scope: 'turn', toolCalls: 0 }] } },
  'arguments that do not fit': { tool: { input: { type: 'object', required: ['a'] } } },
};

async function toldOf({ tool = {}, options = {} }: Case): Promise<{ outcome: ToolOutcome; log: string }> {
  const { clock, runtime, turn } = setStage({
    ...options,
    tools: [defineTool({ name: 'pay', mode: 'external', run: () => 'paid', ...tool } as never)],
  } as never);
  const asked = turn.call(envelope('c', 'pay'));
  await quiet();
  clock.advance(1);
  const outcome = await asked;
  const log = (await eventsOf(runtime, 'tool.responded')).flatMap(({ log: lines }) => lines);
  return { outcome, log: log.map(({ message }) => message).join(' ') };
}

describe('the content for the model names no API', () => {
  it.each(Object.entries(cases))('the content for the model names no API of %s', async (_, given) => {
    const { outcome } = await toldOf(given);
    expect(outcome.type).not.toBe('ToolExecutionResult');
    expect(`${outcomeToModelContent(outcome)} ${outcome.modelNote ?? ''}`).not.toMatch(apiName);
  });

  it.each([
    ['a hook that throws', /threw: socket hang up/],
    ['a hook that gives nonsense', /must return ToolDecision/],
    ['an approval without a name', /from onConfirm/],
    ['a decider that throws', /onConfirm threw: socket hang up/],
    ['an invalid cost', /costMicros/],
    ['a key that throws', /idempotencyKey/],
    ['a success check that gives nonsense', /Expected true, false/],
    ['an output that is a Map', /Object\.fromEntries/],
  ] as const)(
    'the content for the model names no API and the log of the call informs the developer: %s',
    async (name, said) => {
      expect((await toldOf(cases[name] ?? {})).log).toMatch(said);
    },
  );

  it('the content for the model names no API and for a wrong use of the context the extras inform the developer', async () => {
    const { outcome } = await toldOf(cases['a wrong charge'] ?? {});
    expect(JSON.stringify(outcomeToWire(outcome))).toContain('context.charge takes');
  });
});

/** Properties that become the content, the note or the reason of a hold. */
const toldProperties: ReadonlySet<string> = new Set([
  'details',
  'error',
  'sentence',
  'forModel',
  'problem',
  'waitsFor',
]);

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map(({ literal }) => ` … ${literal.text}`).join('');
  if (ts.isConditionalExpression(node)) return [textOf(node.whenTrue), textOf(node.whenFalse)].join(' ');
  if (!ts.isBinaryExpression(node)) return undefined;
  return [textOf(node.left), textOf(node.right)].join(' ');
}

it('no text in the sources that is written for the model names an API', () => {
  const found: string[] = [];
  let looked = 0;
  for (const { path, tree } of readSources().filter(({ path: file }) =>
    /^packages\/(?:quittance\/src\/(?:runtime|call|replay)|(?!quittance|server|mcp|cli|postgres|react|console|opentelemetry)[\w-]+\/src)\//.test(
      file,
    ),
  ))
    walk(tree, (node) => {
      const value =
        ts.isPropertyAssignment(node) && toldProperties.has(node.name.getText(tree))
          ? node.initializer
          : ts.isCallExpression(node) && node.expression.getText(tree).endsWith('.note')
            ? node.arguments[0]
            : undefined;
      const text = value && textOf(value);
      if (text === undefined) return;
      looked++;
      if (apiName.test(text)) found.push(`${path}: ${text}`);
    });
  expect(looked).toBeGreaterThan(40);
  expect(found).toEqual([]);
});
