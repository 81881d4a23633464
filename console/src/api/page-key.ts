/**
 * The second half of a login. Browsers send the cookie to every port of this host; the key is in the storage of this
 * origin, which no other port can read. The server takes neither without the other.
 */

const pageKeyHeader = 'x-quittance-page-key';
const storeName = 'quittance.page-key';

/** Stored by the page that a log-in leads to. Read with every request: another tab may have logged in again. */
export const readPageKey = (): string => window.localStorage.getItem(storeName) ?? '';

export const pageKeyHeaders = (): Readonly<Record<string, string>> => ({ [pageKeyHeader]: readPageKey() });
