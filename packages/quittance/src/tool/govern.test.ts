import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isQuittanceError } from '../base/error.ts';
import type { AnyTool } from './define-tool.ts';
import { defineTool } from './define-tool.ts';
import { govern } from './govern.ts';
import type { ToolContext } from './tool-context.ts';

// Only the body that returns its context reads it.
const context = { callId: 'c1' } as ToolContext;

/** As in JavaScript: anything at all. */
const governed = govern as (existing: unknown, overrides?: unknown) => readonly AnyTool[];

function refusal(existing: unknown, overrides?: unknown): string {
  try {
    governed(existing, overrides);
    return 'nothing was thrown';
  } catch (error) {
    return isQuittanceError(error, 'config.invalid') ? error.message : `something else: ${String(error)}`;
  }
}

describe('governing functions', () => {
  test('creates a tool for each, under its key, with the context as second argument', () => {
    const tools = govern({
      get_user: ({ id }: { id: string }) => `user ${id}`,
      whole: (args: object, given: ToolContext) => [args, given],
      ping: () => 'pong',
    });
    expect(tools.map(({ name, mode, modeOrigin }) => [name, mode, modeOrigin])).toEqual([
      ['get_user', 'read', 'inferred'],
      ['whole', 'external', 'default'],
      ['ping', 'external', 'default'],
    ]);
    expect(tools.map((tool) => tool.run({ id: '7' }, context))).toEqual([
      'user 7',
      [{ id: '7' }, context],
      'pong',
    ]);
    expect(Object.isFrozen(tools)).toBe(true);
  });

  test('calls them on the record that contains them', () => {
    const shop = {
      price: () => 7,
      total() {
        return this.price() * 2;
      },
    };
    expect(govern(shop).map((tool) => tool.run({}, context))).toEqual([7, 14]);
  });

  test('rejects a function with several positional parameters', () => {
    const transfer = (from: string, to: string, amount: number): string => `${from}${to}${amount}`;
    expect(refusal({ transfer })).toBe(
      'The tool "transfer" is a function of 3 parameters. Expected one that takes an object and optionally the context: ' +
        'wrap it, as in ({ a, b, c }) => transfer(a, b, c).',
    );
    expect(governed({ transfer: ({ from }: { from: string }) => transfer(from, 'b', 1) })).toHaveLength(1);
  });

  test('takes a schema from the overrides', () => {
    const [tool] = govern(
      { refund: ({ id }: { id: string }) => id },
      { refund: { input: z.object({ id: z.string() }) } },
    );
    expect(tool?.input.check({ id: 5 })).toMatchObject({ ok: false });
  });
});

describe('governing tool objects', () => {
  const schema = z.object({ n: z.number() });

  test.each(['inputSchema', 'parameters', 'schema', 'input_schema', 'input'])(
    'reads the schema under %s',
    (key) => {
      for (const each of [
        schema,
        v.object({ n: v.number() }),
        type({ n: 'number' }),
        schema.toJSONSchema(),
      ]) {
        const [tool] = governed({ x: { [key]: each, execute: () => 1 } });
        expect(tool?.input.check({ n: 1 })).toMatchObject({ ok: true });
        expect(tool?.input.check({ n: '1' })).toMatchObject({ ok: false });
      }
    },
  );

  test.each(['execute', 'run', 'handler', 'func', 'invoke', 'call'])(
    'runs the body under %s, on its object',
    async (key) => {
      const given = {
        secret: 'kept',
        description: 'Adds.',
        schema,
        async [key](this: { secret: string }, args: { n: number }, given: ToolContext) {
          return [this.secret, args.n, given.callId];
        },
      };
      const [tool] = governed({ add_it: given });
      expect(tool).toMatchObject({ name: 'add_it', description: 'Adds.', mode: 'safe_write' });
      expect(await tool?.run({ n: 1 }, context)).toEqual(['kept', 1, 'c1']);
    },
  );

  test('reads instances of classes, including private fields', () => {
    class Mailer {
      readonly name = 'send_mail';
      readonly description = 'Sends.';
      readonly schema = z.object({ to: z.string() });
      readonly #from = 'me';
      invoke({ to }: { to: string }): string {
        return `${this.#from} to ${to}`;
      }
    }
    const [tool] = govern([new Mailer()]);
    expect(tool.run({ to: 'ann' }, context)).toBe('me to ann');
  });

  test('takes the first if there are several', () => {
    const [tool] = governed({
      x: { schema: { type: 'string' }, inputSchema: schema, invoke: () => 'no', func: () => 'yes' },
    });
    expect(tool?.run({}, context)).toBe('yes');
    expect(tool?.input.vendor).toBe('zod');
  });

  test('checks an output by its own schema, unless that is overridden', () => {
    const x = { inputSchema: schema, outputSchema: z.string(), execute: () => 'text' };
    expect(governed({ x })[0]?.output?.check(5)).toMatchObject({ ok: false });
    expect(governed({ x }, { x: { output: true } })[0]?.output?.check(5)).toMatchObject({ ok: true });
  });

  test('finds a wrapped JSON Schema', () => {
    const wrapped = {
      [Symbol.for('vercel.ai.schema')]: true,
      jsonSchema: schema.toJSONSchema(),
      validate: undefined,
    };
    const [tool] = governed({ x: { inputSchema: wrapped, execute: () => 1 } });
    expect(tool?.input.check({ n: '1' })).toMatchObject({ ok: false });
  });

  test('governing tool objects in a list uses their names', () => {
    const tools = govern([
      { name: 'list_users', run: () => [] },
      { name: 'drop_user', execute: () => null },
    ]);
    expect(tools.map(({ name, mode }) => [name, mode])).toEqual([
      ['list_users', 'read'],
      ['drop_user', 'destructive'],
    ]);
  });

  test('governing tool objects in a record uses the keys, whatever names the objects have', () => {
    expect(governed({ get_it: { name: 'delete_it', run: () => 1 } })).toMatchObject([
      { name: 'get_it', mode: 'read' },
    ]);
  });
});

