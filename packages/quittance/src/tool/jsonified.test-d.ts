import type { JsonValue } from '../base/json.ts';
import type { Jsonified } from './jsonified.ts';
import type { Equal, Expect } from './type-test.test-d.ts';

declare const brand: unique symbol;
type UserId = string & { readonly [brand]: 'UserId' };

class Account {
  readonly id = 1;
  readonly #secret = 'x';
  readonly opened = new Date(0);
  close(): string {
    return this.#secret;
  }
}

type Node = { value: number; next?: Node };

export type JsonifiedTests = [
  Expect<Equal<Jsonified<string>, string>>,
  Expect<Equal<Jsonified<'a' | 2 | true | null>, 'a' | 2 | true | null>>,
  Expect<Equal<Jsonified<Date>, string>>,
  Expect<Equal<Jsonified<URL>, string>>,
  Expect<Equal<Jsonified<UserId>, UserId>>,
  Expect<Equal<Jsonified<unknown>, JsonValue>>,
  Expect<Equal<Jsonified<JsonValue>, JsonValue>>,
  Expect<Equal<Jsonified<void>, never>>,
  Expect<Equal<Jsonified<bigint>, never>>,
  Expect<Equal<Jsonified<() => void>, never>>,
  Expect<Equal<Jsonified<{ at: Date; by: UserId }>, { at: string; by: UserId }>>,
  Expect<Equal<Jsonified<{ a: number; f: () => void; u: undefined; [brand]: 1 }>, { a: number }>>,
  Expect<Equal<Jsonified<{ a?: number; b: Date | undefined }>, { a?: number; b?: string }>>,
  Expect<Equal<Jsonified<{ a: unknown }>, { a?: JsonValue }>>,
  Expect<Equal<Jsonified<{ deep: { list: Date[] } }>, { deep: { list: string[] } }>>,
  Expect<Equal<Jsonified<readonly Date[]>, readonly string[]>>,
  Expect<Equal<Jsonified<[Date, number | undefined, () => void]>, [string, number | null, null]>>,
  Expect<Equal<Jsonified<{ toJSON(): { at: Date } }>, { at: string }>>,
  Expect<Equal<Jsonified<Account>, { readonly id: 1; readonly opened: string }>>,
  Expect<Equal<Jsonified<Map<string, Date> | Set<Date>>, never>>,
  Expect<Equal<Jsonified<Record<string, Date>>, Record<string, string>>>,
  Expect<
    Equal<Jsonified<{ type: 'a'; at: Date } | { type: 'b' }>, { type: 'a'; at: string } | { type: 'b' }>
  >,
  Expect<Equal<Jsonified<Node>['value'], number>>,
];
