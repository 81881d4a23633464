/**
 * A call that the gateway is making. The client may come and go meanwhile. A modern client gets the questions of the
 * server as a result, and comes back with the answers in a new request.
 */
import type { ClientRequest } from './client-request.ts';
import { progressOf } from './client-request.ts';
import type { Exchange } from './connection.ts';
import type { Fields, RelayedRequest } from './relayed-request.ts';
import { toFields, isFields } from './relayed-request.ts';

/** The client is not there to be asked, and did not come back in time. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

type Round = {
  readonly requests: Fields;
  /** Takes the client's answers. Returns whether nothing is left to ask. */
  readonly answer: (responses: Fields) => boolean;
  readonly giveUp: (error: Error) => void;
};

/** What a client gets next: the end of the call, a task of the server, or questions. */
export type CallStop =
  | { readonly type: 'ended'; readonly result: Fields }
  | { readonly type: 'task'; readonly result: Fields }
  | { readonly type: 'asked'; readonly requests: Fields };

export type SendToServer = (request: RelayedRequest, exchange: Exchange) => Promise<Fields>;

/** How long a client may take to come back with answers. */
const patienceMs = 15 * 60_000;

export class OpenCall {
  readonly callId: string;
  readonly sessionId: string;
  readonly callerId: string;
  readonly #makeDigest: () => string;
  #digest: string | undefined;
  #client: ClientRequest | undefined;
  readonly #first: ClientRequest;
  readonly #rounds = new Set<Round>();
  #questions = 0;
  #end: Promise<Fields> | undefined;
  #task: Fields | undefined;
  #wake: (() => void)[] = [];
  #patience: NodeJS.Timeout | undefined;
  readonly #cancel = new AbortController();
  readonly send: SendToServer;

