/** Pages: login, logout, deciding with a link, and the files of the console. They contain no data of the ledger. */
import type { Hono } from 'hono';
import type { Access, OpenedLogin } from './access.ts';
import { pageKeyHeader, refuseOtherSites } from './access.ts';
import type { Visit } from './visit.ts';
import type { ConsoleFile } from './console-files.ts';
import { matchesEtag } from './matches-etag.ts';
import {
  confirmLoginPage,
  decidePage,
  decideScript,
  loggedInPage,
  loginPage,
  loginScript,
  noConsolePage,
  pageStyle,
} from './pages.ts';
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

/**
 * Redirects to the console without the code in the URL. The page key follows the #, which browsers do not send to
 * servers. A page of this server stores the key for its origin and opens the console.
 */
const welcome = ({ cookie, pageKey }: OpenedLogin): Response =>
  new Response(null, {
    status: 303,
    headers: {
      location: `/login/done#page-key=${pageKey}`,
      'set-cookie': cookie,
      'cache-control': 'no-store',
    },
  });

const staleLink =
  'This link was used or has expired. A link works once. Log in with a token, or restart the server for another link.';

export type PageRoutesOptions = {
  readonly access: Access;
  readonly hosts: () => ReadonlySet<string>;
  readonly files: ReadonlyMap<string, ConsoleFile>;
  readonly strangers: RateLimit;
  /** The address of the server that browsers use. */
  readonly url: () => string;
};

/** Names of this machine that more than one socket may answer under. */
const sharedName = /^(?:localhost|\[::1\])(?::\d+)?$/i;

type PageApp = Hono<{ Bindings: Visit }>;

export function addPages(app: PageApp, options: PageRoutesOptions): void {
  addOwnName(app, options);
  addLogin(app, options);
  addLogout(app, options);
  addDownload(app, options);
  for (const [path, methods] of [
    ['/login', 'GET, POST'],
    ['/logout', 'POST'],
    ['/download', 'POST'],
  ] as const)
    app.all(path, () => {
      throw new HttpRefusal('http.method_not_allowed', `Use ${methods} here.`, {}, { allow: methods });
    });
  addDecide(app);
  addConsole(app, options);
}

/**
 * Browsers try ::1 first for localhost. A program that listens on that address and port would share the origin of this
 * server, and so its page key. Pages and logins are therefore not available under such a name.
 */
function addOwnName(app: PageApp, { url }: PageRoutesOptions): void {
  app.use(async ({ req }, next) => {
    const host = req.raw.headers.get('host') ?? '';
    const asked = new URL(req.url);
    const home = new URL(url());
    if (!sharedName.test(host) || host.toLowerCase() === home.host || !isPage(asked.pathname)) return next();
    if (req.method === 'GET' || req.method === 'HEAD')
      return new Response(null, {
        status: 307,
        headers: { location: home.origin + asked.pathname + asked.search, 'cache-control': 'no-store' },
      });
    throw new HttpRefusal(
      'http.wrong_host',
      `Pages of this server are at ${home.origin}. Another program may answer under ${JSON.stringify(host.slice(0, 100))}.`,
    );
  });
}

function addLogin(app: PageApp, { access, hosts, strangers }: PageRoutesOptions): void {
  app.get('/login', ({ req, env }) => {
    env.route = '/login';
    strangers.take(env.address);
    const code = new URL(req.url).searchParams.get('code');
    // Programs that show link previews request the head only. That does not use the link up.
    if (code === null || req.raw.method === 'HEAD') return html(loginPage(undefined));
    // Opening the link changes nothing, because previews and scanners open links too. The form on the page logs in.
    const name = access.nameOfCode(code);
    return name === undefined ? html(loginPage(staleLink), 401) : html(confirmLoginPage(name, code));
  });

  app.post('/login', async ({ req, env }) => {
    env.route = '/login';
    strangers.take(env.address);
    // Another site must not log a person in under a different name.
    refuseOtherSites('GET', req.raw.headers, hosts());
    if (req.raw.headers.get('origin') === null && req.raw.headers.get('sec-fetch-site') === null)
      throw new HttpRefusal(
        'http.cross_site',
        'The request does not say which page sent it. Use the login page of this server.',
      );
    const form = new URLSearchParams(await readText(req.raw, 4_096));
    const code = form.get('code');
    const login = await (code === null
      ? access.loginByToken(form.get('token')?.trim() ?? '')
      : access.loginByCode(code));
    if (login !== undefined) return welcome(login);
    const problem = code === null ? 'This server does not know the token, or it was revoked.' : staleLink;
    return html(loginPage(problem), 401);
  });

  app.get('/login/done', ({ env }) => {
    env.route = '/login';
    return html(loggedInPage);
  });
  app.get('/quittance-login.js', () => asset(loginScript, 'text/javascript'));
}

