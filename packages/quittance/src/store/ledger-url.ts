/** The URL of a ledger: what it names, and how to show it without its password. */
import { QuittanceError } from '../base/error.ts';
import { postgresPackage } from './postgres-package.ts';

export type LedgerAddress =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

/** Throws `config.invalid` for a URL that names no ledger. Opens nothing. */
export function parseLedgerUrl(url: string): LedgerAddress {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === 'memory' && url.length === 'memory:'.length) return { kind: 'memory' };
  if (scheme === 'postgres' || scheme === 'postgresql') {
    postgresPackage().checkPostgresUrl(url);
    return { kind: 'postgres', url };
  }
  if (scheme === undefined || scheme === 'sqlite') {
    const path = scheme === undefined ? url : url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
    // "postgres//user:password@host" is a URL with a typing error, and must not become the name of a file.
    const isPath = path !== '' && !path.startsWith(':') && !/^[a-z]+\/\/.*@/is.test(path);
    if (isPath) return { kind: 'sqlite', path };
  }
  const shown = showLedgerUrl(url);
  throw new QuittanceError(
    'config.invalid',
    `Cannot open a ledger from ${JSON.stringify(shown)}. Use "memory:", "sqlite:./path/to.db", a bare path or ` +
      '"postgres://user@host/database".',
    { url: shown },
  );
}

/** Replaces the passwords of all URLs in a text. */
export const hideUrlPasswords = (text: string): string =>
  text.replace(/[a-z][a-z0-9+.-]*:?\/\/[^\s"'`<>]*|postgres(?:ql)?:[^\s"'`<>]*/gi, showLedgerUrl);

/** The URL for people: passwords are replaced by `***`, also in a URL that cannot be read. */
export function showLedgerUrl(url: string): string {
  const [start = ''] = /^(?:[a-z][a-z0-9+.-]*:\/*|[a-z]+\/\/)/i.exec(url) ?? [];
  const rest = url.slice(start.length);
  const end = start === '' ? -1 : rest.lastIndexOf('@');
  const colon = rest.indexOf(':');
  // "user:password@host" lacks a scheme, so the user looks like one.
  const from = colon !== -1 && colon < end ? colon + 1 : start.includes('//') ? end : 0;
  const shown = end <= 0 || from === end ? url : `${start}${rest.slice(0, from)}***${rest.slice(end)}`;
  return shown.replace(/([?&](?:[^=&#]*pass[^=&#]*|listen)=)[^&#]*/gi, '$1***');
}
