/**
 * Sign-in in a browser: the way to the identity provider and back.
 *
 * 1. The answer of the provider counts only in the browser that began, within ten minutes.
 * 2. A page says what went wrong in our words. The log has the rest.
 */
import type { Hono } from 'hono';
import type { Seal } from 'quittance/internal/ledger/seal';
import type { Access } from '../access.ts';
import { attemptSlots } from '../access.ts';
import { answerPage, welcome } from '../answer-page.ts';
import { isQuittanceError } from 'quittance/internal/base/error';
import { HttpRefusal } from '../problem.ts';
import type { RateLimit } from '../rate-limit.ts';
import { readText } from '../read-request.ts';
import type { Visit } from '../visit.ts';
import type { Devices } from './devices.ts';
import { ProviderError } from './provider.ts';
import { returnPath } from './return-path.ts';
import { confirmDevicePage, failedPage, noRightsPage, signedOutPage } from './sign-in-pages.ts';
import type { SignIns } from './sign-ins.ts';
import { isJsonObject, readJsonText } from 'quittance/internal/base/json';
import type { Attempt } from './provider.ts';

export type SignInRoutesOptions = {
  readonly access: Access;
  readonly signIns: SignIns;
  readonly devices: Devices;
  readonly seal: Seal;
  readonly throttle: RateLimit;
  readonly hosts: () => ReadonlySet<string>;
  readonly url: () => string;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
};

type PageApp = Hono<{ Bindings: Visit }>;

const callbackPath = '/login/callback';

export function addSignIn(app: PageApp, options: SignInRoutesOptions): void {
  const { throttle } = options;
  app.get('/login/start', async ({ req, env }) => {
    env.route = '/login';
    throttle.take(env.address);
    // Programs that look at links must not begin a sign-in.
    if (req.raw.method === 'HEAD') return answerPage('');
    return begin(options, req.raw);
  });
  app.get(callbackPath, async ({ req, env }) => {
    env.route = '/login';
    throttle.take(env.address);
    if (req.raw.method === 'HEAD') return answerPage('');
    return finish(options, req.raw);
  });
  app.post('/login/backchannel', async ({ req, env }) => {
    env.route = '/login/backchannel';
    throttle.take(env.address);
    const form = new URLSearchParams(await readText(req.raw, 32_768));
    return endByProvider(options, form.get('logout_token') ?? '');
  });
  app.get('/signed-out', ({ env }) => {
    env.route = '/login';
    return answerPage(signedOutPage);
  });
}

async function begin(options: SignInRoutesOptions, request: Request): Promise<Response> {
  const { access, signIns, seal, now, url } = options;
  const query = new URL(request.url).searchParams;
  try {
    const { url: location, attempt } = await signIns.provider.start(url() + callbackPath);
    const cookie = access.attemptCookie(
      freeSlot(attemptsOf(options, request)),
      sealAttempt(
        {
          ...attempt,
          returnTo: returnPath(query.get('returnTo')),
          userCode: query.get('device') ?? undefined,
          expiresAt: now() + attemptLastsMs,
        },
        seal,
      ),
      attemptLastsMs,
    );
    return new Response(null, {
      status: 303,
      headers: { location, 'set-cookie': cookie },
    });
  } catch (error) {
    return fail(options, error);
  }
}

type BegunAttempt = { readonly slot: number; readonly attempt: SignInAttempt };

const attemptsOf = (
  { access, seal, now }: SignInRoutesOptions,
  { headers }: Request,
): readonly BegunAttempt[] =>
  access.attemptsOf(headers).flatMap(({ slot, sealed }) => {
    const attempt = openAttempt(sealed, seal, now());
    return attempt === undefined ? [] : [{ slot, attempt }];
  });

/** A free slot, or else that of the oldest attempt. */
function freeSlot(begun: readonly BegunAttempt[]): number {
  const free = attemptSlots.find((slot) => begun.every((each) => each.slot !== slot));
  const [oldest] = begun.toSorted((left, right) => left.attempt.expiresAt - right.attempt.expiresAt);
  return free ?? oldest?.slot ?? 0;
}

async function finish(options: SignInRoutesOptions, request: Request): Promise<Response> {
  const { access, url } = options;
  const answer = new URL(url() + callbackPath + new URL(request.url).search);
  const state = answer.searchParams.get('state');
  const begun = attemptsOf(options, request).find(({ attempt }) => attempt.state === state);
  if (begun === undefined)
    return answerPage(
      failedPage(
        'Sign-in failed',
        'This answer does not belong to a sign-in that this browser began in the last ten minutes. Nothing was changed.',
      ),
      400,
    );
  let answered: Response;
  try {
    answered = await welcomePerson(options, answer, begun.attempt);
  } catch (error) {
    answered = fail(options, error);
  }
  // An attempt is used once.
  answered.headers.append('set-cookie', access.attemptCookie(begun.slot, '', 0));
  return answered;
}