function addLogout(app: PageApp, { access, hosts }: PageRoutesOptions): void {
  app.post('/logout', async ({ req, env }) => {
    env.route = '/logout';
    refuseOtherSites('POST', req.raw.headers, hosts());
    if (req.raw.headers.get(pageKeyHeader) === null)
      throw new HttpRefusal('http.cross_site', `Logging out needs the header ${pageKeyHeader}.`);
    return new Response(null, {
      status: 204,
      headers: { 'set-cookie': await access.logout(req.raw.headers), 'clear-site-data': '"cache"' },
    });
  });
}

/** A link to a file cannot set a header. A form can send the page key in its body, and the file is streamed. */
function addDownload(app: PageApp, { hosts, strangers }: PageRoutesOptions): void {
  app.post('/download', async ({ req, env }) => {
    env.route = '/download';
    const { headers, url } = req.raw;
    strangers.take(env.address);
    refuseOtherSites('POST', headers, hosts());
    const form = new URLSearchParams(await readText(req.raw, 16_384));
    const file = URL.parse(form.get('path') ?? '', url);
    if (file === null || file.origin !== new URL(url).origin || !file.pathname.startsWith('/v1/'))
      throw new HttpRefusal(
        'http.bad_request',
        'Name what to download as "path": /v1/export, or an artifact.',
      );
    const asked = new Headers({ [pageKeyHeader]: form.get('page-key') ?? '' });
    for (const name of ['cookie', 'host', 'origin', 'sec-fetch-site']) {
      const value = headers.get(name);
      if (value !== null) asked.set(name, value);
    }
    const answer = await app.fetch(new Request(file, { headers: asked, signal: req.raw.signal }), env);
    if (answer.ok && !answer.headers.has('content-disposition'))
      answer.headers.set('content-disposition', 'attachment');
    return answer;
  });
}

function addDecide(app: PageApp): void {
  app.get('/decide', ({ env }) => {
    env.route = '/decide';
    return html(decidePage);
  });
  app.get('/quittance-decide.js', () => asset(decideScript, 'text/javascript'));
  app.get('/quittance-page.css', () => asset(pageStyle, 'text/css'));
}

function addConsole(app: PageApp, { files }: PageRoutesOptions): void {
  const index = files.get('index.html');
  app.get('*', async ({ req, env }, next) => {
    const { pathname } = new URL(req.url);
    if (!isPage(pathname)) return next();
    env.route = 'console';
    const file = files.get(pathname.slice(1));
    if (file !== undefined) return serveFile(file, req.raw.headers);
    // Files are in the root folder or in assets. Elsewhere a dot is part of an id, for example report.html.
    if (/^\/(?:assets\/.*|[^/]*)\.\w{1,8}$/.test(pathname)) return next();
    return index === undefined ? html(noConsolePage) : serveFile(index, req.raw.headers);
  });
}

/** Is this a page for a browser, not a route for programs? */
const isPage = (pathname: string): boolean =>
  !/^\/(?:v1|metrics|healthz|readyz|openapi\.json)(?:\/|$)/.test(pathname);

function serveFile(file: ConsoleFile, headers: Headers): Response {
  const { bytes, brotli, type, isImmutable } = file;
  const body = brotli !== undefined && acceptsBrotli(headers) ? brotli : bytes;
  const etag = body === bytes ? file.etag : file.etag.replace(/"$/, '-br"');
  const common = {
    etag,
    'cache-control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    ...(brotli !== undefined && { vary: 'accept-encoding' }),
  };
  if (matchesEtag(headers, etag)) return new Response(null, { status: 304, headers: common });
  const encoding = body === bytes ? {} : { 'content-encoding': 'br' };
  return new Response(body, { headers: { ...common, ...encoding, 'content-type': type } });
}

/** Browsers accept it over HTTPS and from this machine. */
const acceptsBrotli = (headers: Headers): boolean =>
  (headers.get('accept-encoding') ?? '')
    .split(',')
    .some((each) => /^\s*br\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(each));
