/** The page that a person continues on after they signed in: of this server, never of another site. */

const longest = 2_000;

/** The path of a page of this server; `/` for anything else. */
export function returnPath(given: string | null): string {
  if (given === null || given.length > longest || !given.startsWith('/')) return '/';
  // Browsers drop tabs and line ends, and read a backslash as a slash. The parser does the same.
  const origin = 'http://server.invalid';
  const url = URL.parse(given, origin);
  if (url === null || url.origin !== origin || url.username !== '') return '/';
  const path = url.pathname + url.search;
  return /^\/(?:\/|\\)/.test(path) ? '/' : path;
}