describe('overrides', () => {
  test('set what the tools do not', () => {
    const [refund, ping] = govern(
      { refund: { description: 'Old', execute: ({ id }: { id: string }) => id }, ping: () => 'pong' },
      {
        refund: {
          mode: 'destructive',
          idempotent: true,
          timeoutMs: 5,
          description: 'New',
          idempotencyKey: ({ id }) => id,
        },
        ping: undefined,
      },
    );
    expect(refund).toMatchObject({
      mode: 'destructive',
      modeOrigin: 'declared',
      idempotent: true,
      mayRerun: true,
      timeoutMs: 5,
      description: 'New',
    });
    expect(refund?.idempotencyKey?.({ id: 'a' })).toBe('a');
    expect(ping).toMatchObject({ modeOrigin: 'default' });
  });

  test('overrides that are undefined have no effect', () => {
    expect(
      governed({ x: { description: 'Old', run: () => 1 } }, { x: { description: undefined } }),
    ).toMatchObject([{ description: 'Old' }]);
  });

  test.each<[string, unknown, RegExp]>([
    [
      'an unknown tool',
      { refnd: {} },
      /^The overrides are invalid\. No tool named "refnd"\. Known tools: refund, lookup\.$/,
    ],
    ['an inherited name', { toString: {} }, /No tool named "toString"/],
    ['no object', { refund: 5 }, /^The overrides of the tool "refund" are 5\. Expected an object\.$/],
    ['an unknown field', { refund: { timout: 5 } }, /No field named "timout"\. Known fields: timeoutMs/],
    ['a name', { refund: { name: 'x' } }, /No field named "name"/],
    ['a body', { refund: { run: () => 1 } }, /No field named "run"/],
    ['a wrong value', { refund: { mode: 'write' } }, /^The field "mode" of the tool "refund" is "write"\./],
    ['a broken schema', { refund: { input: { type: 'objct' } } }, /^The input schema of the tool "refund" /],
  ])('overrides with %s are rejected', (_, overrides, message) => {
    expect(refusal({ lookup: () => 1, refund: () => 1 }, overrides)).toMatch(message);
  });
});

describe('what cannot be governed', () => {
  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /^govern was given undefined\. Expected a record or a list of tools\.$/],
    ['a function', () => 1, /^govern was given a function\./],
    ['text', 'tools', /^govern was given "tools"\./],
    [
      'a record of numbers',
      { x: 5 },
      /^The tool "x" is 5\. Expected a function, or an object with one of execute,/,
    ],
    ['a record of nulls', { x: null }, /^The tool "x" is null\./],
    ['a record of lists', { x: [] }, /^The tool "x" is an array\./],
    [
      'an object without a body',
      { x: { description: 'd' } },
      /^The tool "x" has no body\. Expected a function under one of/,
    ],
    ['an object with an invalid body', { x: { execute: 'y' } }, /^The tool "x" has no body\./],
    ['a list of functions', [() => 1], /^The tool at index 0 of the list has no name\./],
    [
      'a list with holes',
      [{ name: 'a', run: () => 1 }, undefined],
      /^The tool at index 1 of the list has no name\./,
    ],
    [
      'a name used twice',
      [
        { name: 'a', run: () => 1 },
        { name: 'a', run: () => 1 },
      ],
      /^Two of the tools have the same name\./,
    ],
    ['an empty name', { '': () => 1 }, /^The name of a tool is ""\./],
    [
      'a record of zod fields as schema',
      { x: { inputSchema: { a: z.string() }, run: () => 1 } },
      /Wrap them in one schema/,
    ],
    [
      'a body that wants something else first',
      { x: { type: 'function', parameters: {}, invoke: () => 1 } },
      /takes a run context before its input/,
    ],
  ])('%s', (_, existing, message) => {
    expect(refusal(existing)).toMatch(message);
  });

  test.each(['needsApproval', 'needs_approval', 'requireApproval'])(
    'a tool with %s, until its mode is set',
    (key) => {
      const x = { execute: () => 1, [key]: true };
      expect(refusal({ x })).toMatch(/^The tool "x" requires approval\..+mode: 'destructive'/);
      expect(governed({ x }, { x: { mode: 'destructive' } })).toMatchObject([{ mode: 'destructive' }]);
      expect(governed({ x: { ...x, [key]: false } })).toHaveLength(1);
    },
  );

  test('an empty record, and names of Object.prototype, can be governed', () => {
    expect(governed({})).toEqual([]);
    const existing = Object.fromEntries(
      ['constructor', '__proto__', 'toString'].map((name) => [name, () => name]),
    );
    const tools = governed(existing, JSON.parse('{"__proto__":{"mode":"read"}}'));
    expect(tools.map((tool) => [tool.name, tool.run({}, context), tool.mode])).toEqual([
      ['constructor', 'constructor', 'external'],
      ['__proto__', '__proto__', 'read'],
      ['toString', 'toString', 'external'],
    ]);
  });
});

describe('our own tools', () => {
  const own = defineTool({ name: 'own', run: () => 1 });

  test('are used as they are', () => {
    expect(govern({ own, other: () => 2 })[0]).toBe(own);
    expect(govern([own])[0]).toBe(own);
  });

  test('keep their name and their definition', () => {
    expect(refusal({ other: own })).toBe(
      'The tool under "other" is named "own". Use its own name as the key.',
    );
    expect(refusal({ own }, { own: { mode: 'read' } })).toMatch(
      /was made by defineTool\. Change its definition/,
    );
  });
});