async function welcomePerson(
  options: SignInRoutesOptions,
  answer: URL,
  attempt: SignInAttempt,
): Promise<Response> {
  const { access, signIns, devices, onError } = options;
  const verified = await signIns.provider.finish(answer, attempt);
  if (signIns.roleOf(verified.person) === undefined) {
    await signIns.provider.revoke(verified.tokens).catch(onError);
    return answerPage(noRightsPage(verified.person), 403);
  }
  if (attempt.userCode !== undefined) {
    const asked = await devices.signIn(attempt.userCode, verified);
    return asked === undefined
      ? answerPage(
          failedPage(
            'Sign-in failed',
            'The code is not known, or its time is up. Start again in your terminal.',
          ),
          400,
        )
      : answerPage(confirmDevicePage({ ...asked, name: verified.person.name }));
  }
  const opened = await signIns.open('browser', verified);
  return welcome(access.openSignIn(opened), attempt.returnTo);
}

/** https://openid.net/specs/openid-connect-backchannel-1_0.html#BCResponse */
async function endByProvider({ signIns, onError }: SignInRoutesOptions, token: string): Promise<Response> {
  const answer = (status: number, body: object | null): Response =>
    new Response(body === null ? null : JSON.stringify(body), {
      status,
      headers: {
        ...(body !== null && { 'content-type': 'application/json' }),
      },
    });
  try {
    const claims = await signIns.provider.readLogoutToken(token);
    if (await signIns.endByProvider(claims)) return answer(200, null);
    return answer(400, { error: 'invalid_request', error_description: 'This logout token was used before.' });
  } catch (error) {
    onError(error);
    if (error instanceof ProviderError && error.kind === 'invalid')
      return answer(400, { error: 'invalid_request', error_description: error.message });
    return answer(503, { error: 'temporarily_unavailable' });
  }
}

function fail({ onError }: SignInRoutesOptions, error: unknown): Response {
  if (error instanceof HttpRefusal) throw error;
  if (error instanceof ProviderError) {
    if (error.kind !== 'refused') onError(error);
    switch (error.kind) {
      case 'refused':
        return answerPage(failedPage('Sign-in refused', `${error.message} Nothing was changed.`), 403);
      case 'invalid':
        return answerPage(
          failedPage(
            'Sign-in failed',
            `${error.message} Nothing was changed. The log of the server says why.`,
          ),
          400,
        );
      case 'unreachable':
        return answerPage(
          failedPage(
            'Sign-in is not available',
            `${error.message} Try again in a minute. Tokens still work, also for logging in here.`,
          ),
          503,
        );
    }
  }
  onError(error);
  const isSetUp = isQuittanceError(error, 'config.invalid');
  return answerPage(
    failedPage(
      'Sign-in is not available',
      isSetUp
        ? 'The server is not set up completely. Its log says what is missing.'
        : 'The server could not store the sign-in. Its log says why.',
    ),
    isSetUp ? 500 : 503,
  );
}

/**
 * An attempt to sign in, sealed in a cookie of the browser that began it.
 *
 * 1. Only that browser can finish it: another site cannot sign a person in under another account.
 * 2. Any server of the ledger can finish it, and none has to remember it.
 */

type SignInAttempt = Attempt & {
  readonly returnTo: string;
  /** The code of a command line that the person signs in for. */
  readonly userCode: string | undefined;
  readonly expiresAt: number;
};

const attemptLastsMs: number = 10 * 60_000;
const context = 'sign-in attempt';

const sealAttempt = (attempt: SignInAttempt, seal: Seal): string =>
  seal.seal(JSON.stringify(attempt), context);

/** Undefined if it is not of this ledger, or is too old. */
function openAttempt(sealed: string, seal: Seal, now: number): SignInAttempt | undefined {
  let value;
  try {
    value = readJsonText(seal.open(sealed, context));
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { state, nonce, verifier, returnTo, userCode, expiresAt } = value;
  if (typeof state !== 'string' || typeof nonce !== 'string' || typeof verifier !== 'string')
    return undefined;
  if (typeof returnTo !== 'string' || typeof expiresAt !== 'number' || expiresAt <= now) return undefined;
  if (userCode !== undefined && typeof userCode !== 'string') return undefined;
  return { state, nonce, verifier, returnTo, userCode, expiresAt };
}
