/**
 * URLs with several hosts, as for a primary and its standbys: `postgres://user@one:5432,two:5433/database`. A process
 * uses the one that takes writes, whichever that is at the moment.
 */

/** One URL per host. A URL that is not of this form is returned as it is. */
export function splitHosts(url: string): readonly [string, ...string[]] {
  const found = /^([a-z]+:\/\/)([^/?#]*)(.*)$/is.exec(url);
  const [, scheme = '', authority = '', rest = ''] = found ?? [];
  const at = authority.lastIndexOf('@') + 1;
  const [first, ...others] = authority
    .slice(at)
    .split(',')
    .map((host) => `${scheme}${authority.slice(0, at)}${host}${rest}`);
  return found === null || first === undefined ? [url] : [first, ...others];
}
