/** Ledgers with some methods replaced, for tests. They work for stores made of objects and of classes. */
import type { OpenLedger, OwnerStatus, RowReaders } from 'quittance/store';

export type LedgerChanges = {
  readonly [Name in keyof OpenLedger]?: Name extends 'spill' | 'documents'
    ? Partial<NonNullable<OpenLedger[Name]>>
    : OpenLedger[Name];
} & {
  /** Replaces the answers to queries for some kinds of rows. */
  readonly rows?: Partial<RowReaders>;
  /** Replaces the status of single owners. */
  readonly statusOf?: (ownerId: string) => Promise<OwnerStatus>;
};

/** The same ledger with some members replaced. */
export function alterLedger(
  ledger: OpenLedger,
  { rows, statusOf, spill, documents, ...changes }: LedgerChanges,
): OpenLedger {
  const readers: Partial<RowReaders> = {
    ...rows,
    ...(statusOf !== undefined && {
      owners: async (query) =>
        'ownerId' in query
          ? { rows: [{ ownerId: query.ownerId, status: await statusOf(query.ownerId) }], next: undefined }
          : ledger.query('owners', query),
    }),
  };
  const query: OpenLedger['query'] = async (name, asked) =>
    readers[name]?.(asked) ?? ledger.query(name, asked);
  return alter(ledger, {
    query,
    ...(spill !== undefined && { spill: alter(ledger.spill, spill) }),
    ...(documents !== undefined && { documents: alter(ledger.documents ?? {}, documents) }),
    ...changes,
  });
}

/** The same ledger; every method goes through `around`. `name` is for example `append`, `spill.write` or `query.owners`. */
export function interceptLedger(
  ledger: OpenLedger,
  around: (name: string, proceed: () => unknown, input: readonly unknown[]) => unknown,
): OpenLedger {
  const intercept = (target: object, prefix: string): object =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof name === 'symbol') return value;
        if (typeof value !== 'function')
          return name === 'spill' || name === 'documents' ? intercept(value as object, `${name}.`) : value;
        return (...input: unknown[]): unknown =>
          around(
            `${prefix}${name}${name === 'query' ? `.${String(input[0])}` : ''}`,
            () => (value as (...given: unknown[]) => unknown).apply(target, input),
            input,
          );
      },
    });
  return intercept(ledger, '') as OpenLedger;
}

function alter<Target extends object>(target: Target, changes: object): Target {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(changes, name)) return Reflect.get(changes, name) as unknown;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}
