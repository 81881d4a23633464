import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isQuittanceError } from '../base/error.ts';
import type { AnyTool } from './define-tool.ts';
import { buildTool, defineTool } from './define-tool.ts';
import { jsonSchema } from './schema.ts';
import type { ToolContext } from './tool-context.ts';
import type { UntypedSpec } from './tool-spec.ts';

const body = (): string => 'done';

/** As in JavaScript: any definition at all. */
const define = (spec: unknown): AnyTool => buildTool(spec as UntypedSpec);

function refusal(spec: unknown): string {
  try {
    define(spec);
    return 'nothing was thrown';
  } catch (error) {
    return isQuittanceError(error, 'config.invalid') ? error.message : `something else: ${String(error)}`;
  }
}

// No body in these tests reads the context.
const noContext = {} as ToolContext;

describe('a tool', () => {
  test('a tool with a minimal definition', () => {
    const tool = defineTool({ name: 'refund', run: body });
    expect(tool).toMatchObject({
      name: 'refund',
      description: undefined,
      displayName: 'refund',
      mode: 'external',
      modeOrigin: 'default',
      idempotent: false,
      mayRerun: false,
      timeoutMs: undefined,
      idleTimeoutMs: undefined,
      retryOnTimeout: true,
      costMicros: undefined,
      inlineLimit: undefined,
      loopLimit: undefined,
      rerun: 'ask',
      successCheck: undefined,
      idempotencyKey: undefined,
      idempotencyScope: 'session',
      resourceKeys: undefined,
      redact: undefined,
      output: undefined,
    });
    expect(tool.input.check({ any: 'thing' })).toEqual({ ok: true, value: { any: 'thing' } });
    expect(tool.input.check('text')).toMatchObject({ ok: false });
  });

  test('a tool with a complete definition', () => {
    const tool = defineTool({
      name: 'refund',
      description: 'Pays back.',
      displayName: 'Refund',
      input: z.object({ id: z.string() }),
      output: z.object({ paid: z.number() }),
      mode: 'destructive',
      idempotent: true,
      timeoutMs: 1_000,
      idleTimeoutMs: 500,
      retryOnTimeout: false,
      costMicros: ({ id }) => id.length,
      inlineLimit: 100,
      loopLimit: 2,
      rerun: 'deny',
      successCheck: () => true,
      idempotencyKey: ({ id }) => id,
      idempotencyScope: 'ledger',
      resourceKeys: ({ id }) => [id],
      redact: { input: ['$.id'] },
      run: () => ({ paid: 1 }),
    });
    expect(tool).toMatchObject({
      description: 'Pays back.',
      displayName: 'Refund',
      mode: 'destructive',
      modeOrigin: 'declared',
      idempotent: true,
      mayRerun: true,
      timeoutMs: 1_000,
      idleTimeoutMs: 500,
      retryOnTimeout: false,
      inlineLimit: 100,
      loopLimit: 2,
      rerun: 'deny',
      idempotencyScope: 'ledger',
      redact: { input: ['$.id'] },
    });
    expect([tool.idempotencyKey?.({ id: 'a' }), tool.resourceKeys?.({ id: 'a' })]).toEqual(['a', ['a']]);
    expect(typeof tool.costMicros === 'function' && tool.costMicros({ id: 'abc' })).toBe(3);
    expect(tool.output?.check({ paid: 'no' })).toMatchObject({ ok: false });
    expect(tool.run({ id: 'a' }, noContext)).toEqual({ paid: 1 });
  });

  test('is frozen, and does not follow later changes of its definition', () => {
    const spec = { name: 'refund', redact: { input: ['$.id'] }, timeoutMs: 5, run: body };
    const tool = defineTool(spec);
    spec.redact.input.push('$.other');
    spec.timeoutMs = 6;
    spec.run = () => 'changed';
    expect(tool).toMatchObject({ redact: { input: ['$.id'] }, timeoutMs: 5 });
    expect(tool.run({}, noContext)).toBe('done');
    expect(Object.isFrozen(tool) && Object.isFrozen(tool.redact) && Object.isFrozen(tool.redact?.input)).toBe(
      true,
    );
  });

  test('keeps `this` for its functions', () => {
    const tool = defineTool({
      name: 'refund',
      run() {
        return this.name;
      },
    });
    expect(tool.run({}, noContext)).toBe('refund');
  });

  test('may be rerun if it reads or is idempotent', () => {
    const mayRerun = (spec: object): boolean => define({ name: 'x', run: body, ...spec }).mayRerun;
    expect(mayRerun({ mode: 'read' })).toBe(true);
    expect(mayRerun({ name: 'get_x' })).toBe(true);
    expect(mayRerun({ idempotent: true })).toBe(true);
    expect(mayRerun({ name: 'get_x', mode: 'destructive' })).toBe(false);
    expect(mayRerun({})).toBe(false);
  });

  test('has a digest that depends on its schemas', () => {
    const digest = (spec: object): string => define({ name: 'x', run: body, ...spec }).schemaDigest;
    const input = { type: 'object' };
    expect(digest({ input })).toBe(digest({ input, description: 'other' }));
    expect(
      new Set([digest({}), digest({ input }), digest({ output: input }), digest({ input, output: input })])
        .size,
    ).toBe(4);
  });

  test.each<[string, unknown]>([
    ['zod', z.object({ n: z.number() })],
    ['valibot', v.object({ n: v.number() })],
    ['arktype', type({ n: 'number' })],
    [
      'JSON Schema',
      jsonSchema<{ n: number }>({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }),
    ],
  ])('accepts its input by %s', (_, input) => {
    const tool = define({ name: 'x', input, run: body });
    expect(tool.input.check({ n: 1 })).toEqual({ ok: true, value: { n: 1 } });
    expect(tool.input.check({ n: '1' })).toMatchObject({ ok: false, issues: [{ path: ['n'] }] });
  });

  test('ignores a field that is undefined', () => {
    expect(
      define({ name: 'x', run: body, mode: undefined, timeoutMs: undefined, input: undefined }),
    ).toMatchObject({
      mode: 'external',
    });
  });

  test.each([
    'x',
    'Straße',
    'mcp__server__tool',
    'a.b-c/d',
    '天気',
    'constructor',
    '__proto__',
    'x'.repeat(128),
  ])('may be named %j', (name) => {
    expect(define({ name, run: body }).name).toBe(name);
  });
});

