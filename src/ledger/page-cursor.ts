/** Pages of lists that are read newest first. A place is when a row came and, among those of one moment, which. */
import { QuittanceError } from '../base/error.ts';

export type PageCursor = readonly [at: number, id: number];

const defaultLimit = 50;
const mostRows = 1_000;

/** How many rows a page may have. */
export const clampPageLimit = (limit: number = defaultLimit): number =>
  Math.max(1, Math.min(mostRows, Math.floor(limit)));

export const toCursor = ([at, id]: PageCursor): string => `${at.toString(36)}.${id.toString(36)}`;

export function parseCursor(cursor: string): PageCursor {
  const [at, id, more] = cursor.split('.');
  const place: PageCursor = [Number.parseInt(at ?? '', 36), Number.parseInt(id ?? '', 36)];
  if (more === undefined && toCursor(place) === cursor) return place;
  throw new QuittanceError(
    'config.invalid',
    `A cursor is the "next" of the page before; found ${JSON.stringify(cursor)}.`,
  );
}
