/**
 * Which addresses a configuration may reach. A configuration often comes with a repository, so it must not reach
 * the metadata service of a cloud machine, and must not send secrets unencrypted.
 */
import { hostOf, isForbiddenAddress, isLoopback } from 'quittance/internal/outbound/address';

export type ServerUrlRules = {
  /** Hosts that may be reached over plain http, besides this machine. */
  readonly allowHttp?: readonly string[];
};

/** Names that clouds give their metadata services. */
const metadataNames = new Set(['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data']);

/** Why the URL must not be used, in words without its path, query or password; undefined if it may. */
export function findServerUrlProblem(url: URL, { allowHttp = [] }: ServerUrlRules = {}): string | undefined {
  const host = hostOf(url);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must start with https:// or http://';
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user name or password; use a header';
  if (metadataNames.has(host) || host.endsWith('.metadata.google.internal') || isForbiddenAddress(host))
    return 'leads to a metadata service or a link-local address';
  if (url.protocol === 'http:' && !isLoopback(host) && !allowHttp.some((each) => each.toLowerCase() === host))
    return `sends everything unencrypted to ${host}; use https, or list the host in "allowHttp" of the settings`;
  return undefined;
}
