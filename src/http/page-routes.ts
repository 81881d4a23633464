/** Pages: logging in and out, deciding with a link, and the console's files. They hold nothing that was kept. */
import type { Hono } from 'hono';
import type { Access } from './access.ts';
import { refuseOtherSites } from './access.ts';
import type { Visit } from './visit.ts';
import type { ConsoleFile } from './console-files.ts';
import { isKnown } from './known-tag.ts';
import { decidePage, decideScript, loginPage, noConsolePage, pageStyle } from './pages.ts';
import { HttpRefusal } from './problem.ts';
import type { RateLimit } from './rate-limit.ts';
import { readText } from './read-request.ts';

const html = (text: string, status = 200): Response =>
  new Response(text, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
  });

const asset = (text: string, type: string): Response =>
  new Response(text, { headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-cache' } });

/** On to the console, with nothing left of the code in the address. */
const welcome = (cookie: string): Response =>
  new Response(null, {
    status: 303,
    headers: { location: '/', 'set-cookie': cookie, 'cache-control': 'no-store' },
  });

export type PageOptions = {
  readonly access: Access;
  readonly hosts: () => ReadonlySet<string>;
  readonly files: ReadonlyMap<string, ConsoleFile>;
  readonly strangers: RateLimit;
};

export function addPages(
  app: Hono<{ Bindings: Visit }>,
  { access, hosts, files, strangers }: PageOptions,
): void {
  app.get('/login', ({ req, env }) => {
    env.route = '/login';
    strangers.take(env.address);
    const code = new URL(req.url).searchParams.get('code');
    // Whoever only looks at the head of a link, as programs do that show what is behind it, does not use it up.
    if (code === null || req.raw.method === 'HEAD') return html(loginPage(undefined));
    const cookie = access.loginByCode(code);
    return cookie === undefined
      ? html(
          loginPage(
            'This link was used, or is too old. It is good once. Log in with a token, or start the server again for another link.',
          ),
          401,
        )
      : welcome(cookie);
  });

  app.post('/login', async ({ req, env }) => {
    env.route = '/login';
    strangers.take(env.address);
    // Nobody may be logged in by another site, as somebody else than they think.
    refuseOtherSites('GET', req.raw.headers, hosts());
    if (req.raw.headers.get('origin') === null && req.raw.headers.get('sec-fetch-site') === null)
      throw new HttpRefusal(
        'http.cross_site',
        'Nothing says which page sent this. Use the login page of this server.',
      );
    const form = new URLSearchParams(await readText(req.raw, 4_096));
    const cookie = access.loginByToken(form.get('token')?.trim() ?? '');
    return cookie === undefined
      ? html(loginPage('That is no token of this server, or it was revoked.'), 401)
      : welcome(cookie);
  });

  app.post('/logout', ({ req, env }) => {
    env.route = '/logout';
    refuseOtherSites('POST', req.raw.headers, hosts());
    return new Response(null, {
      status: 204,
      headers: { 'set-cookie': access.logout(req.raw.headers), 'clear-site-data': '"cache"' },
    });
  });

  for (const [path, methods] of [
    ['/login', 'GET, POST'],
    ['/logout', 'POST'],
  ] as const)
    app.all(path, () => {
      throw new HttpRefusal('http.method_not_allowed', `Use ${methods} here.`, {}, { allow: methods });
    });

  app.get('/decide', ({ env }) => {
    env.route = '/decide';
    return html(decidePage);
  });
  app.get('/quittance-decide.js', () => asset(decideScript, 'text/javascript'));
  app.get('/quittance-page.css', () => asset(pageStyle, 'text/css'));

  const index = files.get('index.html');
  app.get('*', async ({ req, env }, next) => {
    const { pathname } = new URL(req.url);
    if (/^\/(?:v1|metrics|healthz|readyz|openapi\.json)(?:\/|$)/.test(pathname)) return next();
    env.route = 'console';
    const file = files.get(pathname.slice(1));
    if (file !== undefined) return serveFile(file, req.raw.headers);
    // A page of the console has an address without a dot; a file that is not there is not there.
    if (/\.\w{1,8}$/.test(pathname)) return next();
    return index === undefined ? html(noConsolePage) : serveFile(index, req.raw.headers);
  });
}

function serveFile({ bytes, type, etag, isImmutable }: ConsoleFile, headers: Headers): Response {
  const common = {
    etag,
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
  if (isKnown(headers, etag)) return new Response(null, { status: 304, headers: common });
  return new Response(bytes, { headers: { ...common, 'content-type': type } });
}
