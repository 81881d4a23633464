/** Signs in without a browser, step by step, so that a test can change each step. */

/** A browser's cookies, by origin. */
export class Jar {
  readonly #cookies = new Map<string, Map<string, string>>();

  header(url: string): string {
    return [...(this.#cookies.get(new URL(url).host) ?? [])]
      .map(([name, value]) => `${name}=${value}`)
      .join('; ');
  }

  get(url: string, name: RegExp): string | undefined {
    return [...(this.#cookies.get(new URL(url).host) ?? [])].find(([each]) => name.test(each))?.[1];
  }

  keep(url: string, headers: Headers): void {
    const host = new URL(url).host;
    const mine = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, mine);
    for (const cookie of headers.getSetCookie()) {
      const [pair = '', ...attributes] = cookie.split('; ');
      const [name = '', ...value] = pair.split('=');
      const isOver = attributes.some((each) => /^(?:max-age=0|expires=Thu, 01 Jan 1970)/i.test(each));
      if (isOver) mine.delete(name);
      else mine.set(name, value.join('='));
    }
  }
}

export async function visit(jar: Jar, url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set('cookie', jar.header(url));
  const answer = await fetch(url, { ...init, headers, redirect: 'manual' });
  jar.keep(url, answer.headers);
  return answer;
}

const nextOf = (answer: Response, url: string): string =>
  new URL(answer.headers.get('location') ?? '', url).href;

/** From the link on the login page to the address at which the provider sends the browser back. */
export async function askProvider(
  jar: Jar,
  serverUrl: string,
  who: string,
  query = '',
): Promise<{ readonly start: Response; readonly callback: string }> {
  const start = await visit(jar, `${serverUrl}/login/start${query}`);
  return { start, callback: await passProvider(jar, serverUrl, who, nextOf(start, serverUrl)) };
}

/** From the first page of the provider to the address at which it sends the browser back. */
export async function passProvider(jar: Jar, serverUrl: string, who: string, from: string): Promise<string> {
  let url = from;
  for (let steps = 0; steps < 8 && !url.startsWith(`${serverUrl}/`); steps++) {
    const isLogin = new URL(url).pathname.startsWith('/interaction/');
    const answer = await visit(
      jar,
      url,
      isLogin ? { method: 'POST', body: new URLSearchParams({ who }) } : {},
    );
    if (answer.headers.get('location') === null)
      throw new Error(`The provider stopped at ${url}: ${answer.status} ${await answer.text()}`);
    url = nextOf(answer, url);
  }
  return url;
}

export type Signed = {
  readonly answer: Response;
  readonly jar: Jar;
  /** The headers that a page of the console sends now. */
  readonly headers: () => Record<string, string>;
};

export async function signIn(serverUrl: string, who: string, query = '', jar = new Jar()): Promise<Signed> {
  const { callback } = await askProvider(jar, serverUrl, who, query);
  const answer = await visit(jar, callback);
  const key = /page-key=([\w.-]+)/.exec(answer.headers.get('location') ?? '')?.[1] ?? '';
  return {
    answer,
    jar,
    headers: () => ({ cookie: jar.header(serverUrl), 'x-quittance-page-key': key }),
  };
}