  constructor(
    call: { readonly callId: string; readonly sessionId: string; readonly makeDigest: () => string },
    client: ClientRequest,
    /** Sends to the server of the tool, over the connection of this client. */
    send: SendToServer,
  ) {
    this.send = send;
    ({ callId: this.callId, sessionId: this.sessionId, makeDigest: this.#makeDigest } = call);
    this.callerId = client.caller.id;
    this.#first = client;
  }

  /** Of the request. Most calls end before anything asks for it. */
  get digest(): string {
    return (this.#digest ??= this.#makeDigest());
  }

  /** Starts the call. Its end is kept until a client has taken it. */
  run(end: Promise<Fields>): void {
    this.#end = end;
    end.catch(() => undefined); // each client that waits gets it
  }

  /** Aborted when a client that waits for the call cancels it. */
  get signal(): AbortSignal {
    return this.#cancel.signal;
  }

  get firstRequest(): ClientRequest {
    return this.#first;
  }

  /** The request that waits for this call now. */
  get client(): ClientRequest | undefined {
    return this.#client;
  }

  /** Waits for the next thing to tell a client, whose request is `client`. */
  async next(client: ClientRequest): Promise<CallStop> {
    this.#client = client;
    clearTimeout(this.#patience);
    const cancel = (): void =>
      this.#cancel.abort(new DOMException('The client cancelled the call.', 'AbortError'));
    client.signal.addEventListener('abort', cancel, { once: true });
    if (client.signal.aborted) cancel();
    if (client.inputResponses !== undefined) this.answer(client.inputResponses);
    try {
      return await this.#stop();
    } finally {
      client.signal.removeEventListener('abort', cancel);
      if (this.#client === client) this.#client = undefined;
    }
  }

  /** The end of the call, or what comes before it. */
  #stop(): Promise<CallStop> {
    const end = this.#end;
    if (end === undefined) throw new TypeError(`Call ${this.callId} was not started.`);
    return new Promise((resolve, reject) => {
      void end.then((result) => resolve({ type: 'ended', result }), reject);
      const look = (): void => {
        const stop = this.#asked();
        if (stop === undefined) this.#wake.push(look);
        else resolve(stop);
      };
      look();
    });
  }

  #asked(): CallStop | undefined {
    if (this.#task !== undefined) return { type: 'task', result: this.#task };
    const requests = this.questions;
    if (requests === undefined) return undefined;
    this.#startPatience();
    return { type: 'asked', requests };
  }

  #startPatience(): void {
    clearTimeout(this.#patience);
    this.#patience = setTimeout(() => this.giveUp('The client did not answer in time.'), patienceMs);
    this.#patience.unref();
  }

  /** What the client has not answered yet. Undefined: nothing. */
  get questions(): Fields | undefined {
    if (this.#rounds.size === 0) return undefined;
    return Object.assign({}, ...[...this.#rounds].map((round) => round.requests)) as Fields;
  }

  /** Takes answers of the client. Those that nothing asked for are dropped. */
  answer(responses: Fields): void {
    for (const round of this.#rounds) if (round.answer(responses)) this.#rounds.delete(round);
  }

  /** Ends the wait for answers of the client. */
  giveUp(why: string): void {
    clearTimeout(this.#patience);
    for (const round of this.#rounds) round.giveUp(new ClientGone(why));
    this.#rounds.clear();
  }

  #wakeAll(): void {
    // A server may ask several questions at once.
    setImmediate(() => {
      for (const wake of this.#wake.splice(0)) wake();
    });
  }

  /** The client gets this task of the gateway. It asks about the task until the call has ended. */
  tellTask(result: Fields): void {
    this.#task = result;
    this.#wakeAll();
  }

  /** Puts questions to the client. Returns its answers by the same keys. They are withdrawn at the signal. */
  async askAll(requests: Fields, signal?: AbortSignal): Promise<Fields> {
    if (this.#first.era === 'legacy') return askEach(requests, (request) => this.#askNow(request));
    return new Promise((resolve, reject) => {
      // The client of a task may answer one question after the other.
      const open: Record<string, unknown> = { ...requests };
      const answers: Record<string, unknown> = {};
      const round: Round = {
        requests: open,
        answer: (responses) => {
          if (this.#task === undefined) {
            resolve(responses);
            return true;
          }
          for (const [key, answer] of Object.entries(responses))
            if (Object.hasOwn(open, key)) {
              answers[key] = answer;
              Reflect.deleteProperty(open, key);
            }
          const isDone = Object.keys(open).length === 0;
          if (isDone) resolve(answers);
          return isDone;
        },
        giveUp: reject,
      };
      const withdraw = (): void => {
        this.#rounds.delete(round);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', withdraw, { once: true });
      this.#add(round);
    });
  }

  #add(round: Round): void {
    this.#rounds.add(round);
    // The client of a task waits for nothing, so the time runs from the question.
    if (this.#task !== undefined) this.#startPatience();
    this.#wakeAll();
  }

  /** Puts the question of a legacy server to the client. */
  ask(request: RelayedRequest): Promise<Fields> {
    if (this.#first.era === 'legacy') return this.#askNow(request);
    this.#questions += 1;
    const key = `question-${this.#questions}`;
    return new Promise((resolve, reject) => {
      this.#add({
        requests: { [key]: { method: request.method, params: request.params ?? {} } },
        answer: (responses) => {
          const answer = responses[key];
          if (!isFields(answer)) return false;
          resolve(answer);
          return true;
        },
        giveUp: reject,
      });
    });
  }

  #askNow(request: RelayedRequest): Promise<Fields> {
    const client = this.#client;
    return client === undefined
      ? Promise.reject(new ClientGone('The client is no longer connected.'))
      : client.ask(request);
  }

  /** How the body of the call reaches the client. */
  toExchange(signal: AbortSignal, onAlive: (params: Fields) => void): Exchange {
    const { capabilities, envelope, headers } = this.#first;
    return {
      signal,
      capabilities,
      envelope,
      headers,
      onProgress:
        progressOf(this.#first) &&
        ((params) => {
          onAlive(params);
          const client = this.#client;
          if (client !== undefined) progressOf(client)?.(params);
        }),
      onNotice: (notice) => this.#client?.notify(notice),
      ask: (request) => this.ask(request),
    };
  }
}

/** Puts the questions of a modern server to a legacy client, one after the other. */
export async function askEach(
  requests: Fields,
  ask: (request: RelayedRequest) => Promise<Fields>,
): Promise<Fields> {
  const answers: Record<string, unknown> = {};
  for (const [key, asked] of Object.entries(requests)) {
    const { method, params } = toFields(asked);
    answers[key] = await ask({ method: String(method), params: toFields(params) });
  }
  return answers;
}