describe('an invalid definition', () => {
  test.each([
    [undefined],
    [null],
    [''],
    ['  '],
    ['a\nb'],
    ['a\u0000'],
    ['a\u0085b'],
    ['\ud800'],
    ['x'.repeat(129)],
    [5],
    [['x']],
  ])('has the name %j', (name) => {
    expect(refusal({ name, run: body })).toMatch(
      /^The name of a tool is .+\. Expected a text of 1 to 128 characters without control characters\.$/s,
    );
  });

  test.each([[undefined], [null], [5], ['refund'], [body]])('is %j', (spec) => {
    expect(refusal(spec)).toMatch(/^A tool is defined by an object\. Found/);
  });

  test.each<[string, unknown, string]>([
    ['run', undefined, 'The field "run" of the tool "x" is missing. Expected a function, or handoff: true.'],
    ['run', 5, 'The field "run" of the tool "x" is 5. Expected a function.'],
    ['description', 5, 'is 5. Expected a text.'],
    ['displayName', null, 'is null. Expected a text.'],
    ['mode', 'write', 'is "write". Expected one of read, safe_write, destructive, local, external.'],
    ['mode', 'toString', 'is "toString". Expected one of'],
    ['idempotent', 'yes', 'is "yes". Expected true or false.'],
    ['timeoutMs', 0, 'is 0. Expected a number of milliseconds above 0.'],
    ['timeoutMs', -1, 'is -1. Expected'],
    ['timeoutMs', Number.NaN, 'is NaN. Expected'],
    ['timeoutMs', Number.POSITIVE_INFINITY, 'is Infinity. Expected'],
    ['timeoutMs', '5', 'is "5". Expected'],
    ['idleTimeoutMs', 0, 'is 0. Expected a number of milliseconds above 0.'],
    ['retryOnTimeout', 1, 'is 1. Expected true or false.'],
    ['costMicros', -1, 'is -1. Expected a whole number of millionths of at least 0'],
    ['costMicros', 1.5, 'is 1.5. Expected'],
    ['costMicros', 2 ** 53, 'is 9007199254740992. Expected'],
    ['costMicros', '1', 'is "1". Expected'],
    ['inlineLimit', -1, 'is -1. Expected a whole number of at least 0.'],
    ['inlineLimit', 1.5, 'is 1.5. Expected'],
    ['loopLimit', 0, 'is 0. Expected a whole number of at least 1.'],
    ['rerun', 'never', 'is "never". Expected one of ask, deny, allow.'],
    ['successCheck', true, 'is true. Expected a function.'],
    ['idempotencyKey', 'id', 'is "id". Expected a function.'],
    ['idempotencyScope', 'tool', 'is "tool". Expected one of session, ledger.'],
    ['idempotencyScope', 'ledger', 'has no effect without "idempotencyKey". Set both or neither.'],
    ['resourceKeys', ['a'], 'is an array. Expected a function.'],
    ['redact', ['$.id'], 'is an array. Expected an object whose only fields'],
    ['redact', { input: '$.id' }, 'is an object. Expected an object whose only fields'],
    ['redact', { input: [''] }, 'is an object. Expected'],
    ['redact', { inputs: ['$.id'] }, 'is an object. Expected'],
    ['redact', { output: ['$.id', '$..['] }, 'is invalid. '],
  ])('has %s %j', (field, value, message) => {
    const said = refusal({ name: 'x', run: body, [field]: value });
    expect(said).toContain(message);
    expect(said).toContain(`The field "${field}" of the tool "x" `);
  });

  test.each([
    ['timout', /No field named "timout"\. Known fields: timeoutMs/],
    ['timeOutMS', /Known fields: timeoutMs/],
    ['desciption', /Known fields: description/],
    ['execute', /No field named "execute"\. Here it is called run\./],
    ['inputSchema', /Here it is called input\./],
    ['parameters', /Here it is called input\./],
    ['outputSchema', /Here it is called output\./],
    ['constructor', /No field named "constructor"/],
    ['zork', /No field named "zork"\. Known fields: name, description/],
  ])('has an unknown field %s', (field, message) => {
    const said = refusal({ name: 'x', run: body, [field]: 1 });
    expect(said).toMatch(/^The definition of the tool "x" is invalid\. /);
    expect(said).toMatch(message);
  });

  test('has an unknown field that is not enumerable', () => {
    expect(refusal(JSON.parse('{"name":"x","__proto__":{"run":1}}'))).toMatch(/No field named "__proto__"/);
    expect(refusal({ name: 'x', run: body, [Symbol('s')]: 1 })).toMatch(/No field named "Symbol\(s\)"/);
  });

  test('has an invalid schema', () => {
    expect(refusal({ name: 'x', run: body, input: 5 })).toMatch(/^The input schema of the tool "x" is 5\./);
    expect(refusal({ name: 'x', run: body, output: { type: 'txt' } })).toMatch(
      /^The output schema of the tool "x" /,
    );
  });

  test('gives the tool and the field as facts', () => {
    expect(() => define({ name: 'x', run: body, timeoutMs: -1 })).toThrow(
      expect.objectContaining({ code: 'config.invalid', facts: { tool: 'x', field: 'timeoutMs' } }),
    );
  });
});

describe('a handoff tool', () => {
  test('has no body here, and running it throws', () => {
    const tool = defineTool({ name: 'render', handoff: true });
    expect(tool.handoff).toBe(true);
    expect(() => tool.run({}, {} as never)).toThrow('Another process runs this tool.');
    expect(defineTool({ name: 'x', run: () => 1 }).handoff).toBe(false);
  });

  test.each([
    ['run', { run: () => 1 }],
    ['idleTimeoutMs', { idleTimeoutMs: 5 }],
    ['handoff', { handoff: 'yes' }],
  ])('may not set %s', (field, more) => {
    expect(() => defineTool({ name: 'x', handoff: true, ...more } as never)).toThrow(`The field "${field}"`);
  });
});
