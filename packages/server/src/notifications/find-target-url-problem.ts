/**
 * Addresses in the settings of targets. This finds mistakes when the file is read. Names are resolved and checked again
 * with each connection, because their addresses can change.
 */
import { hostOf, isForbiddenAddress, isPrivateAddress } from 'quittance/internal/outbound/address';

/** Why the URL of a target must not be used, as the end of a sentence; undefined if it may. */
export function findTargetUrlProblem(url: URL, allowPrivate: boolean): string | undefined {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must start with https://';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  const problem = findHostProblem(hostOf(url), allowPrivate);
  if (problem !== undefined) return problem;
  if (url.protocol === 'http:' && !allowPrivate)
    return 'sends everything unencrypted; use https, or set allowPrivate: true';
  return undefined;
}

/** The same for a host. */
export function findHostProblem(host: string, allowPrivate: boolean): string | undefined {
  if (isForbiddenAddress(host)) return 'leads to a metadata service or a link-local address';
  if (allowPrivate) return undefined;
  return isPrivateAddress(host) || host === 'localhost' || host.endsWith('.localhost')
    ? 'leads to a private address; set allowPrivate: true if that is meant'
    : undefined;
}
