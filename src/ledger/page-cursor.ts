/** Pages of lists that are read newest first. A place is the time of a row and, within one millisecond, its rank. */
import { QuittanceError } from '../base/error.ts';

export type PageCursor = readonly [at: number, id: number];

const defaultLimit = 50;
const mostRows = 1_000;

/** Number of rows per page. */
export const clampPageLimit = (limit: number = defaultLimit): number =>
  Math.max(1, Math.min(mostRows, Math.floor(limit)));

export const toCursor = ([at, id]: PageCursor): string => `${at.toString(36)}.${id.toString(36)}`;

export function parseCursor(cursor: string): PageCursor {
  const [at, id, more] = cursor.split('.');
  const place: PageCursor = [Number.parseInt(at ?? '', 36), Number.parseInt(id ?? '', 36)];
  if (more === undefined && toCursor(place) === cursor) return place;
  throw new QuittanceError(
    'config.invalid',
    `A cursor must be the "next" of the previous page; found ${JSON.stringify(cursor)}.`,
  );
}
