import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { describeThrown, isErrorLike, thrownInWords } from './describe-thrown.ts';

const bomb = (): never => {
  throw new Error('read me and I throw');
};
const cyclic: Record<string, unknown> = { code: 7 };
cyclic['self'] = cyclic;

class Refusal {
  readonly why = 'closed';
  toString(): string {
    return `refused: ${this.why}`;
  }
}
class Silent {
  readonly #why = 'closed';
  get why(): string {
    return this.#why;
  }
}
class Silent$1 extends Silent {}

describe('a thrown value, in words', () => {
  it.each<[string, unknown, RegExp]>([
    ['an error', new TypeError('no such row'), /^no such row$/],
    ['an error without a message', new RangeError(''), /^RangeError$/],
    ['a text', 'out of paper', /^out of paper$/],
    ['an empty text', ' ', /^an empty text$/],
    ['null', null, /^null$/],
    ['undefined', undefined, /^undefined$/],
    ['a number', 42, /^42$/],
    ['a bigint', 42n, /^42$/],
    ['a symbol', Symbol('gone'), /^Symbol\(gone\)$/],
    ['a function', function retryLater() {}, /^a function called retryLater$/],
    ['an object', { status: 502, body: 'bad gateway' }, /^\{"status":502,"body":"bad gateway"\}$/],
    ['an object with a message', { code: 1, message: 'quota' }, /^quota$/],
    ['an object with an object as its message', { message: { text: 'quota' } }, /^\{"text":"quota"\}$/],
    ['an empty object', {}, /^an empty object$/],
    ['an object without a prototype', Object.assign(Object.create(null), { code: 1 }), /^\{"code":1\}$/],
    ['a list', ['a', { b: 1 }], /^\["a",\{"b":1\}\]$/],
    ['an empty list', [], /^an empty list$/],
    ['a Map', new Map([[1, 2]]), /Map/],
    ['a Date', new Date(Number.NaN), /Invalid Date/],
    ['an instance with its own words', new Refusal(), /^refused: closed$/],
    ['an instance with nothing to show', new Silent(), /Silent/],
    ['an instance of a class that a bundler renamed', new Silent$1(), /\bSilent$/],
    ['an object in a circle', cyclic, /"code":"7"/],
    [
      'an answer of a service',
      new Response('x', { status: 502, statusText: 'Bad Gateway' }),
      /Response with status 502 Bad Gateway/,
    ],
    [
      'a getter that throws',
      {
        get message() {
          return bomb();
        },
        code: 'E1',
      },
      /E1|object/,
    ],
    ['a toString that throws', { toString: bomb, code: 'E2' }, /E2|object/],
    ['a toString that gives an object', { toString: () => ({}), code: 'E3' }, /E3|object/],
    [
      'a proxy that throws',
      new Proxy({}, { get: bomb, has: bomb, ownKeys: bomb, getPrototypeOf: bomb }),
      /object/,
    ],
    [
      'a revoked proxy',
      (() => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return proxy;
      })(),
      /object/,
    ],
    ['an error of another realm', runInNewContext('new Error("from afar")'), /^from afar$/],
    [
      'an error with a cause',
      new Error('fetch failed', { cause: new Error('ECONNREFUSED') }),
      /^fetch failed: ECONNREFUSED$/,
    ],
    [
      'an error with an object as its cause',
      new Error('fetch failed', { cause: { status: 500 } }),
      /^fetch failed: \{"status":500\}$/,
    ],
    [
      'several errors',
      new AggregateError([new Error('one'), { two: 2 }], 'all failed'),
      /^all failed: one; \{"two":2\}$/,
    ],
    ['several errors without a message', new AggregateError([new Error('one')]), /AggregateError: one/],
    ['an error made of an object', new Error({ a: 1 } as never), /^Error with an object as its message/],
    ['an aborted fetch', new DOMException('aborted', 'AbortError'), /^aborted$/],
  ])('%s', (_, thrown, words) => {
    expect(thrownInWords(thrown)).toMatch(words);
    expect(thrownInWords(thrown)).not.toContain('[object ');
    expect(describeThrown(thrown).length).toBeLessThanOrEqual(1_000);
  });

  it('ends for endless causes', () => {
    const error = new Error('round');
    error.cause = new Error('and round', { cause: error });
    expect(thrownInWords(error)).toMatch(/^round: and round/);
    expect(thrownInWords(error).length).toBeLessThan(100);
    expect(isErrorLike(runInNewContext('new TypeError("x")'))).toBe(true);
  });
});
