/** The parameters of lists that are read a page at a time. */
import { integer, maybe, text } from '../shape.ts';
import type { Maybe } from '../shape.ts';

export type PageQuery = { readonly limit?: number; readonly cursor?: string };

export const pageFields: { readonly limit: Maybe<number>; readonly cursor: Maybe<string> } = {
  limit: maybe(integer({ minimum: 1, maximum: 1_000 })),
  cursor: maybe(text({ description: 'The `next` of the page before.' })),
};

/** The end of the year 9999: whoever counts up to there comes to an end. */
const lastMoment = 253_402_300_799_999;

export const spanFields: { readonly since: Maybe<number>; readonly until: Maybe<number> } = {
  since: maybe(
    integer({ minimum: 0, maximum: lastMoment, description: 'Milliseconds since 1970, included.' }),
  ),
  until: maybe(
    integer({ minimum: 0, maximum: lastMoment, description: 'Milliseconds since 1970, not included.' }),
  ),
};
