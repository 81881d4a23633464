/** Values that break careless code, from a seed, so that a failure can be reproduced. */
export interface Nasty {
  chance(share: number): boolean;
  pick<Value>(values: readonly Value[]): Value;
  text(): string;
  id(): string;
  value(): unknown;
  thenable(): unknown;
  envelope(names: readonly string[]): unknown;
}

const texts = [
  '',
  'hello',
  '\u0000',
  '\uD800',
  'a\uDFFFb',
  '💥'.repeat(50),
  '__proto__',
  'constructor',
  'Error: broken',
  'fatal: no',
  '{"a":1}',
  '[1,2',
  '12345678901234567890',
  'true',
  '1e999',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  `sk-${'a1B2'.repeat(12)}`,
  'x'.repeat(5_000),
];

const memberNames = [
  'a',
  'n',
  's',
  'key',
  'list',
  'flag',
  'deep',
  'success',
  'error',
  'is_error',
  '__proto__',
  'password',
  '$artifact',
  'constructor',
];

export function createNasty(seed: number): Nasty {
  let state = seed >>> 0;
  const random = (): number => {
    // mulberry32: small, sufficiently uniform, and the same everywhere
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const pick = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  const chance = (share: number): boolean => random() < share;
  const text = (): string => pick(texts);
  let serial = 0;
  const id = (): string => (chance(0.1) ? pick(['c0', 'c1', 'é', ' ']) : `c${serial++}`);

  const object = (depth: number): Record<string, unknown> =>
    Object.fromEntries(
      Array.from({ length: Math.floor(random() * 4) }, () => [pick(memberNames), plain(depth)]),
    );

  const plain = (depth: number): unknown => {
    const roll = random();
    if (depth <= 0 || roll < 0.4) return pick<unknown>([null, true, false, 0, -1, 1.5, 1e21, text(), text()]);
    if (roll < 0.7) return Array.from({ length: Math.floor(random() * 4) }, () => plain(depth - 1));
    return object(depth - 1);
  };

  const value = (): unknown => (chance(0.3) ? odd(pick, text) : plain(4));

  return {
    chance,
    pick,
    text,
    id,
    value,
    thenable: () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- that is what it is for
      then(resolve: (value: unknown) => void, reject: (error: unknown) => void) {
        for (const act of pick([[resolve], [reject], [resolve, reject, resolve], [reject, resolve]]))
          act(value());
        if (chance(0.3)) throw new Error('then threw');
      },
    }),
    envelope(names) {
      const roll = random();
      if (roll < 0.03) return value();
      const args = chance(0.85)
        ? object(3)
        : chance(0.3)
          ? JSON.stringify(object(3))
          : chance(0.5)
            ? text()
            : value();
      const envelope: Record<string, unknown> = {
        id: id(),
        name: chance(0.95) ? pick(names) : text(),
        arguments: args,
      };
      if (roll < 0.05) envelope[pick(['id', 'name', 'arguments', 'extra', '__proto__'])] = value();
      if (roll < 0.06) delete envelope[pick(['id', 'name', 'arguments'])];
      return envelope;
    },
  };
}

/** A value that JSON cannot represent, or that breaks on access. */
function odd(pick: Nasty['pick'], text: () => string): unknown {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const deep: unknown[] = [];
  let at = deep;
  for (let level = 0; level < 2_000; level++) at = at[0] = [];
  return pick<() => unknown>([
    () => undefined,
    () => Number.NaN,
    () => Number.POSITIVE_INFINITY,
    () => 10n,
    () => Symbol('s'),
    () => () => 1,
    () => cycle,
    () => deep,
    () => new Map([[1, 2]]),
    () => new Date(Number.NaN),
    () => new Error(text()),
    () => 2 ** 60,
    () =>
      Object.defineProperty({}, 'boom', {
        enumerable: true,
        get: () => {
          throw new Error('getter');
        },
      }),
    () =>
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('proxy');
          },
        },
      ),
    () => ({
      toJSON: () => {
        throw new Error('toJSON');
      },
    }),
    () => Object.create({ inherited: 1 }),
    () => JSON.parse('{"__proto__": {"polluted": true}}'),
  ])();
}
