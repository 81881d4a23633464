/* oxlint-disable unicorn/no-thenable -- `then` is a word of the language */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  preRule,
  problemsOf,
  rulesetOf,
  sandboxRule,
  sessionRule,
} from '../../../../../test/sample-ruleset.ts';
import type { JsonObject, JsonPath, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import { editJson } from '../../tool/json-edit.ts';
import { compileJsonSchema } from '../../tool/schema.ts';
import { createDocumentSchema } from './document-schema.ts';

const check = compileJsonSchema(createDocumentSchema());
const fits = (value: JsonValue): boolean => check(value).length === 0;
const loads = (value: JsonValue): boolean => problemsOf(value).length === 0;

const everything = rulesetOf(
  [
    {
      ...preRule,
      enabled: true,
      mode: 'observe',
      when: {
        all: [
          {
            any: [
              { 'args.a.b': { in: ['x', 1, true] } },
              { 'tool.name': { starts_with: 'x', on_missing: 'fire' } },
            ],
          },
          { not: { 'principal.claims.team': { matches_any: ['a', 'b'] } } },
          { 'env.HOME': { contains_any: ['root'] } },
          { 'args.n': { gte: 1.5 } },
          { 'args.f': { exists: false } },
          { 'session.tool.consecutive_failures': { gte: 2 } },
        ],
      },
      then: {
        action: 'ask',
        message: 'Sure?',
        tags: ['a'],
        metadata: { a: [1] },
        timeout: 60,
        timeout_effect: 'allow',
      },
    },
    {
      ...preRule,
      id: 'after',
      type: 'post',
      when: { 'result.a': { equals: 1 } },
      then: { action: 'redact', message: 'm' },
    },
    {
      ...sessionRule,
      limits: {
        max_tool_calls: 1,
        max_attempts: 2,
        max_calls_per_tool: { 'a*': 3 },
        max_failures: 4,
        max_consecutive_failures: 5,
        max_failures_per_tool: { 'b*': 6 },
        max_consecutive_failures_per_tool: { c: 7 },
      },
    },
    {
      ...sandboxRule,
      not_within: ['/x'],
      allows: { commands: ['ls'], domains: ['*'] },
      not_allows: { domains: ['evil'] },
      outside: 'ask',
      timeout: 5,
      timeout_effect: 'block',
    },
  ],
  {
    tools: { Read: { side_effect: 'read', idempotent: true } },
    observability: { a: 1 },
    observe_alongside: true,
    extends: 'base',
  },
);

const older: JsonObject = {
  apiVersion: 'edictum/v1',
  kind: 'ContractBundle',
  metadata: { name: 'old', description: 'd' },
  defaults: { mode: 'observe' },
  contracts: [
    { ...preRule, then: { effect: 'approve', message: 'm', timeout_action: 'deny' } },
    { ...sandboxRule, tools: ['A'], outside: 'deny' },
  ],
};

const workflow: JsonObject = {
  apiVersion: 'edictum/v1',
  kind: 'Workflow',
  metadata: { name: 'steps', description: 'd', version: '1' },
  stages: [
    {
      id: 'one',
      description: 'd',
      entry: [],
      exit: [{ condition: 'file_read("a")', message: 'm' }],
      tools: ['Read'],
      checks: [{ command_matches: 'a', message: 'm' }],
    },
    { id: 'two', approval: { message: 'm' }, tools: ['x'], entry: [{ condition: 'stage_complete("one")' }] },
    { id: 'three', terminal: true },
  ],
};

/** Every path in a document. */
function places(value: JsonValue, path: JsonPath = []): JsonPath[] {
  if (Array.isArray(value))
    return [
      path,
      ...(value as readonly JsonValue[]).flatMap((item, index) => places(item, [...path, index])),
    ];
  if (isJsonObject(value))
    return [path, ...Object.entries(value).flatMap(([key, item]) => places(item, [...path, key]))];
  return [path];
}

const wrongValues: readonly JsonValue[] = [
  null, true, 0, 1, -1, 1.5, 2 ** 53, '', 'x', 'UPPER', 'block', 'ask', 'warn', 'deny', 'observe', [], ['x'], [1], {}, { x: 1 }, 'x'.repeat(501), 'args.x', 'pre', 'session',
]; // oxfmt-ignore

/** Constraints that the schema cannot express and leaves to the loader. */
const beyondSchema =
  /Duplicate id|duplicate|valid regular expression|invalid regex|condition is wrong|unknown stage|too deep|only the last|looks like a selector|says edictum\/v1|in edictum\/v1/;

describe('the schema of documents', () => {
  it.each([everything, older, workflow])('accepts documents that load', (document) => {
    expect(problemsOf(document)).toEqual([]);
    expect(check(document)).toEqual([]);
  });

  it('agrees with the loader about documents with one change', () => {
    const mutation = fc.constantFrom(everything, older, workflow).chain((document) =>
      fc.record({
        document: fc.constant(document),
        path: fc.constantFrom(...places(document).filter((path) => path.length > 0)),
        change: fc.oneof(
          fc.record({ type: fc.constant('replace' as const), value: fc.constantFrom(...wrongValues) }),
          fc.constant({ type: 'drop' as const }),
          fc.record({
            type: fc.constant('add' as const),
            key: fc.constantFrom(
              'extra',
              'effect',
              'tool',
              'tools',
              'within',
              'then',
              'lt',
              'timeout',
              'rules',
              'args.z',
              'constructor',
            ),
            value: fc.constantFrom(...wrongValues),
          }),
        ),
      }),
    );
    fc.assert(
      fc.property(mutation, ({ document, path, change }) => {
        const at = change.type === 'add' ? [...path, change.key] : path;
        const edit = { path: at, value: change.type === 'drop' ? undefined : change.value };
        // Serialised and parsed again, because a dropped item leaves a hole.
        const changed = JSON.parse(JSON.stringify(editJson(document, [edit]))) as JsonValue;
        const problems = problemsOf(changed);
        const left = problems.filter((problem) => !beyondSchema.test(problem));
        expect({ changed, fits: fits(changed), problems: left }).toMatchObject({ fits: left.length === 0 });
      }),
      { numRuns: 3_000 },
    );
  });

  it('rejects two spellings of one field, as the loader does', () => {
    const then = { action: 'ask', message: 'm', timeout_effect: 'block', timeout_action: 'block' };
    for (const document of [
      rulesetOf([{ ...preRule, then }]),
      rulesetOf([preRule], { contracts: [preRule] }),
    ])
      expect([fits(document), loads(document)]).toEqual([false, false]);
  });

  it('includes the words of a host if given', () => {
    const options = { operators: ['is_near'], selectors: ['geo'] };
    const document = rulesetOf([{ ...preRule, when: { 'geo.city': { is_near: [1] } } }]);
    expect(fits(document)).toBe(false);
    expect(compileJsonSchema(createDocumentSchema(options))(document)).toEqual([]);
    expect(problemsOf(document, options)).toEqual([]);
  });

  it('rejects selectors for results in a rule that runs before the call', () => {
    const document = rulesetOf([{ ...preRule, when: { 'output.text': { contains: 'x' } } }]);
    expect([fits(document), loads(document)]).toEqual([false, false]);
  });
});
