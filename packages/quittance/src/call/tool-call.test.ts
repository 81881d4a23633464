import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJson, anyJsonObject } from '../../../../test/arbitrary-outcome.ts';
import { thrownBy } from '../../../../test/thrown-by.ts';
import { isQuittanceError } from '../base/error.ts';
import type { ParsedArguments } from './tool-call.ts';
import { parseToolCall } from './tool-call.ts';

function refusalOf(value: unknown): string {
  const thrown = thrownBy(() => parseToolCall(value));
  return isQuittanceError(thrown, 'call.malformed') ? thrown.message : `no refusal: ${String(thrown)}`;
}

const inputOf = (input: unknown): ParsedArguments =>
  parseToolCall({ id: 'c_1', name: 'refund', arguments: input }).input;

function problemWith(input: unknown): string {
  const parsed = inputOf(input);
  return parsed.ok ? 'no problem' : parsed.problem;
}

describe('the envelope of a call', () => {
  test('is exactly id, name and arguments', () => {
    expect(parseToolCall({ id: 'c_42', name: 'create_event', arguments: { title: 'Lunch' } })).toEqual({
      id: 'c_42',
      name: 'create_event',
      input: { ok: true, arguments: { title: 'Lunch' } },
    });
  });

  test.each([
    ['nothing', undefined, 'found nothing'],
    ['null', null, 'found null'],
    ['text', '{"id":"c"}', 'found text of 10 characters'],
    ['an array', [{ id: 'c', name: 'n', arguments: {} }], 'use turn.callAll'],
    ['no id', { name: 'n', arguments: {} }, 'id must be a non-empty string, found nothing'],
    ['an empty id', { id: '', name: 'n', arguments: {} }, 'id must be a non-empty string, found empty text'],
    [
      'a number for an id',
      { id: 7, name: 'n', arguments: {} },
      'id must be a non-empty string, found number 7',
    ],
    ['no name', { id: 'c', arguments: {} }, 'name must be a non-empty string, found nothing'],
    [
      'an empty name',
      { id: 'c', name: '', arguments: {} },
      'name must be a non-empty string, found empty text',
    ],
    [
      'null for a name',
      { id: 'c', name: null, arguments: {} },
      'name must be a non-empty string, found null',
    ],
    [
      'an id without end',
      { id: 'c'.repeat(1_001), name: 'n', arguments: {} },
      'id has 1001 characters, more than 1000',
    ],
    ['a name without end', { id: 'c', name: 'n'.repeat(1_001), arguments: {} }, 'name has 1001 characters'],
    ['half a character in the id', { id: 'c\ud800', name: 'n', arguments: {} }, 'which no store can keep'],
    ['metadata', { id: 'c', name: 'n', arguments: {}, trace: 'x' }, 'found the unknown key "trace"'],
    ['a symbol', { id: 'c', name: 'n', arguments: {}, [Symbol('trace')]: 1 }, 'Symbol(trace)'],
  ])('%s is refused', (_, value, found) => {
    const message = refusalOf(value);
    expect(message).toContain('A tool call is exactly {id, name, arguments}; ');
    expect(message).toContain(found);
    expect(message).toContain('turn.call(call, {attrs: {…}})');
  });

  test.each([
    [
      'an OpenAI chat completion',
      { id: 'c', type: 'function', function: { name: 'n', arguments: '{}' } },
      'pass {id: call.id, name: call.function.name, arguments: call.function.arguments}',
    ],
    [
      'the OpenAI Responses API',
      { type: 'function_call', id: 'fc', call_id: 'c', name: 'n', arguments: '{}', status: 'completed' },
      'pass {id: item.call_id, name: item.name, arguments: item.arguments}',
    ],
    [
      'Anthropic (a tool_use block)',
      { type: 'tool_use', id: 'c', name: 'n', input: {} },
      'pass {id: block.id, name: block.name, arguments: block.input}',
    ],
    [
      'the AI SDK',
      { type: 'tool-call', toolCallId: 'c', toolName: 'n', input: {} },
      'pass {id: call.toolCallId, name: call.toolName, arguments: call.input}',
    ],
    ['LangChain or Gemini', { id: 'c', name: 'n', args: {} }, 'arguments: call.args}'],
    ['MCP', { id: 1, method: 'tools/call', params: { name: 'n' } }, 'name: request.params.name'],
  ])('a call from %s gets an explanation how to map it', (whose, value, mapping) => {
    expect(refusalOf(value)).toContain(`It looks like a call from ${whose}: `);
    expect(refusalOf(value)).toContain(mapping);
  });

  test('inherited properties do not count', () => {
    expect(refusalOf(Object.create({ id: 'c', name: 'n', arguments: {} }))).toContain(
      'id must be a non-empty string',
    );
    expect(
      parseToolCall(Object.assign(Object.create({ trace: 1 }), { id: 'c', name: 'n', arguments: {} })).id,
    ).toBe('c');
  });

  test('a thousand unknown keys make a short message', () => {
    const many = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`${'k'.repeat(500)}${index}`, 1]),
    );
    expect(refusalOf(many).length).toBeLessThan(1_200);
    expect(refusalOf(many)).toContain('and 995 more');
  });

  test('is read once, so that the checked value is the used one', () => {
    const reads: string[] = [];
    const shifty = new Proxy(
      { id: 'c', name: 'n', arguments: {} },
      {
        get(target, key, receiver) {
          reads.push(String(key));
          return Reflect.get(target, key, receiver);
        },
      },
    );
    expect(parseToolCall(shifty).id).toBe('c');
    expect(reads).toEqual(['id', 'name', 'arguments']);
  });

  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  test.each([
    [
      'a getter that throws',
      {
        name: 'n',
        arguments: {},
        get id(): string {
          throw new Error('boom');
        },
      },
    ],
    [
      'a proxy that throws',
      new Proxy(
        {},
        {
          ownKeys() {
            throw new Error('boom');
          },
        },
      ),
    ],
    ['a revoked proxy', revoked.proxy],
  ])('%s is malformed, with its cause', (_, value) => {
    expect(refusalOf(value)).toContain('reading it threw');
    expect(() => parseToolCall(value)).toThrow(
      expect.objectContaining({ cause: expect.any(Error) as unknown }),
    );
  });

  test('a name is used as given', () => {
    for (const name of ['Bash\0evil', 'mcp_../../etc/passwd', 'constructor', ' ', '\ud800'])
      expect(parseToolCall({ id: 'c', name, arguments: {} }).name).toBe(name);
  });

  test('throws only call.malformed, for any value', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.anything(), fc.record({ id: fc.string(), name: fc.string(), arguments: fc.anything() })),
        (value) => {
          const thrown = thrownBy(() => parseToolCall(value));
          expect(thrown === undefined || isQuittanceError(thrown, 'call.malformed')).toBe(true);
        },
      ),
    );
  });
});

