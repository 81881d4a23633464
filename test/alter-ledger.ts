/** Ledgers with some methods replaced, for tests. They work for stores made of objects and of classes. */
import type { Ledger } from 'quittance/store';

type Port = Exclude<
  keyof Ledger,
  'documents' | 'ownFiles' | 'watchTrouble' | 'sealKey' | 'readSealKey' | 'now' | 'close'
>;
export type LedgerChanges = {
  readonly [Name in keyof Ledger]?: Name extends Port ? Partial<Ledger[Name]> : Ledger[Name];
};

/** The same ledger with some members replaced, port by port. */
export function alterLedger(ledger: Ledger, changes: LedgerChanges): Ledger {
  const replaced = new Map(
    Object.entries(changes).map(([name, change]) => [
      name,
      typeof change === 'object' ? alter(ledger[name as Port], change) : change,
    ]),
  );
  return alter(ledger, Object.fromEntries(replaced));
}

/** The same ledger; every method of its ports goes through `around`. `name` is for example `journal.append`. */
export function interceptLedger(
  ledger: Ledger,
  around: (name: string, proceed: () => unknown, input: readonly unknown[]) => unknown,
): Ledger {
  const intercept = (target: object, prefix: string): object =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof name === 'symbol') return value;
        if (typeof value !== 'function')
          return prefix === '' && isPort(value) ? intercept(value, `${name}.`) : value;
        return (...input: unknown[]): unknown =>
          around(
            `${prefix}${name}`,
            () => (value as (...given: unknown[]) => unknown).apply(target, input),
            input,
          );
      },
    });
  return intercept(ledger, '') as Ledger;
}

const isPort = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);

function alter<Target extends object>(target: Target, changes: object): Target {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(changes, name)) return Reflect.get(changes, name) as unknown;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}
