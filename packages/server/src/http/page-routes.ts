/** Pages: login, logout, deciding with a link, and the files of the console. They contain no data of the ledger. */
import type { Hono } from 'hono';
import type { Access } from './access.ts';
import { pageKeyHeader } from './access.ts';
import { refuseOtherSites } from './refuse-other-sites.ts';
import { answerPage, welcome } from './answer-page.ts';
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
import { addDeviceRoutes } from './sign-in/device-routes.ts';
import { returnPath } from './sign-in/return-path.ts';
import type { SignInRoutesOptions } from './sign-in/sign-in-routes.ts';
import { addSignIn } from './sign-in/sign-in-routes.ts';

const asset = (text: string, type: string): Response =>
  new Response(text, { headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-cache' } });

const staleLink =
  'This link was used or has expired. A link works once. Log in with a token, or restart the server for another link.';

export type PageRoutesOptions = {
  readonly access: Access;
  readonly hosts: () => ReadonlySet<string>;
  readonly files: ReadonlyMap<string, ConsoleFile>;
  readonly strangers: RateLimit;
  /** The address of the server that browsers use. */
  readonly url: () => string;
  /** Sign-in with an identity provider, if the server has it. */
  readonly signIn: SignInRoutesOptions | undefined;
};

/** Names of this machine that more than one socket may answer under. */
const sharedName = /^(?:localhost|\[::1\])(?::\d+)?$/i;

type PageApp = Hono<{ Bindings: Visit }>;

export function addPages(app: PageApp, options: PageRoutesOptions): void {
  addOwnName(app, options);
  addLogin(app, options);
  if (options.signIn !== undefined) {
    addSignIn(app, options.signIn);
    addDeviceRoutes(app, options.signIn);
  }
  addLogout(app, options);
  addDownload(app, options);
  for (const [path, methods] of [
    ['/login', 'GET, POST'],
    ['/logout', 'POST'],
    ['/login/backchannel', 'POST'],
    ['/login/device', 'POST'],
    ['/login/token', 'POST'],
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
        headers: { location: home.origin + asked.pathname + asked.search },
      });
    throw new HttpRefusal(
      'http.wrong_host',
      `Pages of this server are at ${home.origin}. Another program may answer under ${JSON.stringify(host.slice(0, 100))}.`,
    );
  });
}

function addLogin(app: PageApp, { access, hosts, strangers, signIn }: PageRoutesOptions): void {
  const loginPageFor = (problem: string | undefined, returnTo = '/'): string =>
    loginPage(
      problem,
      signIn && {
        providerName: signIn.signIns.settings.providerName,
        href: `/login/start${returnTo === '/' ? '' : `?returnTo=${encodeURIComponent(returnTo)}`}`,
      },
    );
  app.get('/login', ({ req, env }) => {
    env.route = '/login';
    strangers.take(env.address);
    const { searchParams } = new URL(req.url);
    const code = searchParams.get('code');
    // Programs that show link previews request the head only. That does not use the link up.
    if (code === null || req.raw.method === 'HEAD')
      return answerPage(loginPageFor(undefined, returnPath(searchParams.get('returnTo'))));
    // Opening the link changes nothing, because previews and scanners open links too. The form on the page logs in.
    const name = access.nameOfCode(code);
    return name === undefined
      ? answerPage(loginPageFor(staleLink), 401)
      : answerPage(confirmLoginPage(name, code));
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
    return answerPage(loginPageFor(problem), 401);
  });

  app.get('/login/done', ({ env }) => {
    env.route = '/login';
    return answerPage(loggedInPage);
  });
  app.get('/quittance-login.js', () => asset(loginScript, 'text/javascript'));
}

function addLogout(app: PageApp, { access, hosts, url, signIn }: PageRoutesOptions): void {
  app.post('/logout', async ({ req, env }) => {
    env.route = '/logout';
    // A browser sends a cookie by itself, but never a token: only a cookie must prove which page sent it.
    const hasToken = req.raw.headers.has('authorization');
    if (!hasToken) refuseOtherSites('POST', req.raw.headers, hosts());
    if (!hasToken && req.raw.headers.get(pageKeyHeader) === null)
      throw new HttpRefusal('http.cross_site', `Logging out needs the header ${pageKeyHeader}.`);
    const { cookie, next } = await access.logout(req.raw.headers, `${url()}/signed-out`);
    const headers = { 'set-cookie': cookie, 'clear-site-data': '"cache"' };
    // The page opens `next`: the provider ends its session too, if it offers that.
    return signIn === undefined
      ? new Response(null, { status: 204, headers })
      : Response.json({ next: next ?? '/signed-out' }, { headers });
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
    return answerPage(decidePage);
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
    return index === undefined ? answerPage(noConsolePage) : serveFile(index, req.raw.headers);
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
