/**
 * The current place in the console: path and query of the address, so it can be shared and works with the back button.
 */
import { useSyncExternalStore } from 'react';
import { encodeStep } from './api/client.ts';

export type Route = { readonly path: readonly string[]; readonly query: URLSearchParams };

const changed = 'quittance:place';

function subscribe(onChange: () => void): () => void {
  window.addEventListener('popstate', onChange);
  window.addEventListener(changed, onChange);
  return () => {
    window.removeEventListener('popstate', onChange);
    window.removeEventListener(changed, onChange);
  };
}

const addressNow = (): string => window.location.pathname + window.location.search;

export function useRoute(): Route {
  return readRoute(useSyncExternalStore(subscribe, addressNow));
}

export function readRoute(address: string): Route {
  const [path = '', search = ''] = address.split('?', 2);
  return {
    path: path
      .split('/')
      .filter((step) => step !== '')
      .map(decodeStep),
    query: new URLSearchParams(search),
  };
}

/** An address typed by hand may be malformed. */
function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** The address of a place. Ids may contain any character, so every step is encoded. */
export function addressOf(
  path: readonly string[],
  query?: Readonly<Record<string, string | undefined>>,
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined && value !== '') search.set(name, value);
  const text = search.toString();
  return `/${path.map(encodeStep).join('/')}${text === '' ? '' : `?${text}`}`;
}

/** `replace`: adds no history entry, for example while the user types a filter. */
export function goTo(address: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  if (replace) window.history.replaceState(null, '', address);
  else window.history.pushState(null, '', address);
  window.dispatchEvent(new Event(changed));
}
