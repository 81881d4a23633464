import { HttpRefusal } from './problem.ts';

/** Browsers state the origin of a request, and pages cannot forge it. */
export function refuseOtherSites(method: string, headers: Headers, hosts: ReadonlySet<string>): void {
  const refuse = (why: string): never => {
    throw new HttpRefusal(
      'http.cross_site',
      `${why} Open the console itself, or use a token instead of a cookie.`,
    );
  };
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none')
    refuse(`The browser says that another site sent this (${site.slice(0, 40)}).`);
  const origin = headers.get('origin');
  if (origin !== null && !isOwnOrigin(origin, hosts))
    refuse(`This was sent by a page of ${origin.slice(0, 100)}.`);
  if (method === 'GET' || method === 'HEAD') return;
  if (origin === null && site === null) refuse('Nothing says which page sent this.');
}

function isOwnOrigin(origin: string, hosts: ReadonlySet<string>): boolean {
  const host = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1];
  return host !== undefined && hosts.has(host.toLowerCase());
}