describe('the arguments of a call', () => {
  test('may be an object or its JSON text, with the same meaning', () => {
    const accepted = anyJsonObject.filter((object) => inputOf(object).ok);
    fc.assert(
      fc.property(accepted, (object) => {
        const bytes = JSON.stringify({ ok: true, arguments: object });
        expect(JSON.stringify(inputOf(object))).toBe(bytes);
        expect(JSON.stringify(inputOf(JSON.stringify(object)))).toBe(bytes);
      }),
    );
  });

  test.each([
    [undefined, 'arguments must be a JSON object, found nothing'],
    [null, 'arguments must be a JSON object, found null'],
    [[], 'arguments must be a JSON object, found an array'],
    [7, 'arguments must be a JSON object, found number 7'],
    [true, 'arguments must be a JSON object, found boolean true'],
    ['', 'arguments are empty text; a call without arguments has {}'],
    [' \n', 'arguments are empty text; a call without arguments has {}'],
    ['{"a":', 'arguments are text that is not a JSON object: '],
    ['create it', 'arguments are text that is not a JSON object: '],
    ['null', 'arguments must be a JSON object, found null in the text'],
    ['[1]', 'arguments must be a JSON object, found an array in the text'],
    ['"{}"', 'arguments must be a JSON object, found text of 2 characters in the text'],
    ['7', 'arguments must be a JSON object, found number 7 in the text'],
  ])('%j are invalid, and never {}', (input, problem) => {
    expect(problemWith(input)).toContain(problem);
    expect(parseToolCall({ id: 'c', name: 'n', arguments: input }).input).toMatchObject({
      ok: false,
      raw: input ?? null,
    });
  });

  test('the arguments of a call that are missing are invalid', () => {
    expect(parseToolCall({ id: 'c', name: 'n' }).input).toEqual({
      ok: false,
      problem: 'arguments must be a JSON object, found nothing',
      raw: null,
    });
  });

  test('the arguments of a call with an integer that does not survive parsing are invalid', () => {
    const text = '{"account":{"id":9007199254740993}}';
    expect(problemWith(text)).toContain('at $.account.id');
    expect(problemWith(text)).toContain('9007199254740993 does not survive as a number');
    expect(parseToolCall({ id: 'c', name: 'n', arguments: text }).input).toMatchObject({ raw: text });
    // The same integer after a foreign JSON.parse: it may have been another one.
    expect(problemWith({ account: { id: 2 ** 53 + 2 } })).toContain('at $.account.id');
  });

  test.each([
    ['a function', { run: () => 1 }, 'at $.run: a function has no JSON form'],
    ['NaN', { n: [Number.NaN] }, 'at $.n[0]: NaN has no JSON form'],
    ['a Map', { map: new Map() }, 'at $.map: a Map has no JSON form'],
    [
      'a getter that throws',
      {
        get secret(): string {
          throw new Error('boom');
        },
      },
      'at $.secret: reading it threw',
    ],
  ])('the arguments of a call that contain %s are invalid', (_, input, problem) => {
    expect(problemWith(input)).toContain(`arguments hold something JSON cannot carry ${problem}`);
    expect(parseToolCall({ id: 'c', name: 'n', arguments: input }).input).toMatchObject({
      ok: false,
      raw: null,
    });
  });

  test('are never quoted in a problem', () => {
    expect(problemWith('{"password": "hunter2", }')).not.toContain('hunter2');
    expect(problemWith('my password is hunter2')).not.toContain('hunter2');
  });

  test('are a copy', () => {
    const given = { list: [1] };
    const { input } = parseToolCall({ id: 'c', name: 'n', arguments: given });
    given.list.push(2);
    expect(input).toEqual({ ok: true, arguments: { list: [1] } });
  });

  test.each([
    ['text', '{"__proto__":{"admin":true},"constructor":1}'],
    ['an object', JSON.parse('{"__proto__":{"admin":true},"constructor":1}') as unknown],
  ])('keep __proto__ as plain data, from %s', (_, input) => {
    const parsed = inputOf(input);
    const kept = parsed.ok ? parsed.arguments : {};
    expect(Object.keys(kept)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
    expect((kept as { admin?: unknown }).admin).toBeUndefined();
  });

  test('are never an object that the model did not send', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        for (const input of [value, JSON.stringify(value)]) {
          const parsed = inputOf(input);
          expect(JSON.stringify(parsed.ok ? parsed.arguments : value)).toBe(JSON.stringify(value));
        }
      }),
    );
  });
});
