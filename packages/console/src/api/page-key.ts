/**
 * The second half of a login. Browsers send the cookie to every port of this host. The key is in the storage of this
 * origin, which other ports cannot read. The server requires both.
 */
import { isInUse } from './in-use.ts';

const pageKeyHeader = 'x-quittance-page-key';
const storeName = 'quittance.page-key';

/** Stored by the page after login. Read for every request, because another tab may have logged in again. */
export const readPageKey = (): string => window.localStorage.getItem(storeName) ?? '';

export const pageKeyHeaders = (): Readonly<Record<string, string>> => ({
  [pageKeyHeader]: readPageKey(),
  ...(isInUse() && { 'x-quittance-active': '1' }),
});
