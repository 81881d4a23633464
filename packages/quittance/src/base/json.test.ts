import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonReading, JsonValue } from './json.ts';
import { formatPath, freezeJson, isJsonObject, parseJson, toJson } from './json.ts';

function accept(reading: JsonReading): JsonValue {
  if (!reading.ok) throw new Error(`Refused at ${formatPath(reading.path)}: ${reading.problem}`);
  return reading.value;
}

function refuse(reading: JsonReading): string {
  if (reading.ok) throw new Error('Was accepted.');
  return `${formatPath(reading.path)}: ${reading.problem}`;
}

const throwing = (thrown: unknown): never => {
  throw thrown;
};

function nest(depth: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { in: value };
  return value;
}

describe('a path', () => {
  test('is written in the usual notation', () => {
    expect(formatPath([])).toBe('$');
    expect(formatPath(['a', 0, 'x y'])).toBe('$.a[0]["x y"]');
    expect(formatPath(['$b_1', '0', '', 'é', 'a"b', '__proto__'])).toBe(
      '$.$b_1["0"][""]["é"]["a\\"b"].__proto__',
    );
  });
});

describe('a value as JSON', () => {
  test('is what JSON.stringify would write, for every value that has a JSON form', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(accept(toJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('is a copy: later changes of the source do not matter', () => {
    const source = { list: [1, { deep: 'before' }] };
    const copy = accept(toJson(source));
    source.list.push(2);
    (source.list[1] as { deep: string }).deep = 'after';
    expect(copy).toEqual({ list: [1, { deep: 'before' }] });
  });

  test('a value as JSON of undefined is null', () => {
    expect(accept(toJson(undefined))).toBeNull();
    expect(accept(toJson(null))).toBeNull();
  });

  test('omits undefined members and writes null for undefined items and holes', () => {
    // oxlint-disable-next-line no-sparse-arrays
    expect(accept(toJson({ a: undefined, b: [undefined, , 1] }))).toEqual({ b: [null, null, 1] });
    expect(Object.keys(accept(toJson({ a: undefined })) as object)).toEqual([]);
  });

  test('has no negative zero', () => {
    expect(accept(toJson(-0))).toBe(0);
    expect(accept(toJson({ a: [-0] }))).toEqual({ a: [0] });
  });

  test('has the own enumerable members of an instance, not its methods and symbols', () => {
    class Point {
      x = 1;
      static origin = 0;
      get length(): number {
        return 1;
      }
      move(): void {}
    }
    const point = Object.defineProperty(new Point(), 'hidden', { value: 1, enumerable: false });
    expect(accept(toJson({ point, [Symbol('s')]: 1 }))).toEqual({ point: { x: 1 } });
    expect(accept(toJson(Object.assign(Object.create({ inherited: 1 }) as object, { own: 2 })))).toEqual({
      own: 2,
    });
    expect(accept(toJson(Object.assign(Object.create(null) as object, { own: 2 })))).toEqual({ own: 2 });
  });

  test('calls toJSON once, with its key', () => {
    const keys: string[] = [];
    const noting = {
      toJSON(key: string) {
        keys.push(key);
        return { key, toJSON: undefined };
      },
    };
    expect(accept(toJson({ a: noting, list: [noting] }))).toEqual({ a: { key: 'a' }, list: [{ key: '0' }] });
    expect(keys).toEqual(['a', '0']);
    expect(accept(toJson(new Date(0)))).toBe('1970-01-01T00:00:00.000Z');
    expect(accept(toJson(new URL('https://example.com/a')))).toBe('https://example.com/a');
    expect(accept(toJson(Object.assign(new Map(), { toJSON: () => 'a map' })))).toBe('a map');
    expect(accept(toJson({ toJSON: 'a member like any other' }))).toEqual({
      toJSON: 'a member like any other',
    });
    expect(accept(toJson({ a: { toJSON: () => undefined } }))).toEqual({});
  });

  test('unwraps boxed values', () => {
    expect(accept(toJson([Object(1), Object('a'), Object(false)]))).toEqual([1, 'a', false]);
  });

  test('keeps keys that are names of prototype members as plain data', () => {
    const hostile: unknown = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1}}');
    const copy = accept(toJson(hostile)) as { [key: string]: JsonValue };
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(Object.keys(copy)).toEqual(['__proto__', 'constructor']);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(hostile));
    expect((copy as { polluted?: unknown }).polluted).toBeUndefined();
    expect(Object.getOwnPropertyDescriptor(copy, '__proto__')).toMatchObject({
      writable: true,
      enumerable: true,
    });
  });

  test('may contain one object in two places', () => {
    const shared = { a: 1 };
    expect(accept(toJson([shared, { shared }]))).toEqual([{ a: 1 }, { shared: { a: 1 } }]);
  });

  test.each<[string, unknown, string]>([
    ['NaN', { a: [1, NaN] }, '$.a[1]: NaN has no JSON form'],
    ['Infinity', -Infinity, '$: -Infinity has no JSON form'],
    ['a BigInt', [{ id: 1n }], '$[0].id: a BigInt has no JSON form: pass it as a string'],
    ['a boxed BigInt', Object(1n), '$: a BigInt has no JSON form: pass it as a string'],
    ['a symbol', { a: Symbol('x') }, '$.a: a symbol has no JSON form'],
    ['a function', { 'on click': () => 1 }, '$["on click"]: a function has no JSON form'],
    [
      'a Map',
      { rows: new Map() },
      '$.rows: a Map has no JSON form: return Object.fromEntries(map) or an array of its entries',
    ],
    ['a Set', new Set(), '$: a Set has no JSON form: return an array: [...set]'],
    ['a WeakMap', new WeakMap(), '$: a WeakMap has no JSON form: return the data itself'],
    ['a RegExp', /a/, '$: a RegExp has no JSON form: return its source as text'],
    ['a Promise', { a: Promise.resolve(1) }, '$.a: a Promise has no JSON form: await it first'],
    [
      'a thenable',
      Object.create({ ['th' + 'en']: () => undefined }),
      '$: a Promise has no JSON form: await it first',
    ],
    ['an Error', new TypeError('x'), '$: an Error has no JSON form: throw it, or return its message'],
    [
      'an ArrayBuffer',
      new ArrayBuffer(2),
      '$: an ArrayBuffer has no JSON form: return its bytes as base64 text',
    ],
    [
      'a typed array',
      new Float64Array(2),
      '$: a Float64Array has no JSON form: return its bytes as base64 text',
    ],
    [
      'a Buffer',
      { file: Buffer.from('x') },
      '$.file: a Uint8Array has no JSON form: return its bytes as base64 text',
    ],
    ['an invalid Date', [new Date(NaN)], '$[0]: an invalid Date has no JSON form'],
    ['a Headers object', new Headers(), '$: a Headers has no JSON form: return Object.fromEntries(headers)'],
    ['what toJSON returns', { a: { toJSON: () => ({ b: NaN }) } }, '$.a.b: NaN has no JSON form'],
  ])('rejects %s', (_, value, problem) => {
    expect(refuse(toJson(value))).toBe(problem);
  });

  test.each<[string, unknown, string]>([
    [
      'a getter',
      {
        a: {
          get b() {
            return throwing(new Error('no b today'));
          },
        },
      },
      '$.a.b: reading it threw: no b today',
    ],
    ['a toJSON', [{ toJSON: () => throwing('just text') }], '$[0]: reading it threw: just text'],
    [
      'a proxy without keys',
      { p: new Proxy({}, { ownKeys: () => throwing(new Error('closed')) }) },
      '$.p: reading it threw: closed',
    ],
    [
      'a proxy item',
      new Proxy([1], { get: (_, key) => (key === '0' ? throwing(1) : key === 'length' ? 1 : undefined) }),
      '$[0]: reading it threw: 1',
    ],
    [
      'what cannot be described',
      {
        get a() {
          return throwing({ toString: () => throwing(1) });
        },
      },
      '$.a: reading it threw: object',
    ],
    [
      'a proxy thrown',
      {
        get a() {
          return throwing(new Proxy({}, { getPrototypeOf: () => throwing(1) }));
        },
      },
      '$.a: reading it threw: object',
    ],
  ])('rejects a value that throws while it is read: %s', (_, value, problem) => {
    expect(refuse(toJson(value))).toBe(problem);
  });

  test('rejects a revoked proxy', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(refuse(toJson({ proxy }))).toMatch(/^\$\.proxy: reading it threw: /);
  });

  test('shortens a thrown message to a readable length', () => {
    const loud = {
      get a() {
        return throwing(new Error('x'.repeat(10_000)));
      },
    };
    expect(refuse(toJson(loud)).length).toBeLessThan(300);
  });

  test('rejects a cycle where it closes', () => {
    const node: { next?: unknown; list: unknown[] } = { list: [] };
    node.next = { back: node };
    expect(refuse(toJson(node))).toBe('$.next.back: a value that contains itself has no JSON form');
    node.next = undefined;
    node.list.push({ node });
    expect(refuse(toJson(node))).toBe('$.list[0].node: a value that contains itself has no JSON form');
    const endless = { toJSON: (): unknown => ({ again: endless }) };
    expect(refuse(toJson(endless))).toBe('$.again: a value that contains itself has no JSON form');
    const growing = (): unknown => ({ toJSON: () => ({ deeper: growing() }) });
    expect(refuse(toJson(growing()))).toMatch(/nested more than 512 levels deep$/);
  });

  test('may be nested 512 levels deep and no deeper', () => {
    expect(toJson(nest(512)).ok).toBe(true);
    expect(refuse(toJson(nest(513)))).toMatch(/^\$(?:\[0\]|\.in){512}: nested more than 512 levels deep$/);
    expect(refuse(toJson(nest(10_000)))).toMatch(/nested more than 512 levels deep$/);
  });

  test('is bounded in total, so that shared objects cannot explode', () => {
    let doubled: unknown = 'x';
    for (let level = 0; level < 60; level++) doubled = [doubled, doubled];
    expect(refuse(toJson(doubled))).toMatch(/more than 5000000 values in total/);
    expect(refuse(toJson(Object.assign([], { length: 4_000_000_000 })))).toMatch(
      /more than 5000000 values in total/,
    );
    const text = 'x'.repeat(2 ** 20);
    expect(toJson(Array.from({ length: 64 }, () => text)).ok).toBe(true);
    expect(refuse(toJson(Array.from({ length: 65 }, () => text)))).toBe(
      '$[64]: more than 67108864 characters of text in total',
    );
    const lying = new Proxy([], { get: (_, key) => (key === 'length' ? Infinity : undefined) });
    expect(refuse(toJson(lying))).toMatch(/more than 5000000 values in total/);
  });

  test('takes any text unchanged', () => {
    const texts = ['\ud800', '\udc00\ud800', '\u0000', '\u2028', 'x'.repeat(5_000_000)];
    expect(accept(toJson({ texts, '\ud800\u0000': 1 }))).toEqual({ texts, '\ud800\u0000': 1 });
  });

  test('may reject integers that may have been rounded already', () => {
    const strict = { refuseUnsafeIntegers: true };
    expect(refuse(toJson({ id: 2 ** 53 }, strict))).toBe(
      '$.id: 9007199254740992 is beyond 9007199254740991, where numbers cannot represent every integer: ' +
        'pass it as a string',
    );
    expect(toJson({ id: -(2 ** 53) }, strict).ok).toBe(false);
    expect(toJson({ id: 999_999_999_999_999_900_000 }, strict).ok).toBe(false);
    expect(accept(toJson([2 ** 53 - 1, 1e21, 1.5, 1e300], strict))).toEqual([2 ** 53 - 1, 1e21, 1.5, 1e300]);
    expect(accept(toJson(2 ** 53))).toBe(2 ** 53);
  });

  test('never throws, for any input', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          withSparseArray: true,
          withNullPrototype: true,
          withBoxedValues: true,
        }),
        (value) => {
          const reading = toJson(value);
          const text = reading.ok ? JSON.stringify(reading.value) : JSON.stringify(reading.problem);
          expect(JSON.parse(text)).toEqual(reading.ok ? reading.value : reading.problem);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('JSON text', () => {
  test('is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        fc.pre(!/\d{16}/.test(text)); // those are tested below
        const expected = JSON.parse(text) as JsonValue;
        expect(accept(parseJson(text))).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
    );
  });

  test.each<[string, string]>([
    ['', '$: not JSON at position 0 (line 1, column 1): expected a value, found the end of the text'],
    [
      '  {',
      '$: not JSON at position 3 (line 1, column 4): expected a key in double quotes or "}", found the end of the text',
    ],
    ['{"a":1,}', '$: not JSON at position 7 (line 1, column 8): expected a key in double quotes, found "}"'],
    ['{"a" 1}', '$: not JSON at position 5 (line 1, column 6): expected ":", found "1"'],
    ['{"a":\n tru}', '$: not JSON at position 7 (line 2, column 2): expected a value, found "t"'],
    ['[1 2]', '$: not JSON at position 3 (line 1, column 4): expected "," or "]", found "2"'],
    ['[,]', '$: not JSON at position 1 (line 1, column 2): expected a value or "]", found ","'],
    ['{"a":[{}}', '$: not JSON at position 8 (line 1, column 9): expected "," or "]", found "}"'],
    [
      "{'a':1}",
      '$: not JSON at position 1 (line 1, column 2): expected a key in double quotes or "}", found "\'"',
    ],
    ['01', '$: not JSON at position 1 (line 1, column 2): expected the end of the text, found "1"'],
    ['-', '$: not JSON at position 0 (line 1, column 1): expected a value, found "-"'],
    [
      '"abc',
      '$: not JSON at position 4 (line 1, column 5): expected a closing double quote, found the end of the text',
    ],
    ['"\\x"', '$: not JSON at position 1 (line 1, column 2): expected a valid JSON escape, found "\\"'],
    ['"\\u12"', '$: not JSON at position 1 (line 1, column 2): expected a valid JSON escape, found "\\"'],
    [
      '{"\\"\\u0041\n":1}',
      '$: not JSON at position 10 (line 1, column 11): expected an escape such as \\n, found U+000A',
    ],
    ['\ufeff{}', '$: not JSON at position 0 (line 1, column 1): expected a value, found U+FEFF'],
    ['NaN', '$: not JSON at position 0 (line 1, column 1): expected a value, found "N"'],
    ['{}\u0000', '$: not JSON at position 2 (line 1, column 3): expected the end of the text, found U+0000'],
  ])('%j is rejected with a position', (text, problem) => {
    expect(refuse(parseJson(text))).toBe(problem);
  });

  test('is not quoted in the problem', () => {
    const text = `{"password": "hunter2" "token": "${'secret'.repeat(100)}"`;
    expect(refuse(parseJson(text))).not.toMatch(/hunter2|secret/);
    expect(refuse(parseJson(`[${'9'.repeat(400)}]`)).length).toBeLessThan(100);
  });

  test('keeps __proto__ as plain data', () => {
    const value = accept(parseJson('{"__proto__":{"polluted":true},"id":"1234567890123456"}'));
    expect(isJsonObject(value) && Object.keys(value)).toEqual(['__proto__', 'id']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  test('is rejected if an integer would change', () => {
    expect(refuse(parseJson('{"rows":[{"id":9007199254740993}]}'))).toBe(
      '$.rows[0].id: 9007199254740993 does not survive as a number: pass it as a string',
    );
    expect(refuse(parseJson('[1,[-12345678901234567890]]'))).toBe(
      '$[1][0]: -12345678901234567890 does not survive as a number: pass it as a string',
    );
    expect(refuse(parseJson('9007199254740993'))).toBe(
      '$: 9007199254740993 does not survive as a number: pass it as a string',
    );
    expect(refuse(parseJson('{"a":1e400}'))).toBe(
      '$.a: 1e400 does not survive as a number: pass it as a string',
    );
  });

  test('may contain large numbers that survive, and digits in strings and fractions', () => {
    const text =
      '[9007199254740992,-9007199254740991,100000000000000000000,1e300,0.12345678901234567,"9007199254740993"]';
    expect(accept(parseJson(text))).toEqual(JSON.parse(text));
  });

  test('accepts exactly the integers whose digits come back', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), (integer) => {
        expect(parseJson(`{"n":${integer}}`).ok).toBe(BigInt(Number(integer)) === integer);
      }),
    );
  });

  test('has no negative zero', () => {
    expect(accept(parseJson('-0'))).toBe(0);
    expect(accept(parseJson('[-0, -0.0,\n-0e5, -1e-400, -0.5]'))).toEqual([0, 0, 0, 0, -0.5]);
  });

  test('may be nested 512 levels deep and no deeper, not counting brackets in strings', () => {
    expect(accept(parseJson('['.repeat(512) + ']'.repeat(512)))).toEqual(
      JSON.parse('['.repeat(512) + ']'.repeat(512)),
    );
    expect(refuse(parseJson('['.repeat(513) + ']'.repeat(513)))).toBe(
      '$: nested more than 512 levels deep at position 512',
    );
    expect(refuse(parseJson('['.repeat(1_000_000)))).toBe(
      '$: nested more than 512 levels deep at position 512',
    );
    expect(refuse(parseJson('{"a":'.repeat(1_000_000)))).toBe(
      '$: nested more than 512 levels deep at position 2560',
    );
    const brackets = JSON.stringify({ a: '['.repeat(2_000), b: '"\\{'.repeat(2_000) });
    expect(accept(parseJson(brackets))).toEqual(JSON.parse(brackets));
    expect(toJson(accept(parseJson('['.repeat(512) + ']'.repeat(512)))).ok).toBe(true);
  });

  test('may be five megabytes long', () => {
    const text = JSON.stringify({ long: 'x"\n'.repeat(1_700_000) });
    expect(accept(parseJson(text))).toEqual(JSON.parse(text));
    expect(refuse(parseJson(text.slice(0, -2)))).toMatch(/expected a closing double quote/);
  });
});

describe('frozen JSON', () => {
  test('is the same value and cannot be changed anywhere', () => {
    const value = { a: [{ b: 1 }], c: { d: [] } };
    expect(freezeJson(value)).toBe(value);
    for (const part of [value, value.a, value.a[0], value.c, value.c.d])
      expect(Object.isFrozen(part)).toBe(true);
    expect(freezeJson('text')).toBe('text');
    expect(freezeJson(null)).toBeNull();
  });

  test('is frozen inside an already frozen object', () => {
    const inner = { a: 1 };
    freezeJson(Object.freeze({ inner, list: Object.freeze([inner]) }));
    expect(Object.isFrozen(inner)).toBe(true);
  });

  test('may contain one object many times and be deep', () => {
    let doubled: JsonValue = {};
    for (let level = 0; level < 60; level++) doubled = { left: doubled, right: doubled };
    expect(Object.isFrozen(freezeJson(doubled))).toBe(true);
    let deep: JsonValue = [];
    for (let level = 0; level < 10_000; level++) deep = [deep];
    expect(Object.isFrozen(freezeJson(deep))).toBe(true);
  });
});
